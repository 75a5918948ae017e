import { Carrier } from "@quotewire/core"
import { Clock, Effect, Option, Schema } from "effect"
import * as Ledger from "./Ledger.ts"
import type { Machine } from "./Machine.ts"
import { type Behaviour, type CarrierId, carrierModes, lines, type Story } from "./Story.ts"

/*
 * Carriers of every mode. How each behaves in which request is part of the story.
 */

/** Sends a carrier's callback to one of the hosts. */
export type SendCallback = (carrier_id: CarrierId, callback: Carrier.CarrierCallback) => void

/** The name of a request's person. Carriers identify requests by it, because they know only facts. */
export const nameOf = (request: number): string =>
  `Person ${[...request.toString()].map((digit) => "abcdefghij"[Number(digit)]).join("")}`

const requestOfName = (name: string): number =>
  Number([...name.slice("Person ".length)].map((letter) => "abcdefghij".indexOf(letter)).join(""))

const isKnown = Schema.decodeUnknownOption(Schema.Struct({ applicant: Schema.Struct({ first_name: Schema.String }) }))

const requestOf = (ask: Carrier.CarrierAsk): number => {
  const facts = isKnown(ask.facts)
  return Option.isSome(facts) ? requestOfName(facts.value.applicant.first_name) : 0
}

const terms: Carrier.CarrierLine = {
  states: ["TX", "NY"],
  needs: [],
  wants: ["applicant.first_name"],
  uses_credit: false,
  mode: "sync",
  idempotent: true,
  attempt_timeout_ms: 15_000,
  typical_ms: 1_000,
  hedge_after_ms: null,
  rate_per_minute: 1_000,
  max_concurrent: 1_000
}

/** How many concurrent calls the low-capacity carrier accepts. */
export const narrowRoom = 2

/** How many times per minute the low-capacity carrier may be asked, in a story with limits. */
export const narrowRate = 3

const termsOf: { readonly [id in CarrierId]: Carrier.CarrierLine } = {
  "naic:90001": terms,
  "naic:90002": { ...terms, hedge_after_ms: 3_000 },
  "naic:90003": { ...terms, idempotent: false },
  "naic:90004": { ...terms, mode: "poll" },
  "naic:90005": { ...terms, mode: "callback", idempotent: false },
  "naic:90006": { ...terms, mode: "poll", idempotent: false },
  "naic:90007": { ...terms, max_concurrent: narrowRoom }
}

/** Whether a carrier must not be asked twice. */
export const isOnce = (id: CarrierId): boolean => !termsOf[id].idempotent

/** The carriers of each line: at most four, so that a story has many requests rather than many asks. */
const carriersOf: { readonly [line in (typeof lines)[number]]: ReadonlyArray<CarrierId> } = {
  renters: ["naic:90001", "naic:90003", "naic:90004", "naic:90007"],
  pet: ["naic:90001", "naic:90005", "naic:90006"],
  personal_auto: ["naic:90002", "naic:90003", "naic:90005", "naic:90006"]
}

const linesOf = (id: CarrierId, hasLimits: boolean): Carrier.CarrierAdapter["lines"] => ({
  ...Object.fromEntries(
    lines
      .filter((line) => carriersOf[line].includes(id))
      .map((line) => [
        line,
        hasLimits && id === "naic:90007" ? { ...termsOf[id], rate_per_minute: narrowRate } : termsOf[id]
      ])
  ),
  // Lines whose carriers are never asked, each for a different reason.
  ...(id === "naic:90001" && { personal_auto: { ...terms, states: ["WY"] } }),
  ...(id === "naic:90002" && { renters: { ...terms, needs: ["dwelling.year_built"] } }),
  ...(id === "naic:90003" && { pet: { ...terms, uses_credit: true } })
})

/** A carrier that no organization is connected to. */
const unconnected: Carrier.CarrierAdapter = {
  carrier: { id: "naic:90008", name: "Carrier naic:90008", registry_ids: ["naic:90008"] },
  environments: ["sandbox", "live"],
  lines: { personal_auto: terms },
  handoff_hosts: [],
  connection: { account: "string" },
  ask: () => Effect.die(new Error("A carrier without a connection was asked"))
}

const offer = (request: number, changes: Partial<Carrier.CarrierOffer> = {}): Carrier.CarrierOffer => ({
  offer_ref: `offer of ${request}`,
  product: "A policy",
  premium: { amount_minor: 10_000 + request, currency: "USD" },
  term_months: 12,
  billing_cycle: "pay_in_full",
  fees: [],
  conditions: ["Pays for what happens."],
  subjects: [],
  assumptions: [],
  expires_at: null,
  evidence_label: "A simulated price",
  handoff_url: null,
  ...changes
})

const offersOf = (...offers: ReadonlyArray<Carrier.CarrierOffer>): Carrier.CarrierReply => ({ kind: "offers", offers })
const unavailable = (reason: Carrier.NoAnswerReason): Carrier.CarrierReply => ({ kind: "unavailable", reason })
const inMinutes = (from: number, minutes: number) => new Date(from + minutes * 60_000).toISOString()

const declineReasonOf = (place: number): Carrier.DeclineReason =>
  Carrier.declineReasons[place % Carrier.declineReasons.length] ?? "prior_claims"

const silences = ["carrier_error", "rate_limited", "maintenance"] as const

/** A carrier's final answer. A busy carrier accepts the second ask. */
const replyOf = (
  { answer }: Behaviour,
  ask: Carrier.CarrierAsk,
  request: number,
  seed: number
): Effect.Effect<Carrier.CarrierReply> => {
  switch (answer) {
    case "offers":
      return Effect.succeed(offersOf(offer(request)))
    case "two offers":
      return Effect.succeed(offersOf(offer(request), offer(request, { offer_ref: "another" })))
    case "an offer that is refreshed":
      return Effect.succeed(offersOf(offer(request, { refresh_after_ms: 40_000, handoff_url: null })))
    case "an offer that expires":
      return Effect.succeed(offersOf(offer(request, { expires_at: inMinutes(ask.now, 1 + (request % 3)) })))
    case "declines":
      return Effect.succeed({ kind: "declined", reason: declineReasonOf(request + seed) })
    case "asks a question":
      return Effect.succeed({ kind: "question", questions: [{ path: "application.pets.0", label: "How is it?" }] })
    case "gives no answer":
      return Effect.succeed(unavailable(silences[request % silences.length] ?? "carrier_error"))
    case "is busy":
      return Effect.succeed(
        ask.attempt > 1
          ? offersOf(offer(request))
          : { kind: "unavailable", reason: "rate_limited", retry_after_ms: 2_000 }
      )
    case "fails for good":
      return Effect.succeed({ kind: "unavailable", reason: "carrier_error", final: true })
    case "hangs":
      return Effect.never
    case "throws":
      return Effect.die(new TypeError("a carrier of the simulation has failed"))
    case "lies":
      return Effect.succeed(offersOf(offer(request, { premium: { amount_minor: -1, currency: "USD" } })))
    case "lies about its kind":
      // An answer from outside need not match its type.
      return Effect.succeed(JSON.parse('{"kind":"quoted","offers":null}'))
  }
}

const callbackOf = (ref: string, reply: Carrier.CarrierReply): Carrier.CarrierCallback => ({
  headers: { genuine: "yes" },
  body: new TextEncoder().encode(JSON.stringify({ ref, reply }))
})

/** The carriers of a story, which all its hosts ask. */
export const make = (
  story: Story,
  machine: Machine,
  ledger: Ledger.Ledger,
  send: SendCallback
): ReadonlyArray<Carrier.CarrierAdapter> => {
  const polls = new Map<string, number>()
  const numbers = new Map<string, string>()

  const adapterOf = (id: CarrierId): Carrier.CarrierAdapter => {
    const behaviourOf = (request: number): Behaviour => {
      const all = story.carriers[id]
      return all[request % all.length] ?? { answer: "offers", takes_ms: 0, times: 1 }
    }

    /** Sends callbacks as often as the behavior says. A carrier repeats a callback that nobody accepted. */
    const callBack = (request: number, ref: string, asked: Carrier.CarrierAsk) => {
      const behaviour = behaviourOf(request)
      if (behaviour.answer === "hangs" || behaviour.answer === "throws") return
      for (let time = 1; time <= behaviour.times; time++) {
        machine.later(behaviour.takes_ms * time, null, () => {
          const again = { ...asked, attempt: 2, now: machine.now() }
          send(id, callbackOf(ref, Effect.runSync(replyOf(behaviour, again, request, story.seed))))
        })
      }
    }

    const answerOf = (asked: Carrier.CarrierAsk, request: number): Effect.Effect<Carrier.CarrierReply> => {
      const { mode } = termsOf[id]
      const behaviour = behaviourOf(request)
      if (mode === "sync" || behaviour.answer === "is busy") return replyOf(behaviour, asked, request, story.seed)
      const ref = `${request} at ${id}`
      numbers.set(ref, asked.idempotency_key)
      if (mode === "callback") {
        callBack(request, ref, asked)
        return Effect.succeed({ kind: "pending", ref, poll_after_ms: null })
      }
      if (id === "naic:90006" && behaviour.times > 1) callBack(request, ref, asked)
      return Effect.succeed({ kind: "pending", ref, poll_after_ms: 1_000 })
    }

    const ask = Effect.fnUntraced(function* (asked: Carrier.CarrierAsk) {
      const request = requestOf(asked)
      const behaviour = behaviourOf(request)
      const seen: Ledger.Ask = {
        ...Ledger.momentOf(machine),
        carrier_id: id,
        request,
        key: asked.idempotency_key,
        line: `${asked.environment} ${asked.line}`,
        attempt: asked.attempt,
        was_refused: false,
        hangs: behaviour.answer === "hangs",
        ended_at: null
      }
      const end = () => {
        seen.ended_at ??= machine.now()
      }
      // The carrier is done, even if its caller is paused.
      if (behaviour.answer !== "hangs") machine.later(behaviour.takes_ms, null, end)
      ledger.asks.push(seen)
      ledger.reached.add(`carrier: ${behaviour.answer}`).add(`mode: ${carrierModes[id]}`)
      const answering = Effect.gen(function* () {
        yield* Effect.sleep(behaviour.takes_ms)
        seen.was_refused = behaviour.answer === "is busy" && asked.attempt === 1
        return yield* answerOf(asked, request)
      })
      // A host that aborts a call closes its connection.
      return yield* Effect.ensuring(answering, Effect.sync(end))
    })

    const poll = Effect.fnUntraced(function* (asked: Carrier.CarrierAsk, ref: string) {
      const request = requestOf(asked)
      const behaviour = behaviourOf(request)
      const nth = (polls.get(ref) ?? 0) + 1
      polls.set(ref, nth)
      yield* Effect.sleep(behaviour.takes_ms / 4)
      if (nth < behaviour.times || behaviour.answer === "hangs") {
        const pending: Carrier.CarrierReply = { kind: "pending", ref, poll_after_ms: 2_000 }
        return pending
      }
      return yield* replyOf(behaviour, { ...asked, attempt: 2 }, request, story.seed)
    })

    const refresh = Effect.fnUntraced(function* (asked: Carrier.CarrierAsk) {
      const request = requestOf(asked)
      const now = yield* Clock.currentTimeMillis
      const changed = offer(request, { premium: { amount_minor: 20_000 + request, currency: "USD" } })
      const found: ReadonlyArray<Carrier.CarrierRefresh> = [
        { kind: "offer", reason: "price_updated", offer: changed },
        { kind: "offer", reason: "terms_updated", offer: offer(request, { conditions: ["Pays for less."] }) },
        { kind: "offer", reason: "rechecked", offer: offer(request, { expires_at: inMinutes(now, 2) }) },
        { kind: "withdrawn" },
        { kind: "unavailable", reason: "carrier_error" }
      ]
      const refreshed = found[(request + story.seed) % found.length] ?? { kind: "withdrawn" }
      ledger.reached.add(`refresh: ${refreshed.kind}`)
      return refreshed
    })

    return {
      carrier: { id, name: `Carrier ${id}`, registry_ids: [id] },
      environments: ["sandbox", "live"],
      lines: linesOf(id, story.has_limits),
      handoff_hosts: ["carrier.example"],
      ask,
      poll,
      refresh,
      callback: ({ body, headers }) =>
        Effect.sync(() => (headers.genuine === "yes" ? JSON.parse(new TextDecoder().decode(body)) : null))
    }
  }

  return [
    adapterOf("naic:90001"),
    adapterOf("naic:90002"),
    adapterOf("naic:90003"),
    adapterOf("naic:90004"),
    adapterOf("naic:90005"),
    adapterOf("naic:90006"),
    adapterOf("naic:90007"),
    unconnected
  ]
}

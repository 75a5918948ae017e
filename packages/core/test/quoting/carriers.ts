import { Clock, Effect } from "effect"
import type {
  CarrierAdapter,
  CarrierAsk,
  CarrierCallback,
  CarrierLine,
  CarrierOffer,
  CarrierReply
} from "../../src/carriers/Carrier.ts"

/* Scripted carriers: they answer by a script, and record what they were asked. */

/** A valid offer, recognizable by its premium. */
export const offer = (changes: Partial<CarrierOffer> = {}): CarrierOffer => ({
  offer_ref: "offer-1",
  product: "A policy",
  premium: { amount_minor: 12_000, currency: "USD" },
  term_months: 12,
  billing_cycle: "pay_in_full",
  fees: [],
  conditions: [],
  subjects: [],
  assumptions: [],
  expires_at: "2027-01-01T00:00:00.000Z",
  evidence_label: "A test's price",
  handoff_url: null,
  ...changes
})

export const offers = (...all: ReadonlyArray<CarrierOffer>): CarrierReply => ({
  kind: "offers",
  offers: all.length === 0 ? [offer()] : all
})
export const declined: CarrierReply = { kind: "declined", reason: "prior_claims" }
export const unavailable = (reason: "timeout" | "carrier_error" | "rate_limited" | "maintenance"): CarrierReply => ({
  kind: "unavailable",
  reason
})

/** A carrier, and what it was asked and when, in real time. */
export interface ScriptedCarrier {
  readonly adapter: CarrierAdapter
  readonly asks: ReadonlyArray<{ readonly at: number; readonly ask: CarrierAsk }>
}

/** How a test's carrier differs from the default. */
export interface Character extends Partial<CarrierLine> {
  readonly rest?: Partial<CarrierAdapter>
}

/** A carrier for all lines and both environments. `answer` receives the ask and its number, from 1. */
export const carrier = (
  id: string,
  answer: (ask: CarrierAsk, nth: number) => Effect.Effect<CarrierReply>,
  { rest = {}, ...character }: Character = {}
): ScriptedCarrier => {
  const asks: Array<{ readonly at: number; readonly ask: CarrierAsk }> = []
  const line: CarrierLine = {
    states: ["TX", "NY"],
    needs: [],
    uses_credit: false,
    mode: "sync",
    idempotent: true,
    attempt_timeout_ms: 15_000,
    typical_ms: 1_000,
    hedge_after_ms: null,
    rate_per_minute: 1_000,
    max_concurrent: 1_000,
    ...character
  }
  const adapter: CarrierAdapter = {
    carrier: { id, name: `The ${id}`, registry_ids: [id] },
    environments: ["sandbox", "live"],
    lines: { personal_auto: line, renters: line, pet: line },
    handoff_hosts: ["carrier.example"],
    ask: (ask) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) => {
        asks.push({ at, ask })
        return answer(ask, asks.length)
      }),
    ...rest
  }
  return { adapter, asks }
}

/** A carrier that answers immediately. */
export const prompt = (id: string, reply: CarrierReply = offers(), character: Character = {}): ScriptedCarrier =>
  carrier(id, () => Effect.succeed(reply), character)

/** A carrier that answers after a delay. */
export const slow = (
  id: string,
  millis: number,
  reply: CarrierReply = offers(),
  character: Character = {}
): ScriptedCarrier => carrier(id, () => Effect.delay(Effect.succeed(reply), millis), character)

/** A carrier that never answers. */
export const silent = (id: string, character: Character = {}): ScriptedCarrier =>
  carrier(id, () => Effect.never, character)

/** A polled carrier: it accepts, answers the poll with the given number, and records its polls. */
export const polled = (id: string, nth: number, poll_after_ms = 4_000, reply: CarrierReply = offers()) => {
  const polls: Array<number> = []
  const pending: CarrierReply = { kind: "pending", ref: "the carrier's own", poll_after_ms }
  const scripted = prompt(id, pending, {
    mode: "poll",
    idempotent: false,
    rest: {
      poll: () =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          polls.push(at)
          return polls.length >= nth ? reply : pending
        })
    }
  })
  return { ...scripted, polls }
}

/** A callback with a readable body, which is genuine unless its header says otherwise. */
export const callbackOf = (ref: string, reply: CarrierReply, genuine = true): CarrierCallback => ({
  headers: { genuine: genuine ? "yes" : "no" },
  body: new TextEncoder().encode(JSON.stringify({ ref, reply }))
})

/** Reads what `callbackOf` wrote. */
export const readCallback: NonNullable<CarrierAdapter["callback"]> = ({ body, headers }) =>
  Effect.sync(() => (headers.genuine === "yes" ? JSON.parse(new TextDecoder().decode(body)) : null))

/** A carrier that calls back. Its own numbers are `no. 1`, `no. 2` and so on. */
export const callingBack = (id: string, character: Character = {}): ScriptedCarrier =>
  carrier(id, (_, nth) => Effect.succeed({ kind: "pending", ref: `no. ${nth}`, poll_after_ms: null }), {
    mode: "callback",
    ...character,
    rest: { callback: readCallback, ...character.rest }
  })

/** The settings of a world with only these carriers. */
export const carriers = (...scripted: ReadonlyArray<ScriptedCarrier>) => ({
  carriers: scripted.map(({ adapter }) => adapter)
})

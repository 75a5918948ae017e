import { Effect } from "effect"
import { Mac } from "effect/crypto"
import type {
  CarrierAdapter,
  CarrierAsk,
  CarrierLine,
  CarrierOffer,
  CarrierRefresh,
  CarrierReply
} from "../carriers/Carrier.ts"
import { type SignedCallbacks, signedCallbacks } from "../carriers/SignedCallbacks.ts"
import { scenarioOffer } from "../carriers/scenarioOffer.ts"
import {
  changeOf,
  ignoresRules,
  pollAfter,
  priceUpdateFactor,
  type ScenarioRole,
  type Script,
  scriptOf,
  startMs
} from "../carriers/script.ts"
import { mul } from "../rating/Amount.ts"
import { answerOf, priceOf, riskOf } from "../rating/PlanAnswer.ts"
import { offerOf, offerRefOf } from "../rating/planOffer.ts"
import type { RatePlan } from "../rating/RatePlan.ts"
import { carrierOf } from "../rating/ratePlanCarrier.ts"
import type { Risk } from "../rating/Variable.ts"
import { dayOf } from "../wire/CalendarDay.ts"
import { cents } from "../wire/Money.ts"
import { secondMs } from "../wire/Timestamp.ts"
import { type FictionalCarrier, fictionalCarrierList, type PlayedLine, playedLine, roleOf } from "./Lineup.ts"

const attemptTimeoutMs = 15 * secondMs
const retryAfterMs = 10 * secondMs

const unreadable: CarrierReply = { kind: "unavailable", reason: "unreadable_answer" }

/**
 * How a carrier handles one ask: which carrier it is, what it does, and when its answer is ready, or null for never.
 */
interface PlayedAsk {
  readonly carrier: FictionalCarrier
  readonly line: PlayedLine
  readonly plan: RatePlan
  readonly risk: Risk
  readonly role: ScenarioRole
  readonly script: Script
  readonly ask: CarrierAsk
  readonly origin: number
  readonly ready_at: number | null
}

const playOf = (carrier: FictionalCarrier, ask: CarrierAsk): PlayedAsk | null => {
  const role = roleOf(carrier.id, ask.line)
  const line = playedLine(ask.line)
  const plan = carrier.plans.find((candidate) => candidate.line === ask.line)
  if (role === undefined || line === undefined || plan === undefined) return null
  const risk = riskOf(plan, ask, dayOf(ask.requested_at))
  if (risk === null) return null
  const script = scriptOf(ask.scenario, role)
  const origin = ask.asked_at - startMs
  const ready_at = script.at_ms === null ? null : origin + script.at_ms
  return { carrier, line, plan, risk, role, script, ask, origin, ready_at }
}

/** The offer from the carrier's plan, made at `answeredAt`, with the scenario's changes. */
const offerAt = ({ ask, role, plan, risk }: PlayedAsk, answeredAt: number): CarrierOffer =>
  scenarioOffer(offerOf(plan, priceOf(plan, risk), ask, answeredAt), ask.scenario, role, answeredAt)

const offers = (play: PlayedAsk): CarrierReply => {
  const { ask, role } = play
  const offer = offerAt(play, ask.now)
  const change = changeOf(ask.scenario, role)
  if (change === null) return { kind: "offers", offers: [offer] }
  const refresh_after_ms = Math.max(0, play.origin + change.at_ms - ask.now)
  return { kind: "offers", offers: [{ ...offer, refresh_after_ms }] }
}

/** The answer that the carrier gives once it is ready. */
const answer = (play: PlayedAsk): CarrierReply => {
  const { ask, line, plan, risk } = play
  switch (play.script.act) {
    case "decline":
      return { kind: "declined", reason: line.scripted_decline }
    case "question":
      return { kind: "question", questions: line.questions }
    case "error":
    case "silent":
      return { kind: "unavailable", reason: "carrier_error", retry_after_ms: retryAfterMs }
    case "rules": {
      const decision = answerOf(plan, risk, dayOf(ask.requested_at))
      return decision.kind === "declined" ? decision : offers(play)
    }
    case "quote":
      return offers(play)
  }
}

/**
 * Whether the carrier answers the ask directly. Errors always come directly; other answers may come later, in a poll or
 * a callback.
 */
const answersDirectly = ({ carrier, script }: PlayedAsk): boolean => {
  if (script.act === "error") return true
  return carrier.mode === "sync" && script.at_ms !== null && script.at_ms - startMs <= attemptTimeoutMs
}

const polled = (play: PlayedAsk): CarrierReply => {
  const leftMs = play.ready_at === null ? null : play.ready_at - play.ask.now
  if (leftMs !== null && leftMs <= 0) return answer(play)
  return { kind: "pending", ref: play.ask.idempotency_key, poll_after_ms: pollAfter(leftMs) }
}

const askedReply = (play: PlayedAsk): CarrierReply => {
  const { ask, carrier, ready_at } = play
  if (answersDirectly(play)) return answer(play)
  if (carrier.mode === "poll") return polled(play)
  const accepted = { kind: "pending", ref: ask.idempotency_key, poll_after_ms: null } as const
  return ready_at === null ? accepted : { ...accepted, callback_after_ms: Math.max(0, ready_at - ask.now) }
}

/**
 * How long an attempt takes, in milliseconds; 0 if the carrier only accepts the ask, or if this is not the first
 * attempt.
 */
const latency = (play: PlayedAsk | null): number => {
  if (play === null || play.ask.attempt > 1 || !answersDirectly(play)) return 0
  return Math.max(0, (play.script.at_ms ?? 0) - startMs)
}

/** A refreshed offer: unchanged, unless the scenario changes it. */
const refreshed = (play: PlayedAsk, offerRef: string): CarrierRefresh => {
  const { ask, role } = play
  if (offerRef !== offerRefOf(ask)) return { kind: "withdrawn" }
  const offer = offerAt(play, play.ready_at ?? ask.now)
  const change = changeOf(ask.scenario, role)
  if (change === null || ask.now < play.origin + change.at_ms || offer.premium === null) {
    return { kind: "offer", reason: "rechecked", offer }
  }
  if (change.kind === "withdrawn") return { kind: "withdrawn" }
  const premium = cents(mul(offer.premium.amount_minor, priceUpdateFactor))
  return { kind: "offer", reason: "price_updated", offer: { ...offer, premium } }
}

/** The lines that the carrier has plans for, with the carrier's own terms. */
const linesOf = (carrier: FictionalCarrier, lines: CarrierAdapter["lines"]): CarrierAdapter["lines"] =>
  Object.fromEntries(
    Object.entries(lines).flatMap(([name, line]): ReadonlyArray<[string, CarrierLine]> => {
      const role = roleOf(carrier.id, name)
      const { mode, uses_credit } = carrier
      return role === undefined
        ? []
        : [
            [
              name,
              {
                ...line,
                mode,
                uses_credit,
                attempt_timeout_ms: attemptTimeoutMs,
                typical_ms: role.latency_ms - startMs
              }
            ]
          ]
    })
  )

const adapterOf = (carrier: FictionalCarrier, callbacks: SignedCallbacks): CarrierAdapter => {
  const rated = carrierOf(carrier, carrier.plans, ["sandbox"])
  const reply = (ask: CarrierAsk, replyWith: (play: PlayedAsk) => CarrierReply): CarrierReply => {
    const play = playOf(carrier, ask)
    return play === null ? unreadable : replyWith(play)
  }
  return {
    ...rated,
    carrier: { ...rated.carrier, registry_ids: [carrier.id.replace("sbx_", "sandbox:")] },
    lines: linesOf(carrier, rated.lines),
    ask: (ask) => Effect.sync(() => reply(ask, askedReply)),
    poll: (ask) => Effect.sync(() => reply(ask, polled)),
    callback: (callback) => callbacks.read(carrier.id, callback),
    refresh: (ask, offerRef) =>
      Effect.sync(() => {
        const play = playOf(carrier, ask)
        return play === null ? { kind: "withdrawn" } : refreshed(play, offerRef)
      }),
    simulation: {
      latency_ms: (ask) => latency(playOf(carrier, ask)),
      ignoresRules,
      callback: (ask, ref) => Effect.suspend(() => callbacks.write(carrier.id, ref, reply(ask, answer)))
    }
  }
}

/**
 * The sandbox's fictional carriers, ordered by line, then by latency.
 *
 * They sign their callbacks with a key that exists only in this process. The same process that plays a callback also
 * verifies it.
 */
export const fictionalCarriers: Effect.Effect<ReadonlyArray<CarrierAdapter>, never, Mac.Mac> = Effect.gen(function* () {
  const mac = yield* Mac.Mac
  const callbacks = signedCallbacks(mac, yield* Effect.orDie(mac.generateKey(Mac.hmacSha256)))
  return fictionalCarrierList().map((carrier) => adapterOf(carrier, callbacks))
})

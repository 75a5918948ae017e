import { Cause, Clock, Context, Effect, Fiber, Layer, Random } from "effect"
import * as Fault from "../concurrency/Fault.ts"
import { Slot } from "../concurrency/Slot.ts"
import type { Storage, StorageUnavailable } from "../storage/Storage.ts"
import type { BrokenRule } from "../wire/BrokenRule.ts"
import * as AnswerRules from "./AnswerRules.ts"
import { type CarrierLine, type CarrierRefresh, type CarrierReply, type Decline, max_attempt_ms } from "./Carrier.ts"
import type { CallToCarrier, Limited, NoRoom, Outcome, Place } from "./CarrierLimits.ts"
import * as CarrierLimits from "./CarrierLimits.ts"
import { openUntil } from "./Eligibility.ts"
import { brokenHandoff } from "./Offer.ts"
import * as Reply from "./Reply.ts"
import * as Draft from "./recorder/Draft.ts"

/**
 * The result of an attempt to ask: the carrier's reply; `in_doubt` if an earlier run had begun the ask; `no_room` if the
 * carrier's limits leave no room now, or `closed` during its maintenance, and when to try again.
 */
export type Asked =
  | { readonly _tag: "replied"; readonly reply: CarrierReply }
  | { readonly _tag: "in_doubt" }
  | NoRoom
  | { readonly _tag: "closed"; readonly again_after_ms: number }

/** Where a person goes on with an offer; null if nowhere. */
export interface Handoff {
  readonly url: string | null
}

/** Calls carriers, each within its own limits, so that a slow one delays no other. */
export class CarrierClient extends Context.Service<
  CarrierClient,
  {
    /** Whether no ask may begin now, in real time, because the circuit of the carrier, or of its connection, is open. */
    readonly isOpen: (place: Place) => Effect.Effect<boolean, StorageUnavailable>
    /**
     * Asks once, within the carrier's time-out and the deadline, unless its `appetite` declines; never waits for room.
     * `begin` runs right before a real carrier is asked, and returns whether the ask may be made.
     */
    readonly ask: <E>(
      of: CallToCarrier,
      begin: Effect.Effect<boolean, E>
    ) => Effect.Effect<Asked, E | StorageUnavailable>
    /** Polls once, if there is room. If the adapter throws, is late, or returns no valid reply, it is `unavailable`. */
    readonly poll: (of: CallToCarrier, ref: string) => Effect.Effect<Limited<CarrierReply>, StorageUnavailable>
    /** Asks whether an offer is still valid, if there is room. */
    readonly refresh: (
      of: CallToCarrier,
      offer_ref: string
    ) => Effect.Effect<Limited<CarrierRefresh>, StorageUnavailable>
    /**
     * Asks the adapter's `handoff` for a fresh link at the click. It counts against the limits, and is never refused for them.
     *
     * Null if there is no link to be had: the adapter has no `handoff`, is in maintenance, fails or takes too long, or the
     * link breaks a rule. The last three are logged.
     */
    readonly handoff: (of: CallToCarrier, offer_ref: string) => Effect.Effect<Handoff | null>
  }
>()("@quotewire/core/CarrierClient") {
  /** Counts calls together with those of all other hosts on the storage. */
  static readonly layer: Layer.Layer<CarrierClient, never, Storage> = Layer.effect(
    CarrierClient,
    Effect.suspend(() => make)
  )
}

const attemptMs = (line: CarrierLine): number => Math.min(max_attempt_ms, line.attempt_timeout_ms)

/** Makes a call to an adapter. If it throws or returns no valid reply, that is logged and the result is `unavailable`. */
const validReply = (call: () => Effect.Effect<CarrierReply>): Effect.Effect<CarrierReply> =>
  Effect.suspend(call).pipe(Effect.flatMap(checkedReply), orIfThrown(failed))

/** Makes a call to an adapter. If it throws, is late, or returns no valid reply, the result is `unavailable`. */
// A simulated carrier's latency is the due time of a job, in workspace time. It never waits here, so it has no time-out.
const callSafely = (
  call: () => Effect.Effect<CarrierReply>,
  { ask, candidate: { adapter, line } }: CallToCarrier
): Effect.Effect<CarrierReply> =>
  adapter.simulation === undefined
    ? Draft.watched(
        ask,
        (reply) => reply,
        releasingSlot(validReply(call)).pipe(
          Effect.timeoutOrElse({
            duration: Math.min(attemptMs(line), Math.max(0, ask.deadline - ask.now)),
            orElse: () => Effect.as(Effect.logWarning("A carrier gave no answer in time"), late)
          }),
          unlessClosed(line, closed)
        )
      )
    : Effect.suspend(call).pipe(orIfThrown(failed))

const refresh = (
  { ask, candidate: { adapter, line } }: CallToCarrier,
  offer_ref: string
): Effect.Effect<CarrierRefresh> =>
  Draft.watched(
    ask,
    (found) => found,
    releasingSlot(Effect.suspend(() => adapter.refresh?.(ask, offer_ref) ?? Effect.succeed(notNow))).pipe(
      Effect.timeoutOrElse({ duration: attemptMs(line), orElse: () => Effect.succeed(notNow) }),
      Effect.flatMap((found) => validOr(found, AnswerRules.ofRefresh(found), Reply.unavailable("unreadable_answer"))),
      orIfThrown(notNow),
      unlessClosed(line, notNow)
    )
  )

/** How long a carrier's maintenance still takes, in milliseconds of real time; null if the carrier is open. */
const closedFor = ({ maintenance = [] }: CarrierLine): Effect.Effect<number | null> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const until = openUntil(maintenance, now)
    return until === null ? null : until - now
  })

/** Makes a call only if the carrier is open. */
const unlessClosed =
  <B>(line: CarrierLine, otherwise: B) =>
  <A>(call: Effect.Effect<A>): Effect.Effect<A | B> =>
    Effect.flatMap(
      closedFor(line),
      (closed_ms): Effect.Effect<A | B> => (closed_ms === null ? call : Effect.succeed(otherwise))
    )

/** The decline by the adapter's `appetite`; null if it has none. If it fails, that is logged, and the carrier is asked. */
const declineOf = ({ ask, candidate: { adapter } }: CallToCarrier): Effect.Effect<Decline | null> =>
  Effect.sync(() => adapter.appetite?.(ask) ?? null).pipe(
    Effect.flatMap((decline) => validOr(decline, decline === null ? [] : AnswerRules.ofDecline(decline), null)),
    orIfThrown(null)
  )

/** What the result of an ask says about the carrier. One that asks us to slow down is well. */
const outcomeOf = (reply: CarrierReply | null): Outcome => {
  if (reply === null || (reply.kind === "unavailable" && reply.reason === "rate_limited")) return null
  return reply.kind === "unavailable" ? "failed" : "answered"
}

const isFictional = ({ candidate }: Pick<CallToCarrier, "candidate">): boolean =>
  candidate.adapter.simulation !== undefined

const make = Effect.gen(function* () {
  const limits = yield* CarrierLimits.make

  /**
   * Asks again, identically, if the first call is slow and the carrier has room for both. The first useful reply counts. If both
   * calls fail, the failure of the first one counts.
   */
  const askHedged = Effect.fnUntraced(function* (of: CallToCarrier, after_ms: number) {
    const call = validReply(() => of.candidate.adapter.ask(of.ask))
    const first = yield* Effect.forkScoped(call)
    const second = Effect.filterOrFail(limits.ifRoom(of, useful(call)), (hedge) => hedge._tag === "made")
    const race = Effect.race(
      useful(Fiber.join(first)),
      Effect.map(second, ({ value }) => value)
    )
    return yield* Fiber.join(first).pipe(
      Effect.timeoutOrElse({ duration: after_ms, orElse: () => Effect.catch(race, () => Fiber.join(first)) })
    )
  }, Effect.scoped)

  const askWithin = Effect.fnUntraced(function* <E>(
    of: CallToCarrier,
    begin: Effect.Effect<boolean, E>
  ): Effect.fn.Return<Asked, E | StorageUnavailable> {
    const closed_ms = yield* closedFor(of.candidate.line)
    if (closed_ms !== null) return { _tag: "closed", again_after_ms: closed_ms }
    // Only carriers that recognize a repeat are hedged.
    const { hedge_after_ms, idempotent } = of.candidate.line
    const call = () =>
      idempotent && hedge_after_ms !== null ? askHedged(of, hedge_after_ms) : of.candidate.adapter.ask(of.ask)
    const beginAndAsk = Effect.flatMap(begin, (mayAsk) => (mayAsk ? callSafely(call, of) : Effect.succeed(null)))
    const asked = yield* limits.ifRoom(of, beginAndAsk, outcomeOf)
    if (asked._tag === "no_room") return asked
    return asked.value === null ? { _tag: "in_doubt" } : { _tag: "replied", reply: asked.value }
  })

  const poll = (of: CallToCarrier, ref: string): Effect.Effect<CarrierReply> =>
    callSafely(() => of.candidate.adapter.poll?.(of.ask, ref) ?? Effect.as(AnswerRules.log([noPoll]), late), of)

  // A simulated carrier follows its script: it has no limits, and its replies say nothing about its health.
  const ifRoom = <A>(of: CallToCarrier, call: Effect.Effect<A>): Effect.Effect<Limited<A>, StorageUnavailable> =>
    isFictional(of) ? Effect.map(call, (value) => ({ _tag: "made", value })) : limits.ifRoom(of, call)

  return CarrierClient.of({
    isOpen: (place) => (isFictional(place) ? Effect.succeed(false) : limits.isOpen(place)),
    ask: Effect.fnUntraced(function* (of, begin) {
      const decline = yield* declineOf(of)
      if (decline !== null) return { _tag: "replied", reply: decline }
      if (!isFictional(of)) return yield* askWithin(of, begin)
      return { _tag: "replied", reply: yield* callSafely(() => of.candidate.adapter.ask(of.ask), of) }
    }),
    poll: (of, ref) => ifRoom(of, poll(of, ref)),
    refresh: (of, offer_ref) => ifRoom(of, refresh(of, offer_ref)),
    handoff: (of, offer_ref) => {
      if (of.candidate.adapter.handoff === undefined) return Effect.succeed(null)
      return isFictional(of) ? handoff(of, offer_ref) : limits.counted(of, handoff(of, offer_ref))
    }
  })
})

const noPoll = { path: "poll_after_ms", message: "Must be null, because the adapter has no poll." }
const late = Reply.unavailable("timeout")
const failed = Reply.unavailable("carrier_error")
const closed = Reply.unavailable("maintenance")
const notNow: CarrierRefresh = { kind: "unavailable", reason: "carrier_error" }

/** Checks that an adapter, which is foreign code, returned a valid reply. If not, that is logged and it is unavailable. */
export const checkedReply = (reply: CarrierReply): Effect.Effect<CarrierReply> =>
  validOr(reply, AnswerRules.ofReply(reply), Reply.unavailable("unreadable_answer"))

/** Logs that an adapter has found out itself that there is no answer. The engine cannot know why. */
export const logUnavailable = (reply: CarrierReply): Effect.Effect<void> =>
  AnswerRules.ofReply(reply).length === 0 && reply.kind === "unavailable"
    ? Effect.annotateLogs(Effect.logWarning("A carrier's adapter says that there is no answer"), {
        reason: reply.reason
      })
    : Effect.void

const validOr = <A>(answer: A, broken: ReadonlyArray<BrokenRule>, otherwise: A): Effect.Effect<A> =>
  broken.length === 0 ? Effect.succeed(answer) : Effect.as(AnswerRules.log(broken), otherwise)

const handoff = (
  { ask, candidate: { adapter, line } }: CallToCarrier,
  offer_ref: string
): Effect.Effect<Handoff | null> =>
  Draft.watched(
    ask,
    (found) => ({ kind: found === null ? "unavailable" : "link" }),
    Effect.suspend(() => adapter.handoff?.(ask, offer_ref) ?? Effect.succeed(null)).pipe(
      Effect.flatMap((url) => validOr({ url }, brokenHandoff(url, adapter.handoff_hosts), null)),
      Effect.timeoutOrElse({ duration: attemptMs(line), orElse: () => noLink("A carrier gave no link in time") }),
      orIfThrown(null),
      unlessClosed(line, null)
    )
  )

const noLink = (why: string): Effect.Effect<null> => Effect.as(Effect.logWarning(why), null)

/** Fails if a call gave no answer. */
const useful = <E>(call: Effect.Effect<CarrierReply, E>) =>
  Effect.filterOrFail(call, (reply) => reply.kind !== "unavailable")

/** Gives the job's slot to other jobs while it waits for a carrier. */
const releasingSlot = <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.flatMap(Slot, (slot) => slot.yieldDuring(call))

/** The result of a call to an adapter. If the adapter throws, that is logged and the result is `otherwise`. */
export const orIfThrown =
  <B>(otherwise: B) =>
  <A>(call: Effect.Effect<A>): Effect.Effect<A | B> =>
    Effect.catchCause(call, (cause) =>
      Fault.log("A carrier's adapter has failed", cause).pipe(
        Effect.andThen(Draft.note((draft) => draft.threw(Fault.classOf(Cause.squash(cause))))),
        Effect.as(otherwise)
      )
    )

/** How long to wait before an ask is made again: half a second plus a random time of up to a second. */
export const repeatPause: Effect.Effect<number> = Random.nextIntBetween(500, 1_500)

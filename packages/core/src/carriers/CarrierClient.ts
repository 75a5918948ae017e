import { Cause, Clock, Context, DateTime, Deferred, Effect, identity, Layer, Option, Random, Result } from "effect"
import * as Fault from "../concurrency/Fault.ts"
import { JobSlot } from "../concurrency/JobSlot.ts"
import type { Storage, StorageUnavailable } from "../storage/Storage.ts"
import type { BrokenRule } from "../wire/BrokenRule.ts"
import { InvalidMoney } from "../wire/Money.ts"
import * as AnswerRules from "./AnswerRules.ts"
import {
  type CarrierLine,
  type CarrierRefresh,
  type CarrierReply,
  type Decline,
  type MaintenanceWindow,
  maxAttemptMs,
  type Unavailable
} from "./Carrier.ts"
import * as CarrierFailure from "./CarrierFailure.ts"
import type { OpenCircuit } from "./health/CarrierHealth.ts"
import type { CallToCarrier, HealthPlace, LimitedResult, NoRoom, Outcome } from "./health/CarrierLimits.ts"
import * as CarrierLimits from "./health/CarrierLimits.ts"
import { logMistake } from "./http/CarrierHttp.ts"
import { CarrierHttpMistake } from "./http/CarrierHttpError.ts"
import { brokenHandoff } from "./Offer.ts"
import * as Reply from "./Reply.ts"
import * as ExchangeDraft from "./recorder/ExchangeDraft.ts"
import * as TimeBudget from "./TimeBudget.ts"

/**
 * The result of one attempt to ask a carrier. `replied`: the carrier's reply. `in_doubt`: an earlier run of the job had
 * already begun the ask. `no_room`: the carrier's limits leave no room now. `closed`: the carrier is in maintenance.
 * The last two say when to retry.
 */
export type AskResult =
  | { readonly _tag: "replied"; readonly reply: CarrierReply }
  | { readonly _tag: "in_doubt" }
  | NoRoom
  | { readonly _tag: "closed"; readonly again_after_ms: number }

/** The link with which a person continues with an offer; null if the person cannot continue. */
export interface Handoff {
  readonly url: string | null
}

/** Calls carriers, each within its own limits, so that a slow carrier does not delay other carriers. */
export class CarrierClient extends Context.Service<
  CarrierClient,
  {
    /**
     * The open circuit that currently blocks asks to the carrier or over its connection; null if no circuit blocks
     * them.
     */
    readonly openCircuit: (place: HealthPlace) => Effect.Effect<OpenCircuit | null, StorageUnavailable>
    /**
     * Asks once, within the carrier's timeout and the deadline, unless the adapter's `appetite` declines. If the
     * carrier's limits leave no room, returns immediately.
     *
     * `begin` runs right before a real carrier is asked, and returns whether the ask may be made. `isWanted` runs
     * before a hedge, and returns whether an answer would still be used.
     */
    readonly ask: <E>(
      of: CallToCarrier,
      begin: Effect.Effect<boolean, E>,
      isWanted: Effect.Effect<boolean, StorageUnavailable>
    ) => Effect.Effect<AskResult, E | StorageUnavailable>
    /**
     * Polls once, if the carrier's limits leave room. The result is `unavailable` if the adapter throws, times out, or
     * returns no valid reply.
     */
    readonly poll: (of: CallToCarrier, ref: string) => Effect.Effect<LimitedResult<CarrierReply>, StorageUnavailable>
    /** Asks whether an offer is still valid, if the carrier's limits leave room. */
    readonly refresh: (
      of: CallToCarrier,
      offer_ref: string
    ) => Effect.Effect<LimitedResult<CarrierRefresh>, StorageUnavailable>
    /**
     * Gets a fresh link from the adapter's `handoff` when the person clicks an offer's link. The call counts against
     * the carrier's limits but is never refused because of them.
     *
     * Returns null if the adapter has no `handoff` or the carrier is in maintenance. Also returns null, and logs why,
     * if the adapter fails or times out, or if the link breaks a rule.
     */
    readonly handoff: (of: CallToCarrier, offer_ref: string) => Effect.Effect<Handoff | null>
  }
>()("@quotewire/core/CarrierClient") {
  /** The layer that calls carriers. All hosts on the same storage share each carrier's limits. */
  static readonly layer: Layer.Layer<CarrierClient, never, Storage> = Layer.effect(
    CarrierClient,
    Effect.suspend(() => make)
  )
}

/** How long an attempt of this carrier may take, in milliseconds, not counting waits inside this service. */
export const attemptMs = (line: CarrierLine): number => Math.min(maxAttemptMs, line.attempt_timeout_ms)

/** Calls an adapter. If it throws or returns no valid reply, logs that and returns `unavailable`. */
const validReply = (call: () => Effect.Effect<CarrierReply>): Effect.Effect<CarrierReply> =>
  Effect.suspend(call).pipe(Effect.flatMap(checkedReply), orIfThrown(identity))

/**
 * Calls an adapter. If the adapter throws, times out, or returns no valid reply, returns `unavailable`.
 *
 * A call to a simulated carrier needs no timeout, because it returns immediately. Its latency is simulated by a job
 * that comes due later, in workspace time.
 */
const callSafely = (
  call: () => Effect.Effect<CarrierReply>,
  { ask, candidate: { adapter, line } }: CallToCarrier
): Effect.Effect<CarrierReply> =>
  adapter.simulation === undefined
    ? ExchangeDraft.watched(
        ask,
        (reply) => reply,
        releasingSlot(validReply(call)).pipe(
          TimeBudget.withinLimit({ millis: attemptMs(line), total_ms: Math.max(0, ask.deadline - ask.now) }, () =>
            Effect.as(tooLate, late)
          ),
          unlessClosed(line, closed)
        )
      )
    : Effect.suspend(call).pipe(orIfThrown(identity))

const refresh = (
  { ask, candidate: { adapter, line } }: CallToCarrier,
  offerRef: string
): Effect.Effect<CarrierRefresh> =>
  ExchangeDraft.watched(
    ask,
    (refreshed) => refreshed,
    releasingSlot(Effect.suspend(() => adapter.refresh?.(ask, offerRef) ?? Effect.succeed(noRefresh))).pipe(
      TimeBudget.withinLimit({ millis: attemptMs(line) }, () => Effect.as(tooLate, late)),
      Effect.flatMap((refreshed) => validOr(AnswerRules.readRefresh(refreshed), unreadable)),
      orIfThrown(identity),
      unlessClosed(line, closed)
    )
  )

/**
 * How much longer a carrier's maintenance lasts, in milliseconds of real time; null if the carrier is not in
 * maintenance.
 */
const closedFor = ({ maintenance = [] }: CarrierLine): Effect.Effect<number | null> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const until = openUntil(maintenance, now)
    return until === null ? null : until - now
  })

/**
 * When the maintenance that is in progress at `now` ends, in milliseconds of real time; null if the carrier is not in
 * maintenance.
 *
 * Adjacent or overlapping windows are treated as one. Windows with invalid times are ignored.
 */
const openUntil = (windows: ReadonlyArray<MaintenanceWindow>, now: number): number | null =>
  windows
    .flatMap(({ from, until }) => Option.toArray(Option.all({ from: millisOf(from), until: millisOf(until) })))
    .toSorted((a, b) => a.from - b.from)
    .reduce<number | null>((end, { from, until }) => (from <= (end ?? now) && (end ?? now) < until ? until : end), null)

const millisOf = (text: string): Option.Option<number> => Option.map(DateTime.make(text), DateTime.toEpochMillis)

/** Calls the carrier unless it is in maintenance. */
const unlessClosed =
  <B>(line: CarrierLine, fallback: B) =>
  <A>(call: Effect.Effect<A>): Effect.Effect<A | B> =>
    Effect.flatMap(
      closedFor(line),
      (closedMs): Effect.Effect<A | B> => (closedMs === null ? call : Effect.succeed(fallback))
    )

/**
 * The decline that the adapter's `appetite` returns; null if the risk is not declined. If `appetite` fails, logs that
 * and returns null, so that the carrier is asked.
 */
const declineOf = ({ ask, candidate: { adapter } }: CallToCarrier): Effect.Effect<Decline | null> =>
  Effect.sync(() => adapter.appetite?.(ask) ?? null).pipe(
    Effect.flatMap((decline) =>
      decline === null ? Effect.succeed(null) : validOr(AnswerRules.readDecline(decline), null)
    ),
    orIfThrown(() => null)
  )

/** What the result of an ask says about the carrier's health. A rate-limited ask says nothing. */
const outcomeOf = (reply: CarrierReply | null): Outcome => {
  if (reply === null || (reply.kind === "unavailable" && reply.reason === "rate_limited")) return null
  return reply.kind === "unavailable" ? reply.reason : "answered"
}

const isFictional = ({ candidate }: Pick<CallToCarrier, "candidate">): boolean =>
  candidate.adapter.simulation !== undefined

const make = Effect.gen(function* () {
  const limits = yield* CarrierLimits.make
  const askWithin = makeAskOnce(limits)

  const poll = (call: CallToCarrier, ref: string): Effect.Effect<CarrierReply> =>
    callSafely(
      () =>
        call.candidate.adapter.poll?.(call.ask, ref) ?? Effect.as(AnswerRules.log([AnswerRules.noPoll]), unreadable),
      call
    )

  // A simulated carrier follows its script: it has no limits, and its replies say nothing about its health.
  const ifRoom = <A>(of: CallToCarrier, call: Effect.Effect<A>): Effect.Effect<LimitedResult<A>, StorageUnavailable> =>
    isFictional(of) ? Effect.map(call, (value) => ({ _tag: "made", value })) : limits.ifRoom(of, call)

  return CarrierClient.of({
    openCircuit: (place) => (isFictional(place) ? Effect.succeed(null) : limits.openCircuit(place)),
    ask: Effect.fnUntraced(function* (call, begin, isWanted) {
      const decline = yield* declineOf(call)
      if (decline !== null) return { _tag: "replied", reply: decline }
      if (!isFictional(call)) return yield* askWithin(call, begin, isWanted)
      return { _tag: "replied", reply: yield* callSafely(() => call.candidate.adapter.ask(call.ask), call) }
    }),
    poll: (call, ref) => ifRoom(call, poll(call, ref)),
    refresh: (call, offerRef) => ifRoom(call, refresh(call, offerRef)),
    handoff: (call, offerRef) => {
      if (call.candidate.adapter.handoff === undefined) return Effect.succeed(null)
      return isFictional(call) ? handoff(call, offerRef) : limits.counted(call, handoff(call, offerRef))
    }
  })
})

type Limits = Effect.Success<typeof CarrierLimits.make>

/**
 * Makes a hedged ask: repeats the ask if the first call is slow, an answer would still be used, and the carrier's
 * limits have room for both. The first useful reply wins. If both calls fail, returns the first call's failure.
 */
const makeHedgedAsk = (limits: Limits) =>
  Effect.fnUntraced(function* (
    carrierCall: CallToCarrier,
    afterMs: number,
    isWanted: Effect.Effect<boolean, StorageUnavailable>
  ) {
    const call = validReply(() => carrierCall.candidate.adapter.ask(carrierCall.ask))
    const first = yield* Deferred.make<CarrierReply>()
    const second = Effect.andThen(
      Effect.filterOrFail(isWanted, (isStillWanted) => isStillWanted),
      Effect.filterOrFail(limits.ifRoom(carrierCall, useful(call)), (hedge) => hedge._tag === "made")
    )
    const race = Effect.race(
      useful(Deferred.await(first)),
      Effect.map(second, ({ value }) => value)
    )
    // The first call keeps running after `afterMs`, until the scope closes.
    return yield* Effect.forkScoped(Deferred.into(call, first)).pipe(
      Effect.andThen(Deferred.await(first)),
      TimeBudget.withinLimit({ millis: afterMs }, () => Effect.catch(race, () => Deferred.await(first)))
    )
  }, Effect.scoped)

/** Asks a real carrier once, unless it is in maintenance or its limits leave no room. */
const makeAskOnce = (limits: Limits) => {
  const askHedged = makeHedgedAsk(limits)
  return Effect.fnUntraced(function* <E>(
    carrierCall: CallToCarrier,
    begin: Effect.Effect<boolean, E>,
    isWanted: Effect.Effect<boolean, StorageUnavailable>
  ): Effect.fn.Return<AskResult, E | StorageUnavailable> {
    const closedMs = yield* closedFor(carrierCall.candidate.line)
    if (closedMs !== null) return { _tag: "closed", again_after_ms: closedMs }
    // Only carriers that recognize a repeated ask are hedged.
    const { hedge_after_ms, idempotent } = carrierCall.candidate.line
    const call = () =>
      idempotent && hedge_after_ms !== null
        ? askHedged(carrierCall, hedge_after_ms, isWanted)
        : carrierCall.candidate.adapter.ask(carrierCall.ask)
    const beginAndAsk = Effect.flatMap(begin, (mayAsk) =>
      mayAsk ? callSafely(call, carrierCall) : Effect.succeed(null)
    )
    const limited = yield* limits.ifRoom(carrierCall, beginAndAsk, outcomeOf)
    if (limited._tag === "no_room") return limited
    return limited.value === null ? { _tag: "in_doubt" } : { _tag: "replied", reply: limited.value }
  })
}

const late = Reply.unavailable("timeout")
const unreadable = Reply.failed("unreadable_answer")
const closed = Reply.unavailable("maintenance")
const noRefresh = Reply.failed("carrier_error")
const tooLate = Effect.logWarning("A carrier timed out")

/** Checks that an adapter returned a valid reply. If not, logs that and returns `unavailable`. */
export const checkedReply = (reply: CarrierReply): Effect.Effect<CarrierReply> =>
  validOr(AnswerRules.readReply(reply), unreadable)

/** Logs an `unavailable` reply that the adapter itself returned. Only the adapter knows the cause. */
export const logUnavailable = (reply: CarrierReply): Effect.Effect<void> =>
  Result.match(AnswerRules.readReply(reply), {
    onSuccess: (read) =>
      read.kind === "unavailable"
        ? Effect.annotateLogs(Effect.logWarning("A carrier's adapter returned no answer"), { reason: read.reason })
        : Effect.void,
    onFailure: () => Effect.void
  })

const validOr = <A, B>(read: Result.Result<A, ReadonlyArray<BrokenRule>>, fallback: B): Effect.Effect<A | B> =>
  Result.match(read, {
    onSuccess: (answer): Effect.Effect<A | B> => Effect.succeed(answer),
    onFailure: (broken) => Effect.as(AnswerRules.log(broken), fallback)
  })

const handoff = (
  { ask, candidate: { adapter, line } }: CallToCarrier,
  offerRef: string
): Effect.Effect<Handoff | null> =>
  ExchangeDraft.watched(
    ask,
    (link) => ({ kind: link === null ? "unavailable" : "link" }),
    Effect.suspend(() => adapter.handoff?.(ask, offerRef) ?? Effect.succeed(null)).pipe(
      Effect.flatMap((url) => {
        const broken = brokenHandoff(url, adapter.handoff_hosts)
        return validOr(broken.length === 0 ? Result.succeed({ url }) : Result.fail(broken), null)
      }),
      TimeBudget.withinLimit({ millis: attemptMs(line) }, () =>
        noLink("A carrier did not return a handoff link in time")
      ),
      orIfThrown(() => null),
      unlessClosed(line, null)
    )
  )

const noLink = (reason: string): Effect.Effect<null> => Effect.as(Effect.logWarning(reason), null)

/** Runs a call, and fails if its reply is `unavailable`. */
const useful = <E>(call: Effect.Effect<CarrierReply, E>) =>
  Effect.filterOrFail(call, (reply) => reply.kind !== "unavailable")

/** Gives the job's slot to other jobs while the call waits for a carrier. */
const releasingSlot = <A, E, R>(call: Effect.Effect<A, E, R>) => JobSlot.use((slot) => slot.yieldDuring(call))

/** Runs a call to an adapter. If the adapter throws, logs that and returns the result of `fallback`. */
export const orIfThrown =
  <B>(fallback: (failure: Unavailable) => B) =>
  <A>(call: Effect.Effect<A>): Effect.Effect<A | B> =>
    Effect.catchCause(call, (cause) => {
      const thrown = Cause.squash(cause)
      return Effect.as(
        thrown instanceof InvalidMoney ? logMoney(thrown) : logThrown(thrown),
        fallback(CarrierFailure.ofThrown(thrown))
      )
    })

const logThrown = (thrown: unknown): Effect.Effect<void> =>
  (thrown instanceof CarrierHttpMistake && thrown.in_answer === true ? logMistake(thrown) : Effect.void).pipe(
    Effect.andThen(Fault.log("A carrier's adapter failed", Cause.die(thrown))),
    Effect.andThen(ExchangeDraft.note((draft) => draft.threw(Fault.classOf(thrown))))
  )

/**
 * Logs an invalid amount. The error's message states a rule and repeats no value. The logged stack frame shows where in
 * the adapter the amount was made.
 */
const logMoney = (thrown: InvalidMoney): Effect.Effect<void> =>
  AnswerRules.log([{ path: "", message: thrown.message }], Cause.die(Fault.redacted(thrown)))

/** How long to wait before repeating an ask: half a second plus a random time of up to a second. */
export const repeatPause: Effect.Effect<number> = Random.nextIntBetween(500, 1_500)

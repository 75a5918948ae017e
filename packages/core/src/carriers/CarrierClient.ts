import { Cause, Clock, Duration, Effect, Exit, Random, type Scope, Stream } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import * as Fault from "../concurrency/Fault.ts"
import { Slot } from "../concurrency/Slot.ts"
import { minute_ms } from "../wire/Timestamp.ts"
import * as BrokenRule from "./BrokenRule.ts"
import {
  type CarrierAsk,
  type CarrierLine,
  type CarrierRefresh,
  type CarrierReply,
  type Decline,
  max_attempt_ms
} from "./Carrier.ts"
import * as CarrierHealth from "./CarrierHealth.ts"
import type { Candidate } from "./Eligibility.ts"
import { openUntil } from "./Maintenance.ts"
import { brokenHandoff } from "./Offer.ts"
import * as CarrierMetrics from "./recorder/CarrierMetrics.ts"
import * as Draft from "./recorder/Draft.ts"

/**
 * The result of an attempt to ask: the carrier's reply; `in_doubt` if an earlier run had begun the ask; `no_room` if the
 * carrier's limits leave no room now, or `closed` during its maintenance, and when to try again.
 */
export type Asked =
  | { readonly _tag: "replied"; readonly reply: CarrierReply }
  | { readonly _tag: "in_doubt" }
  | { readonly _tag: "no_room"; readonly again_after_ms: number }
  | { readonly _tag: "closed"; readonly again_after_ms: number }

/** Calls carriers, each within its own limits, so that a slow one delays no other. */
export interface CarrierClient {
  /** Whether the carrier's circuit is open now, in real time. */
  readonly isOpen: (carrier_id: string, line: string) => Effect.Effect<boolean>
  /**
   * Asks once, within the carrier's time-out and the deadline, unless its `appetite` declines; never waits for room. `begin`
   * runs right before a real carrier is asked, and returns whether the ask may be made.
   */
  readonly ask: <E>(candidate: Candidate, ask: CarrierAsk, begin: Effect.Effect<boolean, E>) => Effect.Effect<Asked, E>
  /** Makes any other call to an adapter. If it throws, is late, or returns no valid reply, the result is `unavailable`. */
  readonly callSafely: (
    call: () => Effect.Effect<CarrierReply>,
    candidate: Candidate,
    ask: CarrierAsk
  ) => Effect.Effect<CarrierReply>
  /** Asks whether an offer is still valid. */
  readonly refresh: (candidate: Candidate, ask: CarrierAsk, offer_ref: string) => Effect.Effect<CarrierRefresh>
}

const attemptMs = (line: CarrierLine): number => Math.min(max_attempt_ms, line.attempt_timeout_ms)

/** The shortest wait before an ask without room is tried again. */
const no_room_ms = 250

// A simulated carrier's latency is the due time of a job, in workspace time. It never waits here, so it has no time-out.
const callSafely: CarrierClient["callSafely"] = (call, { adapter, line }, ask) =>
  adapter.simulation === undefined
    ? Draft.watched(
        ask,
        (reply) => reply,
        releasingSlot(Effect.suspend(call)).pipe(
          Effect.timeoutOrElse({
            duration: Math.min(attemptMs(line), Math.max(0, ask.deadline - ask.now)),
            orElse: () => Effect.as(Effect.logWarning("A carrier gave no answer in time"), late)
          }),
          Effect.flatMap(checkedReply),
          orIfThrown(failed),
          unlessClosed(line, closed)
        )
      )
    : Effect.suspend(call).pipe(orIfThrown(failed))

const refresh: CarrierClient["refresh"] = ({ adapter, line }, ask, offer_ref) =>
  Draft.watched(
    ask,
    (found) => found,
    releasingSlot(Effect.suspend(() => adapter.refresh?.(ask, offer_ref) ?? Effect.succeed(notNow))).pipe(
      Effect.timeoutOrElse({ duration: attemptMs(line), orElse: () => Effect.succeed(notNow) }),
      Effect.flatMap((found) => validOr(found, BrokenRule.ofRefresh(found), notNow)),
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
const declineOf = ({ adapter }: Candidate, ask: CarrierAsk): Effect.Effect<Decline | null> =>
  Effect.sync(() => adapter.appetite?.(ask) ?? null).pipe(
    Effect.flatMap((decline) => validOr(decline, decline === null ? [] : BrokenRule.ofDecline(decline), null)),
    orIfThrown(null)
  )

/**
 * Opens a circuit for a minute when half of the last 20 asks were errors. After that, one ask decides whether it closes or
 * stays open for another minute.
 */
const makeBreaker = CircuitBreaker.make({
  tripPolicy: CircuitBreaker.rate({ threshold: 0.5, size: 20 }),
  openDuration: minute_ms
}).pipe(Effect.provide(CircuitBreaker.layerStoreMemory()))

const outcomeOf = (exit: Exit.Exit<CarrierReply>): CircuitBreaker.Outcome =>
  Exit.isFailure(exit) || exit.value.kind === "unavailable" ? CircuitBreaker.failure() : CircuitBreaker.success

/** Keeps the number of open circuits as a metric. A circuit counts as open until an ask has closed it. */
const countOpenCircuits = (breaker: CircuitBreaker.CircuitBreaker) => {
  const open = new Set<string>()
  const follow = Stream.runForEach(breaker.transitions, ({ key, to }) => {
    if (to === "Open") open.add(key)
    if (to === "Closed") open.delete(key)
    return CarrierMetrics.setOpenCircuits(open.size)
  })
  return Effect.forkScoped(follow)
}

/** Whether no ask may begin now: the circuit is open, or half open and its one ask is under way. */
const refuses = (state: CircuitBreaker.State): boolean =>
  state._tag === "Open" ? Duration.isPositive(state.retryAfter) : state._tag === "HalfOpen" && state.probing

/** Makes the client of one process, with its circuit breakers. */
export const make: Effect.Effect<CarrierClient, never, Scope.Scope> = Effect.gen(function* () {
  const breaker = yield* makeBreaker
  yield* countOpenCircuits(breaker)
  const healths = new Map<string, CarrierHealth.CarrierHealth>()
  const keyOf = (carrier_id: string, line: string) => `${carrier_id} ${line}`
  const healthOf = (key: string) => healths.get(key) ?? CarrierHealth.unknown

  /** Counts a call against the carrier's limits while it runs. */
  const withinLimits = <A, E>({ adapter }: Candidate, { line }: CarrierAsk, use: Effect.Effect<A, E>) => {
    const key = keyOf(adapter.carrier.id, line)
    return Effect.acquireUseRelease(
      Effect.map(Clock.currentTimeMillis, (now) => healths.set(key, CarrierHealth.afterBegin(healthOf(key), now))),
      () => use,
      () => Effect.sync(() => healths.set(key, CarrierHealth.afterEnd(healthOf(key))))
    )
  }

  /** Counts the result of an ask for its circuit breaker. */
  const counted = (key: string, asked: Effect.Effect<CarrierReply>) =>
    Effect.catch(breaker.execute(asked, { key, classify: outcomeOf }), (error) =>
      // If the circuit has opened since the ask was queued, the ask is made all the same, but not counted. A failure of the
      // breaker itself can come after the ask, which must not be repeated.
      error.reason._tag === "CircuitBreakerStoreError" ? Effect.die(error) : asked
    )

  const askOnce = ({ adapter }: Candidate, ask: CarrierAsk) => Effect.suspend(() => adapter.ask(ask))

  /** Makes a second, identical ask if the first one is slow and the carrier has room for both. */
  const hedge = Effect.fnUntraced(function* (candidate: Candidate, ask: CarrierAsk, after_ms: number) {
    yield* Effect.sleep(after_ms)
    const now = yield* Clock.currentTimeMillis
    const hasRoom = CarrierHealth.hasRoom(healthOf(keyOf(candidate.adapter.carrier.id, ask.line)), candidate.line, now)
    return yield* hasRoom ? withinLimits(candidate, ask, askOnce(candidate, ask)) : Effect.never
  })

  const askWithin = Effect.fnUntraced(function* <E>(
    candidate: Candidate,
    ask: CarrierAsk,
    begin: Effect.Effect<boolean, E>
  ): Effect.fn.Return<Asked, E> {
    const { adapter, line } = candidate
    const key = keyOf(adapter.carrier.id, ask.line)
    const closed_ms = yield* closedFor(line)
    if (closed_ms !== null) return { _tag: "closed", again_after_ms: closed_ms }
    const began = yield* Clock.currentTimeMillis
    if (!CarrierHealth.hasRoom(healthOf(key), line, began)) {
      const again_after_ms = Math.max(no_room_ms, CarrierHealth.retryAfter(healthOf(key), line, began))
      return { _tag: "no_room", again_after_ms }
    }
    // Only carriers that recognize a repeat are hedged.
    const { hedge_after_ms } = line
    const call = () =>
      line.idempotent && hedge_after_ms !== null
        ? Effect.raceFirst(askOnce(candidate, ask), hedge(candidate, ask, hedge_after_ms))
        : askOnce(candidate, ask)
    const beginAndAsk = Effect.flatMap(begin, (mayAsk) =>
      mayAsk ? counted(key, callSafely(call, candidate, ask)) : Effect.succeed(null)
    )
    const reply = yield* withinLimits(candidate, ask, beginAndAsk)
    return reply === null ? { _tag: "in_doubt" } : { _tag: "replied", reply }
  })

  return {
    isOpen: (carrier_id, line) => Effect.map(Effect.orDie(breaker.state(keyOf(carrier_id, line))), refuses),
    // A simulated carrier follows its script, so its replies say nothing about its health.
    ask: Effect.fnUntraced(function* (candidate, ask, begin) {
      const decline = yield* declineOf(candidate, ask)
      if (decline !== null) return { _tag: "replied", reply: decline }
      if (candidate.adapter.simulation === undefined) return yield* askWithin(candidate, ask, begin)
      return { _tag: "replied", reply: yield* callSafely(() => candidate.adapter.ask(ask), candidate, ask) }
    }),
    callSafely,
    refresh
  }
})

const unreadable: CarrierReply = { kind: "unavailable", reason: "unreadable_answer" }
const failed: CarrierReply = { kind: "unavailable", reason: "carrier_error" }
const late: CarrierReply = { kind: "unavailable", reason: "timeout" }
const closed: CarrierReply = { kind: "unavailable", reason: "maintenance" }
const notNow: CarrierRefresh = { kind: "unavailable", reason: "carrier_error" }

/** Checks that an adapter, which is foreign code, returned a valid reply. If not, that is logged and it is unavailable. */
export const checkedReply = (reply: CarrierReply): Effect.Effect<CarrierReply> =>
  validOr(reply, BrokenRule.ofReply(reply), unreadable)

/** Logs that an adapter has found out itself that there is no answer. The engine cannot know why. */
export const logUnavailable = (reply: CarrierReply): Effect.Effect<void> =>
  BrokenRule.ofReply(reply).length === 0 && reply.kind === "unavailable"
    ? Effect.annotateLogs(Effect.logWarning("A carrier's adapter says that there is no answer"), {
        reason: reply.reason
      })
    : Effect.void

const validOr = <A>(answer: A, broken: ReadonlyArray<BrokenRule.BrokenRule>, otherwise: A): Effect.Effect<A> =>
  broken.length === 0 ? Effect.succeed(answer) : Effect.as(BrokenRule.log(broken), otherwise)

/** Where a person goes on with an offer; null if nowhere. */
export interface Handoff {
  readonly url: string | null
}

/**
 * Asks the adapter's `handoff` for a fresh link at the click; null if there is none to be had: the adapter has no `handoff`,
 * is in maintenance, fails or takes too long, or the link breaks a rule. The last three are logged.
 */
export const handoff = (
  { adapter, line }: Candidate,
  ask: CarrierAsk,
  offer_ref: string
): Effect.Effect<Handoff | null> => {
  if (adapter.handoff === undefined) return Effect.succeed(null)
  return Draft.watched(
    ask,
    (found) => ({ kind: found === null ? "unavailable" : "link" }),
    Effect.suspend(() => adapter.handoff?.(ask, offer_ref) ?? Effect.succeed(null)).pipe(
      Effect.flatMap((url) => validOr({ url }, brokenHandoff(url, adapter.handoff_hosts), null)),
      Effect.timeoutOrElse({ duration: attemptMs(line), orElse: () => noLink("A carrier gave no link in time") }),
      orIfThrown(null),
      unlessClosed(line, null)
    )
  )
}

const noLink = (why: string): Effect.Effect<null> => Effect.as(Effect.logWarning(why), null)

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

/** How long to wait before the only repeat of an ask: half a second plus a random time of up to a second. */
export const repeatPause: Effect.Effect<number> = Random.nextIntBetween(500, 1_500)

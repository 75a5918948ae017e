import { Clock, Effect, Exit } from "effect"
import type { Environment } from "../../access/Caller.ts"
import type { StorageUnavailable } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import type { CarrierAsk, CarrierLine } from "../Carrier.ts"
import type { Candidate } from "../Eligibility.ts"
import * as Draft from "../recorder/Draft.ts"
import * as CarrierHealth from "./CarrierHealth.ts"
import * as SharedHealth from "./SharedHealth.ts"

/** A call to a carrier's adapter: for which ask and which workspace. */
export interface CallToCarrier {
  readonly workspace_id: WorkspaceId
  readonly candidate: Candidate
  readonly ask: CarrierAsk
}

/** Where calls to a carrier are counted: each line has its own limits and circuit. */
export interface Place {
  readonly workspace_id: WorkspaceId
  readonly candidate: Candidate
  readonly line: string
  readonly environment: Environment
}

/** A call that was made, or one for which the carrier's limits leave no room now. */
export type Limited<A> = { readonly _tag: "made"; readonly value: A } | NoRoom

/** When to retry a call for which there was no room. */
export interface NoRoom {
  readonly _tag: "no_room"
  readonly again_after_ms: number
}

/** What a result says about the carrier; null if nothing. */
export type Outcome = CarrierHealth.AskOutcome | null

/**
 * Keeps the calls of all hosts to a carrier within its per-minute and concurrency limits, and keeps its circuit.
 *
 * The counts are one stored record for each line of a carrier, or for each line of a connection if it has connections.
 * A call updates the record when it begins and when it ends; simultaneous updates on this host share a change. Nothing
 * waits for room here: a call without room is not made.
 */
export interface CarrierLimits {
  /** The open circuit that currently blocks asks, in real time; null if none does. */
  readonly openCircuit: (place: Place) => Effect.Effect<CarrierHealth.OpenCircuit | null, StorageUnavailable>
  /**
   * Makes a call if there is room for it. With `outcomeOf`, the call is an ask, whose result counts for the circuit.
   */
  readonly ifRoom: <A, E>(
    of: CallToCarrier,
    call: Effect.Effect<A, E>,
    outcomeOf?: (value: A) => Outcome
  ) => Effect.Effect<Limited<A>, E | StorageUnavailable>
  /** Makes a call even beyond the limits, and counts it if storage is reachable. */
  readonly counted: <A, E>(of: CallToCarrier, call: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

/**
 * How long a call waits while others use up a carrier's `max_concurrent`: a fraction of its typical latency. Every
 * retry loads the request again, so slow carriers are retried less often.
 */
const waitForRoom = (typicalMs: number): number => Math.min(2_000, Math.max(250, Math.round(typicalMs / 4)))
/** The limits on a storage, shared by all its hosts. */
export const make = Effect.gen(function* () {
  const { read, apply } = yield* SharedHealth.make

  const begin = (of: CallToCarrier, how: { readonly is_ask: boolean; readonly ignores_limits: boolean }) =>
    apply(subjectOf(placeOf(of)), { type: "begin", limits: of.candidate.line, ...how })

  /** If storage is unreachable, the call counts as ended after a while. */
  const end = (of: CallToCarrier, permit: CarrierHealth.Permit | null, outcome: Outcome) =>
    permit === null
      ? Effect.void
      : apply(subjectOf(placeOf(of)), { type: "end", permit, outcome }).pipe(
          Effect.tap(({ change }) => (change === null ? Effect.void : Draft.note((draft) => draft.changed(change)))),
          Effect.ignore
        )

  const limits: CarrierLimits = {
    openCircuit: (place) =>
      Effect.flatMap(read(subjectOf(place)), ({ health }) =>
        Effect.map(Clock.currentTimeMillis, (now) => CarrierHealth.blockingCircuit(health, now))
      ),
    ifRoom: <A, E>(of: CallToCarrier, call: Effect.Effect<A, E>, outcomeOf?: (value: A) => Outcome) =>
      Effect.acquireUseRelease(
        begin(of, { is_ask: outcomeOf !== undefined, ignores_limits: false }),
        ({ health, permit }): Effect.Effect<Limited<A>, E> =>
          permit === null ? noRoom(health, of.candidate.line) : Effect.map(call, (value) => ({ _tag: "made", value })),
        ({ permit }, exit) => {
          const isMade = Exit.isSuccess(exit) && exit.value._tag === "made"
          return end(of, permit, isMade ? (outcomeOf?.(exit.value.value) ?? null) : null)
        }
      ),
    counted: (of, call) =>
      Effect.acquireUseRelease(
        Effect.orElseSucceed(begin(of, { is_ask: false, ignores_limits: true }), () => ({ permit: null })),
        () => call,
        ({ permit }) => end(of, permit, null)
      )
  }
  return limits
})

const noRoom = (health: CarrierHealth.CarrierHealth, line: CarrierLine): Effect.Effect<NoRoom> =>
  Effect.map(Clock.currentTimeMillis, (now) => ({
    _tag: "no_room",
    again_after_ms: Math.max(waitForRoom(line.typical_ms), CarrierHealth.retryAfter(health, line, now))
  }))

const placeOf = ({ ask: { environment, line }, candidate, workspace_id }: CallToCarrier): Place => ({
  workspace_id,
  candidate,
  line,
  environment
})

const subjectOf = ({ candidate: { adapter }, environment, line, workspace_id }: Place): SharedHealth.Subject =>
  SharedHealth.subjectOf(adapter, { environment, line, workspace_id })

import { Clock, Effect, Exit } from "effect"
import type { Environment } from "../../access/Caller.ts"
import type { StorageUnavailable } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import type { CarrierAsk, CarrierLine } from "../Carrier.ts"
import type { Candidate } from "../Eligibility.ts"
import * as Draft from "../recorder/Draft.ts"
import * as CarrierHealth from "./CarrierHealth.ts"
import * as SharedHealth from "./SharedHealth.ts"

/** A call to a carrier's adapter: about which ask, and for which workspace. */
export interface CallToCarrier {
  readonly workspace_id: WorkspaceId
  readonly candidate: Candidate
  readonly ask: CarrierAsk
}

/** Where calls to a carrier are counted: limits and circuits hold for each of its lines. */
export interface Place {
  readonly workspace_id: WorkspaceId
  readonly candidate: Candidate
  readonly line: string
  readonly environment: Environment
}

/** A call that was made, or for which the carrier's limits leave no room now. */
export type Limited<A> = { readonly _tag: "made"; readonly value: A } | NoRoom

/** When a call for which there was no room may be tried again. */
export interface NoRoom {
  readonly _tag: "no_room"
  readonly again_after_ms: number
}

/** What a result says about the carrier; null if nothing. */
export type Outcome = CarrierHealth.AskOutcome | null

/**
 * Holds the calls of all hosts to a carrier within its limits of calls in a minute and at the same time, and keeps its
 * circuit.
 *
 * The counts are one stored record for each line of a carrier; with connections, for each line of a connection. A call updates
 * it when it begins and when it ends; updates of this host at the same time share a change. Nothing waits for room here: a call
 * without room is not made.
 */
export interface CarrierLimits {
  /** The open circuit that blocks asks now, in real time; null if none does. */
  readonly openCircuit: (place: Place) => Effect.Effect<CarrierHealth.OpenCircuit | null, StorageUnavailable>
  /** Makes a call if there is room for it. With `outcomeOf` it is an ask, whose result counts for the circuit. */
  readonly ifRoom: <A, E>(
    of: CallToCarrier,
    call: Effect.Effect<A, E>,
    outcomeOf?: (value: A) => Outcome
  ) => Effect.Effect<Limited<A>, E | StorageUnavailable>
  /** Makes a call even beyond the limits, and counts it if storage can be reached. */
  readonly counted: <A, E>(of: CallToCarrier, call: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

/**
 * How long a call waits while others fill a carrier's `max_concurrent`: a share of what an answer typically takes. Every
 * try loads the request again, so slow carriers are tried less often.
 */
const waitForRoom = (typicalMs: number): number => Math.min(2_000, Math.max(250, Math.round(typicalMs / 4)))
/** The limits on a storage, which all its hosts share. */
export const make = Effect.gen(function* () {
  const { read, apply } = yield* SharedHealth.make

  const begin = (of: CallToCarrier, how: { readonly is_ask: boolean; readonly ignores_limits: boolean }) =>
    apply(subjectOf(placeOf(of)), { type: "begin", limits: of.candidate.line, ...how })

  /** If storage cannot be reached, the call counts as ended after a while. */
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

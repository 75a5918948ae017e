import { Clock, Effect } from "effect"
import { BoundedMap } from "../concurrency/BoundedMap.ts"
import { directoryWorkspace } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import type { CarrierAsk } from "./Carrier.ts"
import * as CarrierHealth from "./CarrierHealth.ts"
import type { Candidate } from "./Eligibility.ts"

/** A call to a carrier's adapter: about which ask, and for which workspace. */
export interface CallToCarrier {
  readonly workspace_id: WorkspaceId
  readonly candidate: Candidate
  readonly ask: CarrierAsk
}

/** What limits and circuits hold for: a carrier's line, or one connection to it. */
export interface Subject {
  /** The workspace of the connection; `directoryWorkspace` if the carrier has no connections. */
  readonly workspace_id: WorkspaceId
  /** The carrier and the line. */
  readonly name: string
}

/**
 * What the limits of a line hold for. A carrier with connections counts each agency's calls for itself. A connection belongs
 * to an organization in one environment, which is a workspace.
 */
export const subjectOf = (workspace_id: WorkspaceId, { adapter }: Candidate, line: string): Subject => ({
  workspace_id: adapter.connection === undefined ? directoryWorkspace : workspace_id,
  name: `${adapter.carrier.id} ${line}`
})

/** The text by which a subject is kept in maps. */
export const keyOf = ({ name, workspace_id }: Subject): string => `${workspace_id} ${name}`

/** A call that was made, or for which the carrier's limits leave no room now. */
export type Limited<A> = { readonly _tag: "made"; readonly value: A } | NoRoom

/** When a call for which there was no room may be tried again. */
export interface NoRoom {
  readonly _tag: "no_room"
  readonly again_after_ms: number
}

/**
 * Holds calls to carriers within their limits of calls in a minute and at the same time.
 *
 * Nothing waits here: a call without room is not made. Fictional carriers have no limits.
 */
export interface CarrierLimits {
  /** Makes a call if there is room for it. */
  readonly ifRoom: <A, E>(of: CallToCarrier, call: Effect.Effect<A, E>) => Effect.Effect<Limited<A>, E>
  /** Makes a call in any case, and counts it. */
  readonly counted: <A, E>(of: CallToCarrier, call: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

/** The shortest wait before a call without room is tried again. */
const no_room_ms = 250
/** How many subjects are remembered. Beyond that the oldest is forgotten, and starts with a full allowance. */
const max_subjects = 100_000

/** The limits as this process counts them. */
export const make: Effect.Effect<CarrierLimits> = Effect.sync(() => {
  const healths = new BoundedMap<string, CarrierHealth.CarrierHealth>(max_subjects)
  const healthOf = (key: string) => healths.get(key) ?? CarrierHealth.unknown

  const keyOfCall = ({ ask, candidate, workspace_id }: CallToCarrier) =>
    keyOf(subjectOf(workspace_id, candidate, ask.line))

  const begin = (key: string) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      healths.set(key, CarrierHealth.afterBegin(healthOf(key), now))
    })
  const end = (key: string) => Effect.sync(() => healths.set(key, CarrierHealth.afterEnd(healthOf(key))))

  /** Takes room for a call; null if it has it. */
  const take = (key: string, limits: CarrierHealth.RateAndConcurrency): Effect.Effect<NoRoom | null> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      CarrierHealth.hasRoom(healthOf(key), limits, now)
        ? Effect.as(begin(key), null)
        : Effect.succeed({
            _tag: "no_room",
            again_after_ms: Math.max(no_room_ms, CarrierHealth.retryAfter(healthOf(key), limits, now))
          })
    )

  return {
    ifRoom: <A, E>(of: CallToCarrier, call: Effect.Effect<A, E>) => {
      const made = Effect.map(call, (value): Limited<A> => ({ _tag: "made", value }))
      if (isFictional(of)) return made
      const key = keyOfCall(of)
      return Effect.acquireUseRelease(
        take(key, of.candidate.line),
        (refused) => (refused === null ? made : Effect.succeed(refused)),
        (refused) => (refused === null ? end(key) : Effect.void)
      )
    },
    counted: (of, call) => {
      if (isFictional(of)) return call
      const key = keyOfCall(of)
      return Effect.acquireUseRelease(
        begin(key),
        () => call,
        () => end(key)
      )
    }
  }
})

const isFictional = ({ candidate }: CallToCarrier): boolean => candidate.adapter.simulation !== undefined

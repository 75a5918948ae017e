import { Effect } from "effect"
import { Workspaces } from "../access/Workspaces.ts"
import type { CarrierName } from "../carriers/Carrier.ts"
import * as QuoteRequest from "../quoting/QuoteRequest.ts"
import * as ClockHold from "../runner/ClockHold.ts"
import * as JobPayload from "../runner/JobPayload.ts"
import { type LaneJob, readOne, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"

/** How far a sandbox's clock may be moved, and what holds it. Times are milliseconds of workspace time. */
export interface Hold {
  readonly now: number
  /** The latest time to which the clock may be moved. */
  readonly reach: number
  /** When the first call that holds the clock is due. */
  readonly first_due_at: number
  /** The carriers that the clock is waiting for, each listed once. */
  readonly carriers: ReadonlyArray<CarrierName>
}

/** Whether the clock cannot be moved now. */
export const isHeld = ({ now, reach }: Hold): boolean => reach <= now

/**
 * The maximum number of calls to read. If there are more, the clock is not moved beyond the last call that was read.
 */
const maxCalls = 100

/** A call that a request still waits for. `carrier` is null for the refresh of an offer. */
interface AwaitedCall {
  readonly job: LaneJob
  readonly carrier: CarrierName | null
}

/** Makes a function that reads what holds a sandbox's clock. */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces

  const awaited = Effect.fnUntraced(function* (
    workspace_id: WorkspaceId,
    job: LaneJob
  ): Effect.fn.Return<AwaitedCall | null, StorageUnavailable> {
    const carrierId = JobPayload.carrierOf(job)
    if (carrierId === null) return { job, carrier: null }
    const request = yield* readOne(storage, QuoteRequest.kind, workspace_id, carrierId.quote_request_id)
    if (request === null) return null
    const result = request.carriers.find(({ carrier }) => carrier.id === carrierId.carrier_id)
    return result !== undefined && QuoteRequest.isPending(request, carrierId.carrier_id)
      ? { job, carrier: result.carrier }
      : null
  })

  return Effect.fnUntraced(function* (workspace_id: WorkspaceId) {
    const jobs = yield* storage.lane({ workspace_id, lane: ClockHold.lane.name, limit: maxCalls })
    const awaitedCalls = yield* Effect.forEach(jobs, (job) => awaited(workspace_id, job), { concurrency: "unbounded" })
    const calls = awaitedCalls.filter((call) => call !== null)
    const { now } = yield* workspaces.moment(workspace_id)
    const seenUntil = jobs.length < maxCalls ? Number.POSITIVE_INFINITY : Math.max(now, jobs.at(-1)?.due_at ?? now)
    const carriers = new Map(calls.flatMap(({ carrier }) => (carrier === null ? [] : [[carrier.id, carrier]])))
    const hold: Hold = {
      now,
      reach: Math.min(
        seenUntil,
        ClockHold.reach(
          calls.map(({ job }) => job),
          now
        )
      ),
      first_due_at: calls.reduce((earliest, { job }) => Math.min(earliest, job.due_at), Number.POSITIVE_INFINITY),
      carriers: [...carriers.values()]
    }
    return hold
  })
})

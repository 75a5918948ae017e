import { Effect } from "effect"
import * as ClockHold from "../../runner/ClockHold.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import { Storage } from "../../storage/Storage.ts"
import type { QuoteRequestId, WorkspaceId } from "../../wire/Ids.ts"

/**
 * Makes a function that returns the IDs of the real carriers in a sandbox request for which no host ever claimed the
 * first ask.
 *
 * An advance of the clock closes a request at its deadline even if no host runs jobs. After the deadline, these
 * carriers are no longer asked.
 */
export const make = Effect.map(
  Storage,
  (storage) => (workspace_id: WorkspaceId, quoteRequestId: QuoteRequestId) =>
    Effect.map(storage.lane({ workspace_id, lane: ClockHold.lane.name, limit: ClockHold.lane.limit }), (jobs) => {
      const asks = jobs.flatMap((job) =>
        job.kind === "ask_carrier" && job.lease === 0 ? [JobPayload.read(job, "ask_carrier")] : []
      )
      const first = asks.filter((ask) => ask.quote_request_id === quoteRequestId && ask.attempt === 1)
      return new Set(first.map(({ carrier_id }) => carrier_id))
    })
)

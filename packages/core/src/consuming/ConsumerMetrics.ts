import { Effect, Metric } from "effect"
import { BoundedMap } from "../concurrency/BoundedMap.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { minuteMs, secondMs } from "../wire/Timestamp.ts"

/*
 * The metrics of consumers.
 */

const parkedEvents = Metric.counter("quotewire_consumer_parked_events_total", {
  description: "Events that this process has parked after too many failures, by consumer.",
  incremental: true
})

const lagSeconds = Metric.gauge("quotewire_consumer_lag_seconds", {
  description: "The age of the oldest event that this process has read and not handled yet, by consumer."
})

/** Counts a parked event. */
export const countParked = (consumer: string): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(parkedEvents, { consumer }), 1)

/** How far the consumer was behind in a workspace when this process last looked. */
interface LagReading {
  readonly lag_ms: number
  /** When this process last looked at the workspace, in milliseconds of real time. */
  readonly at: number
}

const maxWorkspaces = 1_000
/**
 * A workspace's lag is dropped if this process has not looked at the workspace for this long, because another process
 * handles the workspace now. This is longer than any default pause.
 */
const forgottenAfterMs = 2 * minuteMs

/** Keeps the greatest lag of a consumer as a metric. */
export interface Lag {
  /** Notes how far the consumer is behind in a workspace, in milliseconds of workspace time; 0 if no event is left. */
  readonly note: (workspace_id: WorkspaceId, lag_ms: number, now: number) => Effect.Effect<void>
}

/** Makes the lag metric for a consumer that has not read anything yet. */
export const makeLag = (consumer: string): Lag => {
  const workspaces = new BoundedMap<WorkspaceId, LagReading>(maxWorkspaces)
  const gauge = Metric.withAttributes(lagSeconds, { consumer })
  return {
    note: (workspace_id, lag_ms, now) =>
      Effect.suspend(() => {
        if (lag_ms > 0) workspaces.set(workspace_id, { lag_ms, at: now })
        else workspaces.delete(workspace_id)
        let greatest = 0
        for (const [id, lastLook] of workspaces.entries()) {
          if (now - lastLook.at > forgottenAfterMs) workspaces.delete(id)
          else greatest = Math.max(greatest, lastLook.lag_ms)
        }
        return Metric.update(gauge, greatest / secondMs)
      })
  }
}

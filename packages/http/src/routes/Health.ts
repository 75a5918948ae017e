import { ApiError } from "@quotewire/core"
import { Effect } from "effect"
import type { Answer } from "../host/Answer.ts"
import * as Route from "../host/Route.ts"

/** Whether calls for a cell's workspaces can be handled now. */
export interface CellReadiness {
  readonly name: string
  readonly ready: boolean
}

/**
 * Health checks for process supervisors and load balancers.
 *
 * `/health/live` succeeds as long as the process responds. `/health/ready` evaluates `ready` and returns
 * `service_unavailable` unless it is true; if `ready` is a string, it becomes the message. The response's
 * `environments` lists the environments that have carriers: if `live` is missing, live calls get no quotes. `cells`
 * lists the storage's cells, if it has any, and says whether each is usable.
 */
export const routes = <R>(
  ready: Effect.Effect<boolean | string, never, R>,
  environments: Effect.Effect<ReadonlyArray<string>, never, R> | null,
  cells: Effect.Effect<ReadonlyArray<CellReadiness>, never, R> = Effect.succeed([])
): ReadonlyArray<Route.Route<R>> => {
  const details = Effect.gen(function* () {
    const cellStates = yield* cells
    return {
      ...(environments !== null && { environments: yield* environments }),
      ...(cellStates.length > 0 && { cells: cellStates })
    }
  })
  return [
    Route.make("GET", "/health/live", () => Effect.succeed(says({ status: "live" }))),
    Route.make("GET", "/health/ready", () =>
      Effect.flatMap(ready, (isReady) =>
        isReady === true
          ? Effect.map(details, (extraFields) => says({ status: "ready", ...extraFields }))
          : notReady(isReady)
      )
    )
  ]
}

const says = (state: { readonly status: string }): Answer => ({
  status: 200,
  headers: { "content-type": "application/json", "cache-control": "no-store" },
  body: JSON.stringify(state)
})

const notReady = (reason: string | false) =>
  Effect.fail(
    ApiError.make("service_unavailable", { retry_after_seconds: 5, ...(reason !== false && { message: reason }) })
  )

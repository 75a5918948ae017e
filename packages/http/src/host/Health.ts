import { ApiError } from "@quotewire/core"
import { Effect } from "effect"
import type { Answer } from "./Answer.ts"
import * as Route from "./Route.ts"

/**
 * What a process supervisor and a load balancer ask.
 *
 * `/health/live` answers as long as the process does; `/health/ready` asks `ready`, and refuses with
 * `service_unavailable` unless it says true. A sentence that says why not becomes the message.
 */
export const routes = <R>(ready: Effect.Effect<boolean | string, never, R>): ReadonlyArray<Route.Route<R>> => [
  Route.make("GET", "/health/live", () => Effect.succeed(says("live"))),
  Route.make("GET", "/health/ready", () =>
    Effect.flatMap(ready, (isReady) => (isReady === true ? Effect.succeed(says("ready")) : notReady(isReady)))
  )
]

const says = (status: string): Answer => ({
  status: 200,
  headers: { "content-type": "application/json", "cache-control": "no-store" },
  body: JSON.stringify({ status })
})

const notReady = (why: string | false) =>
  Effect.fail(ApiError.make("service_unavailable", { retry_after_seconds: 5, ...(why !== false && { message: why }) }))

import { Pipeline } from "@quotewire/core"
import type { Match, Paths } from "./Paths.ts"
import * as RequestInfo from "./RequestInfo.ts"
import type { Incoming, Route } from "./Route.ts"

/**
 * The route name in the request log if no path matched. The path itself is not logged, because it may contain anything.
 */
const unknownRoute = "*"

const methods = ["GET", "POST", "PATCH", "DELETE", "PUT"]

/**
 * Refuses a request without a route.
 *
 * If the key is valid, the request counts toward the rate limit and is logged. If only the method is wrong, the log
 * shows the route's path.
 */
export const match = <R>(paths: Paths<Route<R>>, path: string): Match<Handles> => {
  const otherMatch = methods.map((method) => paths.find(method, path)).find((candidate) => candidate !== null)
  const route = otherMatch === undefined ? unknownRoute : Pipeline.loggedPath(otherMatch.value.path)
  const handle = (incoming: Incoming) => {
    const transport = RequestInfo.transport(incoming, route)
    const { request_id } = incoming
    return Pipeline.refuseUnrouted({ request_id, credentials: RequestInfo.credentialsOf(incoming), transport })
  }
  return { params: {}, value: { name: unknownRoute, cors: false, handle } }
}

type Handles = Pick<Route<Pipeline.PipelineServices>, "name" | "cors" | "handle">

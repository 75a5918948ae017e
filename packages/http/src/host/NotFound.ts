import { Pipeline } from "@quotewire/core"
import type { Match, Paths } from "./Paths.ts"
import * as RequestInfo from "./RequestInfo.ts"
import type { Incoming, Route } from "./Route.ts"

/** The route in the request log if no path matched. The sent path is not logged, because it may contain anything. */
const unknownRoute = "*"

const methods = ["GET", "POST", "PATCH", "DELETE", "PUT"]

/**
 * Refuses a request without a route.
 *
 * With a valid key, the request counts toward the rate limit and is logged: under the path of its route if only the
 * method is wrong.
 */
export const match = <R>(paths: Paths<Route<R>>, path: string): Match<Handles> => {
  const other = methods.map((method) => paths.find(method, path)).find((found) => found !== null)
  const route = other === undefined ? unknownRoute : Pipeline.loggedPath(other.value.path)
  const handle = (incoming: Incoming) => {
    const transport = RequestInfo.transport(incoming, route)
    return Pipeline.refuseUnrouted({ ...RequestInfo.of(incoming, transport), transport })
  }
  return { params: {}, value: { name: unknownRoute, cors: false, handle } }
}

type Handles = Pick<Route<Pipeline.PipelineServices>, "name" | "cors" | "handle">

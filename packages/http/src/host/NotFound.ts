import { Pipeline } from "@quotewire/core"
import type { Match, Paths } from "./Paths.ts"
import * as RequestInfo from "./RequestInfo.ts"
import type { Incoming, Route } from "./Route.ts"

/** The route of the request log where no path was matched: what was sent may carry anything, so it is not repeated. */
const unknown_route = "*"

const methods = ["GET", "POST", "PATCH", "DELETE", "PUT"]

/** Refuses a request that fits no route; one with a valid key pays and is noted, under the path that it fits but for its method. */
export const match = <R>(paths: Paths<Route<R>>, path: string): Match<Handles> => {
  const other = methods.map((method) => paths.find(method, path)).find((found) => found !== null)
  const route = other === undefined ? unknown_route : Pipeline.loggedPath(other.value.path)
  const handle = (incoming: Incoming) => {
    const via = RequestInfo.via(incoming, route)
    return Pipeline.refuseUnrouted({ ...RequestInfo.of(incoming, via), via })
  }
  return { params: {}, value: { name: unknown_route, cors: false, handle } }
}

type Handles = Pick<Route<Pipeline.PipelineServices>, "name" | "cors" | "handle">

import { ApiError, Operation } from "@quotewire/core"
import { Effect } from "effect"
import * as Called from "./Called.ts"
import type { Match, Paths } from "./Paths.ts"
import type { Incoming, Route } from "./Route.ts"

/** The route of the request log where no path was matched: what was sent may carry anything, so it is not repeated. */
const unknown_route = "*"

const methods = ["GET", "POST", "PATCH", "DELETE", "PUT"]

/** Refuses a request that fits no route; one with a valid key is noted, under the path that it fits but for its method. */
export const match = <R>(paths: Paths<Route<R>>, path: string): Match<Handles> => {
  const other = methods.map((method) => paths.find(method, path)).find((found) => found !== null)
  const route = other === undefined ? unknown_route : Operation.loggedPath(other.value.path)
  const handle = (incoming: Incoming) => Effect.andThen(note(incoming, route), notFound)
  return { params: {}, value: { name: unknown_route, cors: false, handle } }
}

type Handles = Pick<Route<Operation.PipelineServices>, "name" | "cors" | "handle">

const note = (incoming: Incoming, route: string): Effect.Effect<void, never, Operation.PipelineServices> => {
  if (incoming.headers.authorization === undefined) return Effect.void
  const via = Called.via(incoming, route)
  const { credentials, request_id } = Called.of(incoming, via)
  return Operation.note({ request_id, credentials, via: { ...via, status: 404 }, error_code: "not_found" })
}

const notFound = Effect.fail(ApiError.make("not_found"))

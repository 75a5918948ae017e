import type { IncomingHttpHeaders } from "node:http"
import type { FinishedCall, Pipeline } from "@quotewire/core"
import * as Bearer from "./Bearer.ts"
import type { Incoming } from "./Route.ts"

/** Makes everything of a `Pipeline.Request` but its input: the caller, the transport and the revision. */
export const of = (incoming: Incoming, transport: FinishedCall.Transport): Omit<Pipeline.Request, "input"> => ({
  request_id: incoming.request_id,
  credentials: {
    key: Bearer.key(incoming.headers.authorization),
    read_handle: header(incoming.headers, "read-handle"),
    address: incoming.address,
    keyless: false
  },
  revision: { header: header(incoming.headers, "service-version") },
  idempotency_key: header(incoming.headers, "idempotency-key"),
  transport
})

/** How a request reached a route: the pattern of its path with `{id}` in place of each identifier, never the path. */
export const transport = (incoming: Incoming, route: string): FinishedCall.Transport => ({
  method: incoming.method,
  route,
  status: null,
  user_agent: incoming.headers["user-agent"] ?? null,
  client_name: null,
  client_version: null
})

/**
 * Transports of requests to one route, cached.
 *
 * Programs call repeatedly. A call that looks like the one before shares its object, which the request log keeps.
 */
export const cachedTransports = (route: string): ((incoming: Incoming) => FinishedCall.Transport) => {
  let last: FinishedCall.Transport | null = null
  return (incoming) => {
    const user_agent = incoming.headers["user-agent"] ?? null
    if (last === null || last.method !== incoming.method || last.user_agent !== user_agent)
      last = transport(incoming, route)
    return last
  }
}

/** The text of a header. A repeated header is joined by commas, and so is not valid. */
export const header = (headers: IncomingHttpHeaders, name: string): string | null => {
  const value = headers[name]
  return typeof value === "string" ? value : null
}

import type { IncomingMessage } from "node:http"
import * as Answer from "./Answer.ts"
import type { Paths } from "./Paths.ts"
import type { Route } from "./Route.ts"

/** What a page of another origin may read of an answer. */
const exposed = "Request-Id, Service-Version, Location, Retry-After, Idempotent-Replayed"
const allowed = "Authorization, Content-Type, Idempotency-Key, Read-Handle, Service-Version"

/** Lets pages of the allowed origins call those routes that are made for browsers (a setting; no origin by default). */
export interface Cors {
  /** The headers that an answer of this route needs. */
  readonly headers: (request: IncomingMessage, isOpen: boolean) => Readonly<Record<string, string>>
  /** Answers a preflight; null where it is none, or its origin or route is not open. */
  readonly preflight: (request: IncomingMessage, path: string) => Answer.Answer | null
}

/** Allows these origins, as browsers write them; `*` allows every origin. */
export const make = <R>(origins: ReadonlyArray<string>, paths: Paths<Route<R>>): Cors => {
  const isAllowed = (origin: string | undefined): origin is string =>
    origin !== undefined && (origins.includes("*") || origins.includes(origin))
  return {
    headers: (request, isOpen) => {
      const origin = request.headers.origin
      if (!isOpen || origins.length === 0) return none
      if (!isAllowed(origin)) return { vary: "Origin" }
      return { vary: "Origin", "access-control-allow-origin": origin, "access-control-expose-headers": exposed }
    },
    preflight: (request, path) => {
      const origin = request.headers.origin
      const method = request.headers["access-control-request-method"]
      if (request.method !== "OPTIONS" || method === undefined || !isAllowed(origin)) return null
      if (paths.find(method, path)?.value.cors !== true) return null
      return Answer.empty(204, {
        vary: "Origin",
        "access-control-allow-origin": origin,
        "access-control-allow-methods": method,
        "access-control-allow-headers": allowed,
        "access-control-max-age": "600"
      })
    }
  }
}

const none: Readonly<Record<string, string>> = {}

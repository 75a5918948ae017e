import * as Answer from "./Answer.ts"
import type { Paths } from "./Paths.ts"
import type { Header, Route } from "./Route.ts"

/** The origins whose web pages may send requests. Browsers send an origin; other programs do not. */
export interface Origins {
  /** Origins such as `https://agent.example`. */
  readonly allowed: ReadonlyArray<string>
  /** Whether pages served by this machine, on any port, may send requests. For sandboxes on the loopback address. */
  readonly loopback: boolean
}

/** Whether a page from this origin may send requests. */
export const isAllowed = ({ allowed, loopback }: Origins, origin: string): boolean =>
  allowed.includes(origin) || (loopback && isLoopback(origin))

const isLoopback = (origin: string): boolean =>
  /^https?:\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/.test(origin)

/**
 * The headers that let a page from this origin read a response. `exposed` lists the response headers that the page may
 * read.
 */
export const readableBy = (origin: string, exposed: string): Readonly<Record<string, string>> => ({
  ...allowing(origin),
  "access-control-expose-headers": exposed
})

/** The headers of a preflight's response, which list the allowed methods and request headers. */
export const permitting = (methods: string, headers: string): Readonly<Record<string, string>> => ({
  "access-control-allow-methods": methods,
  "access-control-allow-headers": headers,
  "access-control-max-age": "600"
})

const allowing = (origin: string) => ({ vary: "Origin", "access-control-allow-origin": origin })

/** The response headers that pages from other origins may read. */
const exposedHeaders = "Request-Id, Service-Version, Location, Retry-After, Idempotent-Replayed"
const allowedHeaders = "Authorization, Content-Type, Idempotency-Key, Read-Handle, Service-Version"

/**
 * Lets web pages from the allowed origins call the routes that are meant for browsers. By default no origin is allowed.
 */
export interface Cors {
  /** The CORS headers for a response of this route. */
  readonly headers: (sent: Header, isOpen: boolean) => Readonly<Record<string, string>>
  /** Responds to a preflight request; null for any other request, or if the origin or route is not allowed. */
  readonly preflight: (method: string, path: string, sent: Header) => Answer.Answer | null
}

/**
 * Creates the rules for these origins. There must be at least one origin, spelled as browsers spell it. `*` allows
 * every origin.
 */
export const make = <R>(origins: ReadonlyArray<string>, paths: Paths<Route<R>>): Cors => {
  const isOpenTo = (origin: string | null): origin is string =>
    origin !== null && (origins.includes("*") || isAllowed({ allowed: origins, loopback: false }, origin))
  return {
    headers: (requestHeader, isOpen) => {
      if (!isOpen) return none
      const origin = requestHeader("origin")
      return isOpenTo(origin) ? readableBy(origin, exposedHeaders) : { vary: "Origin" }
    },
    preflight: (method, path, requestHeader) => {
      if (method !== "OPTIONS") return null
      const origin = requestHeader("origin")
      const requestedMethod = requestHeader("access-control-request-method")
      if (requestedMethod === null || !isOpenTo(origin)) return null
      if (paths.find(requestedMethod, path)?.value.cors !== true) return null
      return Answer.empty(204, { ...allowing(origin), ...permitting(requestedMethod, allowedHeaders) })
    }
  }
}

const none: Readonly<Record<string, string>> = {}

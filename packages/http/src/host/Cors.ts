import type { IncomingMessage } from "node:http"
import * as Answer from "./Answer.ts"
import type { Paths } from "./Paths.ts"
import type { Route } from "./Route.ts"

/** The web pages that may call: browsers send their origin, other programs send none. */
export interface Origins {
  /** Origins such as `https://agent.example`. */
  readonly allowed: ReadonlyArray<string>
  /** Whether pages of this machine may call, at any port: for a sandbox that listens at the loopback address. */
  readonly loopback: boolean
}

/** Whether a page of this origin may call. */
export const isAllowed = ({ allowed, loopback }: Origins, origin: string): boolean =>
  allowed.includes(origin) || (loopback && isLoopback(origin))

const isLoopback = (origin: string): boolean =>
  /^https?:\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/.test(origin)

/** The headers that let a page of this origin read an answer; `exposed` are the headers of it that it may read. */
export const readableBy = (origin: string, exposed: string): Readonly<Record<string, string>> => ({
  ...allowing(origin),
  "access-control-expose-headers": exposed
})

/** What a browser is told before it lets a page call: the methods, and the headers that the page may send. */
export const permitting = (methods: string, headers: string): Readonly<Record<string, string>> => ({
  "access-control-allow-methods": methods,
  "access-control-allow-headers": headers,
  "access-control-max-age": "600"
})

const allowing = (origin: string) => ({ vary: "Origin", "access-control-allow-origin": origin })

/** What a page of another origin may read of an operation's answer, and what it may send. */
const exposed_headers = "Request-Id, Service-Version, Location, Retry-After, Idempotent-Replayed"
const allowed_headers = "Authorization, Content-Type, Idempotency-Key, Read-Handle, Service-Version"

/** Lets pages of the allowed origins call those routes that are made for browsers (a setting; no origin by default). */
export interface Cors {
  /** The headers that an answer of this route needs. */
  readonly headers: (request: IncomingMessage, isOpen: boolean) => Readonly<Record<string, string>>
  /** Answers a preflight; null where it is none, or its origin or route is not open. */
  readonly preflight: (request: IncomingMessage, path: string) => Answer.Answer | null
}

/** Allows these origins, as browsers write them; `*` allows every origin. */
export const make = <R>(origins: ReadonlyArray<string>, paths: Paths<Route<R>>): Cors => {
  const isOpenTo = (origin: string | undefined): origin is string =>
    origin !== undefined && (origins.includes("*") || isAllowed({ allowed: origins, loopback: false }, origin))
  return {
    headers: (request, isOpen) => {
      const origin = request.headers.origin
      if (!isOpen || origins.length === 0) return none
      return isOpenTo(origin) ? readableBy(origin, exposed_headers) : { vary: "Origin" }
    },
    preflight: (request, path) => {
      const origin = request.headers.origin
      const method = request.headers["access-control-request-method"]
      if (request.method !== "OPTIONS" || method === undefined || !isOpenTo(origin)) return null
      if (paths.find(method, path)?.value.cors !== true) return null
      return Answer.empty(204, { ...allowing(origin), ...permitting(method, allowed_headers) })
    }
  }
}

const none: Readonly<Record<string, string>> = {}

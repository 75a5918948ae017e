import type { ApiError, Ids } from "@quotewire/core"
import type { Effect } from "effect"
import type { Answer } from "./Answer.ts"

/** The headers of a request by lower-case name. */
export type Headers = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

/** Reads a header by its lower-case name; null if it was not sent. Repeated headers are joined with commas. */
export type Header = (name: string) => string | null

/**
 * Reads a body. A body is refused if it is too large, or if too many bytes are arriving at the same time. If the caller
 * disconnects, reading is interrupted.
 */
export type Read = Effect.Effect<Uint8Array, ApiError.ApiError<"request_too_large" | "service_unavailable">>

/** A request as a route receives it. */
export interface Incoming {
  readonly request_id: Ids.RequestId
  /** The method as sent. A `HEAD` request uses the `GET` route. */
  readonly method: string
  /** The decoded value of each `{name}` in the path. */
  readonly params: Readonly<Record<string, string>>
  /** The query string after the `?`, still percent-encoded. */
  readonly query: string
  readonly header: Header
  /** All headers. Use `header` to read a single one, because that is cheaper. */
  readonly headers: Headers
  /** The caller's address for rate limits. */
  readonly address: string
  /** The address of the documentation, without a trailing slash: the base of every `doc_url`. */
  readonly docs_url: string
  /**
   * The path below which callers reach the host, such as `/insurance`, or an empty string. Every `Location` header
   * begins with it.
   */
  readonly public_path: string
  /** Reads the body. A body larger than `max_bytes` is refused with `request_too_large`. */
  readonly read: (max_bytes: number) => Read
  /**
   * Reads the exact bytes of the body, which signatures need. Dies if a parser has already turned the body into an
   * object.
   */
  readonly readRaw: (max_bytes: number) => Read
}

/**
 * A method, a path, and the handler for them.
 *
 * Each operation becomes a route. A host can add its own routes, such as the agent endpoint or carrier callbacks.
 */
export interface Route<out R = never> {
  /** The route's name in metrics and traces: the operation's name, or the path. */
  readonly name: string
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS"
  /** The path, in which `{name}` stands for a parameter. */
  readonly path: string
  /** Whether web pages from the allowed origins may call the route. */
  readonly cors: boolean
  /** Responds to a request. A failure becomes an error envelope. */
  readonly handle: (incoming: Incoming) => Effect.Effect<Answer, ApiError.ApiError, R>
}

/** Creates a route that web pages from other origins cannot call. */
export const make = <R>(
  method: Route<R>["method"],
  path: string,
  handle: (incoming: Incoming) => Effect.Effect<Answer, ApiError.ApiError, R>
): Route<R> => ({ name: path, method, path, cors: false, handle })

import type { IncomingHttpHeaders } from "node:http"
import type { ApiError, Ids } from "@quotewire/core"
import type { Effect } from "effect"
import type { Answer } from "./Answer.ts"

/** A request as a route sees it. */
export interface Incoming {
  readonly request_id: Ids.RequestId
  /** The method as it was sent: a `HEAD` is answered by the route of the `GET`. */
  readonly method: string
  /** What stands in the path in place of each `{name}`, decoded. */
  readonly params: Readonly<Record<string, string>>
  /** The text behind the `?`, still encoded. */
  readonly query: string
  /** Header names are in lower case. */
  readonly headers: IncomingHttpHeaders
  /** The caller's address, as limits count it. */
  readonly address: string
  /** Where the documentation stands, without a slash at the end: `doc_url` of every refusal begins with it. */
  readonly docs_url: string
  /** Reads the body, which may have at most this many bytes; a larger one is refused with `request_too_large`. */
  readonly read: (max_bytes: number) => Effect.Effect<Uint8Array, ApiError.ApiError<"request_too_large">>
  /** Reads the body byte for byte, as signatures need it: one that was parsed by somebody else before will not do. */
  readonly readRaw: (max_bytes: number) => Effect.Effect<Uint8Array, ApiError.ApiError<"request_too_large">>
}

/**
 * One method of one path, and what answers it.
 *
 * The operations become routes; a host can add its own, such as the agent endpoint or a carrier's callbacks.
 */
export interface Route<out R = never> {
  /** What metrics and traces call it: the operation's name, or the path. */
  readonly name: string
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS"
  /** Path with `{name}` in place of a parameter. */
  readonly path: string
  /** Whether pages of the allowed origins may call it from a browser. */
  readonly cors: boolean
  /** Answers a request; a refusal becomes the envelope. */
  readonly handle: (incoming: Incoming) => Effect.Effect<Answer, ApiError.ApiError, R>
}

/** A route that browsers of other origins do not reach. */
export const make = <R>(
  method: Route<R>["method"],
  path: string,
  handle: (incoming: Incoming) => Effect.Effect<Answer, ApiError.ApiError, R>
): Route<R> => ({ name: path, method, path, cors: false, handle })

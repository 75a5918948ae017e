import { Data, type Effect } from "effect"
import type { Headers, HttpClient, HttpClientError, HttpClientRequest } from "effect/http"

/** A carrier's answer, read completely. */
export interface WholeAnswer {
  readonly status: number
  readonly headers: Headers.Headers
  readonly bytes: Uint8Array
}

/** A carrier's answer began, but it could not be read completely. */
export class UnreadAnswer extends Data.TaggedError("UnreadAnswer")<{
  readonly status: number
  readonly headers: Headers.Headers
  /** `too_large`: the body exceeds the limit. `broken`: the connection was lost, or decompression failed. */
  readonly problem: "too_large" | "broken"
  readonly cause?: unknown
}> {}

/** What becomes known about an answer while it is received. Neither function may throw. */
export interface Observer {
  /** Called when the status and the headers have arrived. */
  readonly onHead: (status: number, headers: Headers.Headers) => void
  /** Called once after `onHead`: with the whole body, or with what was received of it when the request ended. */
  readonly onBody: (bytes: Uint8Array) => void
}

/** How an answer is read. */
export interface ReadOptions {
  /** The largest body, in bytes after decompression. */
  readonly max_bytes: number
  readonly observer?: Observer
}

/**
 * Sends a request with a body of bytes or without a body, and reads the whole answer. It sets no timeout, follows no
 * redirects, and closes the connection if it is interrupted.
 */
export type SendWhole = (
  request: HttpClientRequest.HttpClientRequest,
  options: ReadOptions
) => Effect.Effect<WholeAnswer, HttpClientError.HttpClientError | UnreadAnswer>

/** Keeps each client's function outside the client, so that a client that wraps another one never inherits it. */
const senders = new WeakMap<HttpClient.HttpClient, SendWhole>()

/**
 * Gives a client a shorter way for requests whose answers are read completely, as the adapters' HTTP client does. The
 * function must do the same as the client.
 */
export const offer = (client: HttpClient.HttpClient, send: SendWhole): HttpClient.HttpClient => {
  senders.set(client, send)
  return client
}

/** A client's shorter way; undefined if it has none. */
export const sendWholeOf = (client: HttpClient.HttpClient): SendWhole | undefined => senders.get(client)

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import { Effect, Predicate } from "effect"
import type { Answer } from "../host/Answer.ts"
import * as Body from "../host/Body.ts"
import type { Read } from "../host/Route.ts"

/*
 * Reads requests from `node:http`, and sends responses to it.
 */

/**
 * Whether a request announces a non-empty body. In HTTP/2, every request does, unless it has a `content-length` of 0.
 */
export const isAnnounced = ({ headers, httpVersionMajor }: IncomingMessage): boolean =>
  headers["content-length"] === undefined
    ? headers["transfer-encoding"] !== undefined || httpVersionMajor === 2
    : Number(headers["content-length"]) > 0

/** A request's `content-length`; 0 if the header is missing, for example with a chunked body. */
export const announcedBytes = (request: IncomingMessage): number => Number(request.headers["content-length"] ?? 0)

/**
 * Reads a body of at most `limit` bytes.
 *
 * A larger body is refused with `request_too_large`: immediately if its length was announced, otherwise when it exceeds
 * the limit. If the caller disconnects, reading is interrupted. If a body parser ran before, its `request.rawBody` or
 * `request.body` is used. If the parser left neither, the effect dies, because the caller is not at fault.
 */
export const read = (request: IncomingMessage, limit: number, bodies: Body.ArrivingBodies): Read =>
  readWith(request, limit, bodies, { toBytes: serialized, gone: parsedAway })

/**
 * Like `read`, but returns the exact bytes, which signatures need. Dies if a parser has already turned the body into an
 * object.
 */
export const readRaw = (request: IncomingMessage, limit: number, bodies: Body.ArrivingBodies): Read =>
  readWith(request, limit, bodies, { toBytes: rawBytesOf, gone: rawParsedAway })

/** How to use a body that a body parser has already read. */
interface ParsedBodies {
  readonly toBytes: (body: unknown) => Uint8Array | null
  /** Dies, because the parser left nothing that can be used. */
  readonly gone: Effect.Effect<never>
}

const readWith = (
  request: IncomingMessage,
  limit: number,
  bodies: Body.ArrivingBodies,
  { gone, toBytes }: ParsedBodies
): Read =>
  Effect.suspend(() => {
    if (announcedBytes(request) > limit) return Body.tooLarge(limit)
    if (!isAnnounced(request)) return Effect.succeed(Body.nothing)
    if (!request.readableDidRead) return isHere(request) ? whole(request, limit) : arriving(request, limit, bodies)
    const bytes = exact(request) ?? (Predicate.hasProperty(request, "body") ? toBytes(request.body) : null)
    if (bytes === null) return gone
    return bytes.length <= limit ? Effect.succeed(bytes) : Body.tooLarge(limit)
  })

/** The exact bytes that some parsers keep along with the parsed value, such as Nest's with its `rawBody` option. */
const exact = (request: IncomingMessage): Uint8Array | null =>
  Predicate.hasProperty(request, "rawBody") && request.rawBody instanceof Uint8Array ? request.rawBody : null

const rawBytesOf = (body: unknown): Uint8Array | null => {
  if (body instanceof Uint8Array) return body
  return typeof body === "string" ? Buffer.from(body) : null
}

/** Serializes parsed JSON again, so that the rest of the host handles bytes only. */
const serialized = (body: unknown): Uint8Array | null => {
  const raw = rawBytesOf(body)
  if (raw !== null || body === undefined) return raw
  try {
    return Buffer.from(JSON.stringify(body))
  } catch (error) {
    // The JSON is nested so deeply that `JSON.stringify` fails. Return a smaller body that input validation also
    // refuses as too deep.
    return error instanceof RangeError ? deep : null
  }
}

const deep = Buffer.from(`${"[".repeat(100)}${"]".repeat(100)}`)

const parsedAway = Body.consumed(
  "The request body was already consumed by a body parser placed before Quotewire. Mount Quotewire first, or let the parser leave the body in `request.body` of the node:http request."
)

const rawParsedAway = Body.consumed(
  "This route checks a signature and needs the request body byte for byte, but a body parser placed before Quotewire has consumed it. Mount Quotewire first, or let the parser leave a Buffer in `request.body` or `request.rawBody` of the node:http request."
)

/** Whether the whole body has arrived and nothing has begun to read it. */
const isHere = (request: IncomingMessage): boolean => request.complete && request.readableFlowing === null

const whole = (request: IncomingMessage, limit: number): Read => {
  const bytes: unknown = request.read()
  if (!(bytes instanceof Uint8Array)) return Effect.succeed(Body.nothing)
  return bytes.length <= limit ? Effect.succeed(bytes) : Body.tooLarge(limit)
}

const arriving = (request: IncomingMessage, limit: number, bodies: Body.ArrivingBodies): Read =>
  Effect.callback((resume) => {
    const body = bodies.begin(limit, (outcome) => {
      // Stops listening, so that data that still arrives is ignored.
      stop()
      resume(outcome)
    })
    const onData = (piece: Uint8Array) => body.add(piece)
    const onEnd = () => body.end()
    const onGone = () => body.finish(Effect.interrupt)
    const stop = () => {
      request.off("data", onData).off("end", onEnd).off("error", onGone).off("close", onGone)
    }
    request.on("data", onData).on("end", onEnd).on("error", onGone).on("close", onGone)
    return Effect.sync(() => {
      stop()
      body.forget()
    })
  })

/**
 * A request's headers. Repeated `Authorization` headers are joined, so that they are never valid.
 *
 * Node would keep only the first one, but a proxy in front of the host may have checked the last one. Other repeated
 * headers are joined with commas in the same way.
 */
export const headersOf = ({ headers, rawHeaders }: IncomingMessage): IncomingHttpHeaders => {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ""
    if (name.length === authorization.length && name.toLowerCase() === authorization) count++
  }
  return count < 2 ? headers : { ...headers, [authorization]: repeated(rawHeaders) }
}

const authorization = "authorization"

const repeated = (rawHeaders: ReadonlyArray<string>): string =>
  rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === authorization).join(", ")

/**
 * The size of the pieces in which a large response is written, in bytes. Each piece is written when the caller has read
 * the previous one.
 */
const pieceBytes = 64 * 1024

/** Whether it is too late to respond: the caller has disconnected, or middleware has already responded. */
export const isOver = (response: ServerResponse): boolean => response.destroyed || response.headersSent

/** Whether a request got its response before the request had fully arrived. */
export const isAnsweredEarly = ({ req, writableFinished }: ServerResponse): boolean => writableFinished && !req.complete

/** A request and its response. */
export interface NodeExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/**
 * Sends a response with its content length: in one write, or in pieces if it is large.
 *
 * `onSent` is called whenever the caller can read data: first with the response's length, then with 0 before each later
 * piece.
 *
 * If the request's body was not read and is small, it is discarded. If it is large, the connection is closed after the
 * response. Before that, the rest of the body is read and dropped for a moment, because resetting the connection
 * immediately could destroy the response.
 *
 * Does nothing if it is too late to respond.
 */
export const send = (
  { request, response }: NodeExchange,
  answer: Answer,
  extra: Readonly<Record<string, string>>,
  onSent: (bytes: number) => void
): void => {
  if (isOver(response)) return
  const headers: Record<string, string | number> = { ...extra, ...answer.headers }
  const length = lengthOf(answer.body)
  if (answer.status !== 204) headers["content-length"] = length
  if (!isUnreadAndLarge(request)) {
    response.writeHead(answer.status, headers)
    onSent(length)
    if (length > pieceBytes && request.method !== "HEAD") writePieces(response, bytesOf(answer.body), onSent)
    else response.end(answer.body)
    return
  }
  headers.connection = "close"
  response.writeHead(answer.status, headers)
  onSent(length)
  if (answer.body === null) response.flushHeaders()
  else response.write(answer.body)
  linger(request, () => response.end())
}

/** How to write and end a response that has begun. */
interface StartedResponse {
  readonly write: (text: string) => void
  readonly end: () => void
}

/**
 * Begins a response whose body is written later. Does nothing if it is too late to respond.
 *
 * `onSent` is called only at the end, with the body's length. Before that, the caller may already have read everything
 * written so far, so there is nothing to time.
 */
export const begin = (
  response: ServerResponse,
  answer: Answer,
  extra: Readonly<Record<string, string>>,
  onSent: (bytes: number) => void
): StartedResponse => {
  let length = 0
  if (!isOver(response)) {
    response.writeHead(answer.status, { ...extra, ...answer.headers })
    response.flushHeaders()
  }
  return {
    write: (text) => {
      length += Buffer.byteLength(text)
      response.write(text)
    },
    end: () => {
      onSent(length)
      response.end()
    }
  }
}

const lengthOf = (body: Answer["body"]): number =>
  body === null ? 0 : typeof body === "string" ? Buffer.byteLength(body) : body.length

const bytesOf = (body: Answer["body"]): Uint8Array => (body instanceof Uint8Array ? body : Buffer.from(body ?? ""))

const writePieces = (response: ServerResponse, bytes: Uint8Array, onSent: (bytes: number) => void): void => {
  const writeFrom = (start: number): void => {
    const end = start + pieceBytes
    if (end >= bytes.length) return void response.end(bytes.subarray(start))
    const goOn = () => {
      onSent(0)
      writeFrom(end)
    }
    // Does not use the callback of `write`, because middleware that wraps `write`, such as compression, drops it.
    if (response.write(bytes.subarray(start, end))) goOn()
    else response.once("drain", goOn)
  }
  writeFrom(0)
}

/** Up to this size, in bytes, reading the rest of a body is cheaper than a new connection. */
const smallBytes = 64 * 1024

const isUnreadAndLarge = (request: IncomingMessage): boolean => {
  if (request.complete || !isAnnounced(request)) return false
  return request.headers["transfer-encoding"] !== undefined || announcedBytes(request) > smallBytes
}

/** How long the rest of a body is read and dropped before the connection is closed, in milliseconds. */
const lingerMs = 1_000

const linger = (request: IncomingMessage, end: () => void): void => {
  const timer = setTimeout(end, lingerMs)
  request.once("close", () => {
    clearTimeout(timer)
    end()
  })
  request.resume()
}

/**
 * The maximum number of items to collect, so that the first item does not wait for all others that arrive in the same
 * turn.
 */
const maxReady = 8

/**
 * Creates a function that collects the items of one turn of the event loop, and calls `callback` with each of them: at
 * the end of the turn, or when enough items have arrived.
 *
 * Used for responses: each write wakes the caller's process, so writing responses one by one between other work takes
 * more time (docs/decisions/tuning.md).
 */
export const atEndOfTurn = <A>(callback: (item: A) => void): ((item: A) => void) => {
  let ready: Array<A> = []
  const actOn = (items: ArrayIterator<A>): void => {
    try {
      for (const item of items) callback(item)
    } catch (error) {
      // If one call throws, the callback must still be called with the other items.
      actOn(items)
      throw error
    }
  }
  const actNow = () => {
    const items = ready.values()
    ready = []
    actOn(items)
  }
  return (item) => {
    ready.push(item)
    if (ready.length === maxReady) actNow()
    else if (ready.length === 1) setImmediate(actNow)
  }
}

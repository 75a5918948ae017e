import type { IncomingMessage } from "node:http"
import { Effect, Predicate } from "effect"
import * as Body from "../host/Body.ts"

/** Whether a request announces a body that is not empty. In HTTP/2 each one does, unless it names a length of 0. */
export const isAnnounced = ({ headers, httpVersionMajor }: IncomingMessage): boolean =>
  headers["content-length"] === undefined
    ? headers["transfer-encoding"] !== undefined || httpVersionMajor === 2
    : Number(headers["content-length"]) > 0

/** The `content-length` of a request; 0 if it has none, for example with a chunked body. */
export const announcedBytes = (request: IncomingMessage): number => Number(request.headers["content-length"] ?? 0)

/**
 * Reads a body of at most `limit` bytes.
 *
 * A larger one is refused with `request_too_large`: at once if its length was announced, otherwise when the limit is
 * exceeded. If the caller disconnects, it is interrupted. If a body parser ran before, its `request.rawBody` or `request.body` is used; if the
 * parser left none, that is a defect, because the caller did nothing wrong.
 */
export const read = (request: IncomingMessage, limit: number): Body.Read => from(request, limit, bytesOf, parsedAway)

/** Like `read`, but returns the exact bytes, which signatures need. If a parser has made it an object, that is a defect. */
export const readRaw = (request: IncomingMessage, limit: number): Body.Read =>
  from(request, limit, rawBytesOf, rawParsedAway)

const from = (
  request: IncomingMessage,
  limit: number,
  left: (body: unknown) => Uint8Array | null,
  gone: Effect.Effect<never>
): Body.Read =>
  Effect.suspend(() => {
    if (announcedBytes(request) > limit) return Body.tooLarge(limit)
    if (!isAnnounced(request)) return Effect.succeed(Body.nothing)
    if (!request.readableDidRead) return isHere(request) ? whole(request, limit) : arriving(request, limit)
    const bytes = exact(request) ?? (Predicate.hasProperty(request, "body") ? left(request.body) : null)
    if (bytes === null) return gone
    return bytes.length <= limit ? Effect.succeed(bytes) : Body.tooLarge(limit)
  })

/** The exact bytes that some parsers keep beside what they have parsed, such as Nest's with `rawBody`. */
const exact = (request: IncomingMessage): Uint8Array | null =>
  Predicate.hasProperty(request, "rawBody") && request.rawBody instanceof Uint8Array ? request.rawBody : null

const rawBytesOf = (body: unknown): Uint8Array | null => {
  if (body instanceof Uint8Array) return body
  return typeof body === "string" ? Buffer.from(body) : null
}

/** Parsed JSON is serialized again, so that there is only one way to read a body. */
const bytesOf = (body: unknown): Uint8Array | null => {
  const raw = rawBytesOf(body)
  if (raw !== null || body === undefined) return raw
  try {
    return Buffer.from(JSON.stringify(body))
  } catch (error) {
    // `JSON.parse` reads deeper nesting than `JSON.stringify` writes. The input's check then refuses it for its depth.
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

/** Whether the whole body has arrived and nobody has begun to read it. */
const isHere = (request: IncomingMessage): boolean => request.complete && request.readableFlowing === null

const whole = (request: IncomingMessage, limit: number): Body.Read => {
  const bytes: unknown = request.read()
  if (!(bytes instanceof Uint8Array)) return Effect.succeed(Body.nothing)
  return bytes.length <= limit ? Effect.succeed(bytes) : Body.tooLarge(limit)
}

const arriving = (request: IncomingMessage, limit: number): Body.Read =>
  Effect.callback((resume) => {
    const chunks: Array<Uint8Array> = []
    let bytes = 0
    const stop = () => {
      request.off("data", onData).off("end", onEnd).off("error", onGone).off("close", onGone)
    }
    const settle = (outcome: Body.Read) => {
      stop()
      resume(outcome)
    }
    const onData = (chunk: Uint8Array) => {
      bytes += chunk.length
      if (bytes <= limit) return void chunks.push(chunk)
      request.pause()
      settle(Body.tooLarge(limit))
    }
    const onEnd = () => settle(Effect.succeed(joined(chunks)))
    const onGone = () => settle(Effect.interrupt)
    request.on("data", onData).on("end", onEnd).on("error", onGone).on("close", onGone)
    return Effect.sync(stop)
  })

/** Most bodies arrive in one chunk, which is not copied. */
const joined = ([first = Body.nothing, ...rest]: ReadonlyArray<Uint8Array>): Uint8Array =>
  rest.length === 0 ? first : Buffer.concat([first, ...rest])

import type { IncomingHttpHeaders, IncomingMessage } from "node:http"
import { Effect, Predicate } from "effect"
import type { ArrivingBodies } from "../host/ArrivingBodies.ts"
import * as Body from "../host/Body.ts"
import type { Read } from "../host/Route.ts"

/** Whether a request announces a non-empty body. In HTTP/2, every request does unless it declares a length of 0. */
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
 * exceeded. If the caller disconnects, it is interrupted. If a body parser ran before, its `request.rawBody` or
 * `request.body` is used. If the parser left neither, that is a defect, because it is not the caller's fault.
 */
export const read = (request: IncomingMessage, limit: number, bodies: ArrivingBodies): Read =>
  from(request, limit, bodies, bytesOf, parsedAway)

/**
 * Like `read`, but returns the exact bytes, which signatures need. It is a defect if a parser has already turned the
 * body into an object.
 */
export const readRaw = (request: IncomingMessage, limit: number, bodies: ArrivingBodies): Read =>
  from(request, limit, bodies, rawBytesOf, rawParsedAway)

const from = (
  request: IncomingMessage,
  limit: number,
  bodies: ArrivingBodies,
  left: (body: unknown) => Uint8Array | null,
  gone: Effect.Effect<never>
): Read =>
  Effect.suspend(() => {
    if (announcedBytes(request) > limit) return Body.tooLarge(limit)
    if (!isAnnounced(request)) return Effect.succeed(Body.nothing)
    if (!request.readableDidRead) return isHere(request) ? whole(request, limit) : arriving(request, limit, bodies)
    const bytes = exact(request) ?? (Predicate.hasProperty(request, "body") ? left(request.body) : null)
    if (bytes === null) return gone
    return bytes.length <= limit ? Effect.succeed(bytes) : Body.tooLarge(limit)
  })

/** The exact bytes that some parsers keep along with the parsed value, such as Nest's with `rawBody`. */
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
    // `JSON.parse` accepts deeper nesting than `JSON.stringify` can write. Input validation then refuses the depth.
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

const arriving = (request: IncomingMessage, limit: number, bodies: ArrivingBodies): Read =>
  Effect.callback((resume) => {
    const body = bodies.begin(limit, (outcome) => {
      // Further data is dropped.
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
 * A request's headers, with repeated `Authorization` headers joined, so that they are never valid.
 *
 * Node would keep only the first one, but a proxy in front of the host may have checked the last one. Other repeated
 * headers are joined with commas in the same way.
 */
export const headersOf = ({ headers, rawHeaders }: IncomingMessage): IncomingHttpHeaders => {
  let sent = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ""
    if (name.length === authorization.length && name.toLowerCase() === authorization) sent++
  }
  return sent < 2 ? headers : { ...headers, [authorization]: repeated(rawHeaders) }
}

const authorization = "authorization"

const repeated = (rawHeaders: ReadonlyArray<string>): string =>
  rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === authorization).join(", ")

import type { IncomingMessage } from "node:http"
import { ApiError } from "@quotewire/core"
import { Effect, Predicate, Result } from "effect"

/** The largest body of an operation or a message, in bytes (api.md, Errors: `request_too_large`). */
export const max_bytes = 256 * 1024

/** Whether a request announces a body that is not empty. */
export const isAnnounced = (request: IncomingMessage): boolean =>
  request.headers["transfer-encoding"] !== undefined || announcedBytes(request) > 0

/** The `content-length` of a request; 0 if it has none, for example with a chunked body. */
export const announcedBytes = (request: IncomingMessage): number => Number(request.headers["content-length"] ?? 0)

/**
 * Reads a body of at most `limit` bytes.
 *
 * A larger one is refused with `request_too_large`: at once if its length was announced, otherwise when the limit is
 * exceeded. If the caller disconnects, it is interrupted. If a body parser ran before, its `request.body` is used; if the
 * parser left none, that is a defect, because the caller did nothing wrong.
 */
export const read = (request: IncomingMessage, limit: number): Read => from(request, limit, bytesOf, parsedAway)

/** Like `read`, but returns the exact bytes, which signatures need. A parsed body does not do. */
export const readRaw = (request: IncomingMessage, limit: number): Read =>
  from(request, limit, rawBytesOf, rawParsedAway)

const from = (
  request: IncomingMessage,
  limit: number,
  left: (body: unknown) => Uint8Array | null,
  gone: Effect.Effect<never>
): Read => {
  if (announcedBytes(request) > limit) return tooLarge(limit)
  if (!isAnnounced(request)) return Effect.succeed(nothing)
  if (!request.readableDidRead) return isHere(request) ? whole(request, limit) : arriving(request, limit)
  const bytes = Predicate.hasProperty(request, "body") ? left(request.body) : null
  if (bytes === null) return gone
  return bytes.length <= limit ? Effect.succeed(bytes) : tooLarge(limit)
}

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

const parsedAway = Effect.die(
  new Error(
    "The request body was already consumed by a body parser placed before Quotewire. Mount Quotewire first, or let the parser leave the body in `request.body` of the node:http request."
  )
)

const rawParsedAway = Effect.die(
  new Error(
    "This route checks a signature and needs the request body byte for byte, but a body parser placed before Quotewire has consumed it. Mount Quotewire first, or let the parser leave a Buffer in `request.body` of the node:http request."
  )
)

/** Whether the whole body has arrived and nobody has begun to read it. */
const isHere = (request: IncomingMessage): boolean => request.complete && request.readableFlowing === null

type Read = Effect.Effect<Uint8Array, ApiError.ApiError<"request_too_large">>

const whole = (request: IncomingMessage, limit: number): Read => {
  const bytes: unknown = request.read()
  if (!(bytes instanceof Uint8Array)) return Effect.succeed(nothing)
  return bytes.length <= limit ? Effect.succeed(bytes) : tooLarge(limit)
}

const arriving = (request: IncomingMessage, limit: number): Read =>
  Effect.callback((resume) => {
    const chunks: Array<Uint8Array> = []
    let bytes = 0
    const stop = () => {
      request.off("data", onData).off("end", onEnd).off("error", onGone).off("close", onGone)
    }
    const settle = (outcome: Read) => {
      stop()
      resume(outcome)
    }
    const onData = (chunk: Uint8Array) => {
      bytes += chunk.length
      if (bytes <= limit) return void chunks.push(chunk)
      request.pause()
      settle(tooLarge(limit))
    }
    const onEnd = () => settle(Effect.succeed(joined(chunks)))
    const onGone = () => settle(Effect.interrupt)
    request.on("data", onData).on("end", onEnd).on("error", onGone).on("close", onGone)
    return Effect.sync(stop)
  })

const nothing = new Uint8Array(0)

/** Most bodies arrive in one chunk, which is not copied. */
const joined = ([first = nothing, ...rest]: ReadonlyArray<Uint8Array>): Uint8Array =>
  rest.length === 0 ? first : Buffer.concat([first, ...rest])

const tooLarge = (limit: number) =>
  Effect.fail(ApiError.make("request_too_large", { message: `The body is larger than ${limit / 1024} KiB.` }))

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Parses bytes as JSON. Bytes that are not UTF-8 or not JSON are refused with `invalid_json`. */
export const parse = (bytes: Uint8Array): Result.Result<unknown, ApiError.ApiError<"invalid_json">> =>
  Result.try({ try: (): unknown => JSON.parse(utf8.decode(bytes)), catch: () => ApiError.make("invalid_json") })

/**
 * Whether the headers of a body say that it is uncompressed JSON in UTF-8.
 *
 * A body without a content type counts as JSON, because the API accepts nothing else.
 */
export const isJson = (headers: IncomingMessage["headers"]): boolean => {
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") return false
  const type = headers["content-type"]
  return type === undefined || jsonType.test(type)
}

const jsonType = /^\s*application\/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*$/i

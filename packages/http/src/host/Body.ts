import { ApiError } from "@quotewire/core"
import { Effect, Result } from "effect"
import type { Header, Read } from "./Route.ts"

/*
 * The size limit and the parsing of request bodies. Platform-specific code reads them.
 */

/** The maximum size of the body of an operation or a message, in bytes (api.md, Requests and answers). */
export const maxBytes = 256 * 1024

/** The bytes of an empty or missing body. */
export const nothing = new Uint8Array(0)

/** Refuses a body that is larger than the limit, in bytes. */
export const tooLarge = (limit: number): Read =>
  Effect.fail(ApiError.make("request_too_large", { message: `The body is larger than ${limit / 1024} KiB.` }))

/**
 * The failure of reading a body that other code in front of the service has already consumed. The caller is not at
 * fault, so the effect dies.
 */
export const consumed = (message: string): Effect.Effect<never> => Effect.die(new Error(message))

const utf8 = new TextDecoder("utf-8", { fatal: true })

/**
 * Parses a body as JSON. The body must be uncompressed UTF-8, and no header may contradict that. Otherwise it is
 * refused with `invalid_json`, and the error names a header that is at fault.
 *
 * A body without a content type counts as JSON, because the API accepts nothing else.
 */
export const parse = (bytes: Uint8Array, header: Header): Result.Result<unknown, ApiError.ApiError<"invalid_json">> => {
  const encoding = header("content-encoding")
  if (encoding !== null && encoding.toLowerCase() !== "identity") return compressed
  const type = header("content-type")
  if (type !== null && !jsonType.test(type)) return otherType
  return Result.try({ try: (): unknown => JSON.parse(utf8.decode(bytes)), catch: () => ApiError.make("invalid_json") })
}

const jsonType = /^\s*application\/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*$/i

const compressed = Result.fail(
  ApiError.make("invalid_json", {
    message: "The body is compressed. Send it uncompressed, without a Content-Encoding header."
  })
)

const otherType = Result.fail(
  ApiError.make("invalid_json", { message: "The Content-Type header must be application/json, in UTF-8." })
)

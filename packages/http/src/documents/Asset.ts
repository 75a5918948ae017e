import { createHash } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { Effect } from "effect"
import type { Answer } from "../host/Answer.ts"

/** Content that is the same for every caller: a document, a page, a script. */
export interface Content {
  /** Media type, with the character set where it is text. */
  readonly type: string
  /** The `cache-control` of its answers. */
  readonly cache: string
  readonly headers?: Readonly<Record<string, string>>
  /** Reads the content. Called once. */
  readonly read: () => Promise<string | Uint8Array>
}

/** Answers with content: with an ETag, and in the best encoding that the caller accepts. */
export type Asset = (asked: IncomingHttpHeaders) => Effect.Effect<Answer>

/** Reads, tags and compresses content when it is first requested, and keeps the result. */
export const make = (content: Content): Asset => {
  const bytes = once(async () => Buffer.from(await content.read()))
  const tag = once(async () =>
    createHash("sha256")
      .update(await bytes())
      .digest("base64url")
      .slice(0, 22)
  )
  const packed = {
    br: once(async () => promisify(brotliCompress)(await bytes(), { params: brotli })),
    gzip: once(async () => promisify(gzip)(await bytes())),
    identity: bytes
  }
  return (asked) =>
    Effect.promise(async (): Promise<Answer> => {
      const encoding = encodingFor(asked["accept-encoding"])
      const etag = `"${await tag()}-${encoding}"`
      const headers = {
        ...content.headers,
        "content-type": content.type,
        "cache-control": content.cache,
        "x-content-type-options": "nosniff",
        vary: "Accept-Encoding",
        etag
      }
      if (asked["if-none-match"]?.includes(etag)) return { status: 304, headers, body: null }
      const body = await packed[encoding]()
      return {
        status: 200,
        headers: encoding === "identity" ? headers : { ...headers, "content-encoding": encoding },
        body
      }
    })
}

/** At this quality a script of megabytes compresses quickly, to little more than at the best quality. */
const brotli = { [constants.BROTLI_PARAM_QUALITY]: 5 }

/** The best encoding that a caller accepts. A weight of 0 refuses an encoding. */
const encodingFor = (accepted: string | undefined): "br" | "gzip" | "identity" => {
  const taken = new Set(
    (accepted ?? "")
      .split(",")
      .filter((one) => !/;\s*q=0(\.0*)?\s*$/.test(one))
      .map((one) => one.replace(/;.*/, "").trim().toLowerCase())
  )
  return taken.has("br") ? "br" : taken.has("gzip") ? "gzip" : "identity"
}

const once = <A>(make: () => Promise<A>): (() => Promise<A>) => {
  let made: Promise<A> | undefined
  return () => {
    made ??= make()
    return made
  }
}

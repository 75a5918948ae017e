import { Effect } from "effect"
import type { Answer } from "../host/Answer.ts"
import type { Header } from "../host/Route.ts"

/** Content that is the same for every caller, such as a document, a page or a script. */
export interface Content {
  /** The media type, with the character set if it is text. */
  readonly type: string
  /** The `cache-control` header of responses with this content. */
  readonly cache: string
  readonly headers?: Readonly<Record<string, string>>
  /** Reads the content. Called once. */
  readonly read: () => Promise<string | Uint8Array>
  /** Compresses the content with Brotli, if the platform supports it. This is worthwhile only for large content. */
  readonly brotli?: (bytes: Uint8Array) => Promise<Uint8Array>
}

/** Responds with the content, an ETag, and the best content encoding that the caller accepts. */
export type Asset = (requestHeader: Header) => Effect.Effect<Answer>

/** Creates an asset. The content is read, tagged and compressed when it is first requested; the results are cached. */
export const make = (content: Content): Asset => {
  const bytes = computeOnce(async () => bytesOf(await content.read()))
  const tag = computeOnce(async () => hex(await crypto.subtle.digest("SHA-256", await bytes())).slice(0, 32))
  const { brotli } = content
  const packed: Readonly<Record<string, () => Promise<Uint8Array>>> = {
    identity: bytes,
    // Some runtimes have no `CompressionStream`.
    ...(typeof CompressionStream !== "undefined" && { gzip: computeOnce(async () => gzip(await bytes())) }),
    ...(brotli !== undefined && { br: computeOnce(async () => brotli(await bytes())) })
  }
  return (requestHeader) =>
    Effect.promise(async (): Promise<Answer> => {
      const accepted = acceptedIn(requestHeader("accept-encoding") ?? "")
      const encoding = ["br", "gzip"].find((coding) => accepted.has(coding) && coding in packed) ?? "identity"
      const etag = `"${await tag()}-${encoding}"`
      const headers = {
        ...content.headers,
        "content-type": content.type,
        "cache-control": content.cache,
        "x-content-type-options": "nosniff",
        vary: "Accept-Encoding",
        etag
      }
      if (requestHeader("if-none-match")?.includes(etag)) return { status: 304, headers, body: null }
      const body = await (packed[encoding] ?? bytes)()
      return {
        status: 200,
        headers: encoding === "identity" ? headers : { ...headers, "content-encoding": encoding },
        body
      }
    })
}

/** Copies bytes into a separate buffer, as Web APIs require. */
const bytesOf = (content: string | Uint8Array): Uint8Array<ArrayBuffer> =>
  typeof content === "string" ? new TextEncoder().encode(content) : Uint8Array.from(content)

const hex = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("")

const gzip = async (bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> => {
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))
  return new Uint8Array(await new Response(packed).arrayBuffer())
}

/** Parses the encodings that a caller accepts. A weight of 0 excludes an encoding. */
const acceptedIn = (header: string): ReadonlySet<string> =>
  new Set(
    header
      .split(",")
      .filter((coding) => !/;\s*q=0(\.0*)?\s*$/.test(coding))
      .map((coding) => coding.replace(/;.*/, "").trim().toLowerCase())
  )

const computeOnce = <A>(compute: () => Promise<A>): (() => Promise<A>) => {
  let computed: Promise<A> | undefined
  return () => {
    computed ??= compute()
    return computed
  }
}

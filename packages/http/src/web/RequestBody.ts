import { Effect } from "effect"
import * as Body from "../host/Body.ts"

/**
 * Reads the body of a Web request, of at most `limit` bytes.
 *
 * A larger one is refused with `request_too_large`: at once if its length was announced, otherwise when the limit is
 * exceeded, and the rest is not read. If the caller disconnects, it is interrupted. A body that was read before is a defect.
 */
export const read = (request: Request, limit: number): Body.Read =>
  Effect.suspend(() => {
    if (Number(request.headers.get("content-length") ?? 0) > limit) return Body.tooLarge(limit)
    if (request.bodyUsed || request.body?.locked === true) return gone
    return request.body === null ? Effect.succeed(Body.nothing) : streamed(request.body, limit)
  })

const gone = Body.consumed(
  "The request body was already consumed before Quotewire was called. Call Quotewire first, or pass on a `request.clone()` that was made before anything read the body."
)

const streamed = (body: ReadableStream<Uint8Array>, limit: number): Body.Read =>
  Effect.acquireUseRelease(
    Effect.sync(() => body.getReader()),
    (reader) =>
      Effect.matchEffect(
        Effect.tryPromise(() => collect(reader, limit)),
        {
          onFailure: () => Effect.interrupt,
          onSuccess: (bytes) => (bytes === null ? Body.tooLarge(limit) : Effect.succeed(bytes))
        }
      ),
    // Nothing of what is left is needed, and a stream that failed cannot be cancelled.
    (reader) => Effect.sync(() => void reader.cancel().catch(() => {}))
  )

/** The bytes of a stream; null if there are more than the limit. */
const collect = async (reader: ReadableStreamDefaultReader<Uint8Array>, limit: number): Promise<Uint8Array | null> => {
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return joined(chunks, bytes)
    bytes += value.length
    if (bytes > limit) return null
    chunks.push(value)
  }
}

const joined = (chunks: ReadonlyArray<Uint8Array>, bytes: number): Uint8Array => {
  const [first = Body.nothing, ...rest] = chunks
  if (rest.length === 0) return first
  const all = new Uint8Array(bytes)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

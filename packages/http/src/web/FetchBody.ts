import { Effect } from "effect"
import * as Body from "../host/Body.ts"
import type { Read } from "../host/Route.ts"

/**
 * Reads the body of a Web request, of at most `limit` bytes.
 *
 * A larger body is refused with `request_too_large`: immediately if its length was announced, otherwise when it exceeds
 * the limit, and the rest is not read. If the caller disconnects, reading is interrupted. If other code has already
 * read the body, the effect dies.
 */
export const read = (request: Request, limit: number, bodies: Body.ArrivingBodies): Read =>
  Effect.suspend(() => {
    if (Number(request.headers.get("content-length") ?? 0) > limit) return Body.tooLarge(limit)
    if (request.bodyUsed || request.body?.locked === true) return gone
    return request.body === null ? Effect.succeed(Body.nothing) : streamed(request.body, limit, bodies)
  })

const gone = Body.consumed(
  "The request body was already consumed before Quotewire was called. Call Quotewire first, or pass on a `request.clone()` that was made before anything read the body."
)

const streamed = (stream: ReadableStream<Uint8Array>, limit: number, bodies: Body.ArrivingBodies): Read =>
  Effect.acquireUseRelease(
    Effect.sync(() => stream.getReader()),
    (reader) =>
      Effect.callback((resume) => {
        const body = bodies.begin(limit, resume)
        collect(reader, body).catch(() => body.finish(Effect.interrupt))
        return Effect.sync(() => body.forget())
      }),
    // Cancels the rest of the body, which nobody needs. A failed stream cannot be cancelled, so errors are ignored.
    (reader) => Effect.sync(() => void reader.cancel().catch(() => {}))
  )

/** Adds the chunks of a stream to a body until the stream ends or the body is settled. */
const collect = async (reader: ReadableStreamDefaultReader<Uint8Array>, body: Body.ArrivingBody): Promise<void> => {
  while (!body.isOver) {
    const { done, value } = await reader.read()
    if (done) body.end()
    else body.add(value)
  }
}

import { assert } from "@effect/vitest"
import { type Cause, Effect, Queue, Sink, Stdio, Stream } from "effect"

/** A program at the other end of a pipe. */
export const program = Effect.gen(function* () {
  const input = yield* Queue.unbounded<Uint8Array, Cause.Done>()
  const output = yield* Queue.unbounded<string | Uint8Array, Cause.Done>()
  const layer = Stdio.layerTest({ stdin: Stream.fromQueue(input), stdout: () => Sink.fromQueue(output) })
  return {
    layer,
    writeBytes: (bytes: Uint8Array) => Queue.offer(input, bytes),
    write: (text: string) => Queue.offer(input, new TextEncoder().encode(text)),
    hangUp: Queue.end(input),
    read: Effect.map(Queue.take(output), (line) => {
      assert.match(String(line), /^[^\n]*\n$/)
      return JSON.parse(String(line))
    })
  }
})

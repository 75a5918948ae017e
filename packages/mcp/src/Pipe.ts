import { type Cause, Effect, Fiber, FiberMap, Queue, Result, Semaphore, Stdio, Stream } from "effect"
import * as JsonRpc from "./JsonRpc.ts"
import * as Lines from "./Lines.ts"

/** What stands at the other end of a pipe: the service in this process, or a host somewhere. */
export interface Settings<R> {
  /** Answers one message; null where it has no answer. To interrupt it cancels the call. */
  readonly answer: (message: JsonRpc.Message, line: string) => Effect.Effect<string | null, never, R>
  /** Lets calls that wait answer at once: the program has hung up. */
  readonly wake: Effect.Effect<void, never, R>
}

/** So many calls run at once; the next line is read when one of them has ended. */
const max_running = 1_024

/** The longest line, in bytes: as long as a body over HTTP. */
const max_line_bytes = 256 * 1024

/**
 * Serves one program over standard input and output: a message on a line, each answered when it is done.
 *
 * It ends when standard input has ended and everything that was asked is answered, or when nobody reads any more.
 */
export const serve = <R>(settings: Settings<R>): Effect.Effect<void, never, R | Stdio.Stdio> =>
  Effect.scoped(
    Effect.gen(function* () {
      const stdio = yield* Stdio.Stdio
      const answers = yield* Queue.bounded<string, Cause.Done>(max_running)
      const take = yield* taker(settings, (text) => Queue.offer(answers, `${text}\n`))
      const split = Lines.splitter(max_line_bytes)
      // The last line may end with the input instead of a newline.
      const reading = Stream.concat(stdio.stdin, Stream.make(Lines.newline)).pipe(
        Stream.runForEach((bytes) => Effect.forEach(split(bytes), take.line, { discard: true })),
        Effect.andThen(settings.wake),
        Effect.andThen(take.idle),
        Effect.andThen(Queue.end(answers)),
        Effect.andThen(Effect.never)
      )
      const writing = yield* Effect.forkScoped(
        Stream.run(Stream.fromQueue(answers), stdio.stdout({ endOnDone: false }))
      )
      yield* Effect.raceFirst(Fiber.join(writing), reading)
    }).pipe(Effect.catchTag("PlatformError", (error) => Effect.logDebug("The pipe has broken", error)))
  )

/** Takes lines, runs what they ask, and says when nothing runs any more. */
const taker = Effect.fnUntraced(function* <R>(
  { answer }: Settings<R>,
  write: (text: string) => Effect.Effect<unknown>
) {
  const running = yield* FiberMap.make<string, unknown, never>()
  const places = yield* Semaphore.make(max_running)
  let notifications = 0
  const start = (key: string, message: JsonRpc.Message, line: string) =>
    Effect.andThen(
      places.take(1),
      FiberMap.run(
        running,
        key,
        Effect.flatMap(answer(message, line), (text) => (text === null ? Effect.void : write(text))).pipe(
          Effect.ensuring(places.release(1))
        )
      )
    )
  const line = Effect.fnUntraced(function* (text: Lines.Line) {
    const read = text === null ? Result.fail(unreadable) : JsonRpc.parse(text)
    if (Result.isFailure(read)) return yield* write(JsonRpc.failure(read.failure))
    const { id, method, params } = read.success
    if (method === "notifications/cancelled") return yield* FiberMap.remove(running, keyOf(params.requestId))
    // Whoever takes a notification may hang, too, and must hold up no other line.
    const key = id === null ? `notification ${++notifications}` : keyOf(id)
    if (id !== null && (yield* FiberMap.has(running, key))) return yield* write(JsonRpc.failure({ id, error: inUse }))
    return yield* start(key, read.success, text ?? "")
  })
  return { line, idle: FiberMap.awaitEmpty(running) }
})

const keyOf = (id: unknown): string => JSON.stringify(id) ?? ""

const unreadable: JsonRpc.Unreadable = {
  id: null,
  error: { code: JsonRpc.codes.parse_error, message: "A line must be JSON in UTF-8, of at most 256 KiB." }
}

const inUse: JsonRpc.RpcError = {
  code: JsonRpc.codes.invalid_request,
  message: "A call with this id still runs."
}

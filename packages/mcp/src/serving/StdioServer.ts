import { type Cause, Effect, Fiber, FiberMap, Predicate, Queue, Result, Semaphore, Stdio, Stream } from "effect"
import * as Peer from "../forms/Peer.ts"
import * as JsonRpc from "../protocol/JsonRpc.ts"
import * as Protocol from "../protocol/Protocol.ts"
import * as TextLines from "../protocol/TextLines.ts"

/** What responds to the messages: the service in this process (`Local`) or a remote host (`Bridge`). */
export interface Settings<R> {
  /**
   * Answers one message, parsed from `line`; null if the message needs no answer. Shows forms and sends notifications
   * through `peer`. Interrupting the effect cancels the call.
   */
  readonly answer: (message: JsonRpc.Message, line: string, peer: Peer.Peer) => Effect.Effect<string | null, never, R>
  /** Ends the waits of running calls. Runs when the client has closed standard input. */
  readonly wake: Effect.Effect<void, never, R>
}

/** How many calls run concurrently. At this limit, the next line is read only when a call ends. */
const maxRunning = 1_024

/** The maximum length of a line, in bytes. A body over HTTP has the same limit. */
const maxLineBytes = 256 * 1024

/**
 * Serves one client program over standard input and output. Each line contains a message or a batch; each is answered
 * when its calls have ended.
 *
 * Serving ends when standard input has ended and every message has its response, or when standard output is closed.
 */
export const serve = <R>(settings: Settings<R>): Effect.Effect<void, never, R | Stdio.Stdio> =>
  Effect.scoped(
    Effect.gen(function* () {
      const stdio = yield* Stdio.Stdio
      const answers = yield* Queue.bounded<string, Cause.Done>(maxRunning)
      const write = (text: string) => Queue.offer(answers, `${text}\n`)
      const peer = Peer.make(write)
      const runner = yield* makeRunner(settings, write, peer)
      const split = TextLines.splitter(maxLineBytes)
      // Adds a newline, because the last line may lack it.
      const reading = Stream.concat(stdio.stdin, Stream.make(TextLines.newline)).pipe(
        Stream.runForEach((bytes) => Effect.forEach(split(bytes), runner.line, { discard: true })),
        Effect.andThen(settings.wake),
        Effect.andThen(peer.disconnect),
        Effect.andThen(runner.idle),
        Effect.andThen(Queue.end(answers)),
        Effect.andThen(Effect.never)
      )
      // When standard output is closed, nobody reads responses, so the calls that wait to write a response must end.
      const writing = yield* Effect.forkScoped(
        Effect.ensuring(
          Stream.run(Stream.fromQueue(answers), stdio.stdout({ endOnDone: false })),
          Queue.shutdown(answers)
        )
      )
      yield* Effect.raceFirst(Fiber.join(writing), reading)
    }).pipe(Effect.catchTag("PlatformError", (error) => Effect.logDebug("Standard input or output closed", error)))
  )

/** Creates `line`, which starts the calls of a line, and `idle`, which waits until no call is running. */
const makeRunner = Effect.fnUntraced(function* <R>(
  { answer }: Settings<R>,
  write: (text: string) => Effect.Effect<unknown>,
  peer: Peer.Connected
) {
  const running = yield* FiberMap.make<string, unknown, never>()
  const slots = yield* Semaphore.make(maxRunning)
  /** The revision that the handshake agreed on; null before the handshake. */
  let revision: string | null = null
  /** The number of messages without an ID so far. It gives each such message a key. */
  let unnamed = 0

  const start = (key: string, work: Effect.Effect<unknown, never, R>) =>
    Effect.andThen(slots.take(1), FiberMap.run(running, key, Effect.ensuring(work, slots.release(1))))

  /**
   * Starts the call of a message and passes its response, if any, to `reply`. Returns the call's fiber; null if no call
   * was started.
   */
  const run = Effect.fnUntraced(function* (
    message: JsonRpc.Message,
    line: string,
    reply: (text: string) => Effect.Effect<unknown>
  ) {
    const { id, method, params } = message
    if (method === "notifications/cancelled")
      return yield* Effect.as(FiberMap.remove(running, keyOf(params.requestId)), null)
    if (method === "initialize") revision = Protocol.negotiate(params.protocolVersion)
    // Notifications also run in their own fibers, so that a notification that hangs does not block the next lines.
    const key = id === null ? `notification ${++unnamed}` : keyOf(id)
    if (id !== null && (yield* FiberMap.has(running, key))) {
      return yield* Effect.as(reply(JsonRpc.failure({ id, error: inUse })), null)
    }
    return yield* start(
      key,
      Effect.flatMap(answer(message, line, peer), (text) => (text === null ? Effect.void : reply(text)))
    )
  })

  /** Runs a batch's messages concurrently. Returns their responses in one list, in the order of the messages. */
  const runBatch = Effect.fnUntraced(function* (batch: JsonRpc.Batch) {
    const texts = batch.map((): string | null => null)
    const fibers = yield* Effect.forEach(batch, (read, place) => {
      const reply = (text: string) =>
        Effect.sync(() => {
          texts[place] = text
        })
      return Result.match(Result.flatMap(read, Protocol.checkBatchMember), {
        onSuccess: (message) => run(message, JsonRpc.textOf(message), reply),
        onFailure: (unreadable) => Effect.as(reply(JsonRpc.failure(unreadable)), null)
      })
    })
    const answerAll = Effect.suspend(() => {
      const replies = texts.filter(Predicate.isNotNull)
      return replies.length === 0 ? Effect.void : write(`[${replies.join(",")}]`)
    })
    const ended = Fiber.awaitAll(fibers.filter(Predicate.isNotNull))
    yield* start(`batch ${++unnamed}`, Effect.andThen(ended, answerAll))
  })

  const takeLine = Effect.fnUntraced(function* (text: TextLines.Line) {
    const json = text === null ? Result.fail(unreadableLine) : JsonRpc.parseJson(text)
    const read = Result.flatMap(json, (value) => JsonRpc.readBody(value, Protocol.hasBatches(revision)))
    if (Result.isFailure(read)) return yield* write(JsonRpc.failure(read.failure))
    if ("method" in read.success) yield* run(read.success, text ?? "", write)
    else if ("result" in read.success) peer.take(read.success)
    else yield* runBatch(read.success)
  })
  return { line: takeLine, idle: FiberMap.awaitEmpty(running) }
})

const keyOf = (id: unknown): string => JSON.stringify(id) ?? ""

const unreadableLine: JsonRpc.ErrorAnswer = {
  id: null,
  error: { code: JsonRpc.codes.parse_error, message: "A line must be JSON in UTF-8, with at most 256 KiB." }
}

const inUse: JsonRpc.RpcError = {
  code: JsonRpc.codes.invalid_request,
  message: "A call with this id is still running."
}

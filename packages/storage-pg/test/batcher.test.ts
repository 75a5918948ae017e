import { assert, describe, it } from "@effect/vitest"
import { Batcher } from "@quotewire/core"
import { Cause, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"

interface Item extends Partial<Batcher.Locks> {
  readonly name: string
  readonly queue?: string
  readonly size?: number
}

type Options = Batcher.BatcherOptions<Item, string, string>

const answerAll: Options["send"] = (items) => Effect.succeed(items.map(({ name }) => Exit.succeed(`${name} is sent`)))

/** A batcher whose batches take some time, with what it sends and the results of its items. */
const batching = Effect.fnUntraced(function* (takesMs: number, options: Partial<Options> = {}) {
  const sent: Array<string> = []
  const answers: Array<string> = []
  const send = options.send ?? answerAll
  const scope = yield* Scope.fork(yield* Effect.scope)
  const batcher = yield* Batcher.make<Item, string, string>({
    unavailable: "unavailable",
    max_batch: 200,
    max_waiting: 1_000,
    max_wait_ms: 10_000,
    locksOf: ({ exclusive = [], shared = [] }) => ({ exclusive, shared }),
    ...options,
    send: (items) =>
      Effect.suspend(() => {
        sent.push(items.map(({ name }) => name).join(" "))
        return Effect.andThen(Effect.sleep(takesMs), send(items))
      })
  }).pipe(Scope.provide(scope))
  const ask = (item: Item) =>
    Effect.forkChild(
      Effect.matchCause(batcher(item), {
        onSuccess: (answer) => answers.push(answer),
        onFailure: (cause) => answers.push(`${item.name} fails: ${Cause.pretty(cause).split("\n")[0]}`)
      }),
      { startImmediately: true }
    )
  const askAll = (names: string) => Effect.forEach(names.split(" "), (name) => ask({ name }))
  return { sent, answers, ask, askAll, batcher, close: Scope.close(scope, Exit.void) }
})

const unavailable = (name: string) => `${name} fails: Error: unavailable`

describe("a batcher's items", () => {
  it.effect("are sent immediately if no batch is in progress, and otherwise together, in order", () =>
    Effect.gen(function* () {
      const { answers, askAll, sent } = yield* batching(100)
      yield* askAll("a")
      yield* TestClock.adjust(50)
      assert.deepStrictEqual(sent, ["a"])
      yield* askAll("b c")
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(sent, ["a", "b c"])
      assert.deepStrictEqual(answers, ["a is sent", "b is sent", "c is sent"])
      yield* askAll("d")
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(sent, ["a", "b c", "d"])
    })
  )

  it.effect("never share a batch with an earlier item that locks the same names", () =>
    Effect.gen(function* () {
      const { ask, sent } = yield* batching(100)
      yield* ask({ name: "first" })
      yield* TestClock.adjust(50)
      yield* ask({ name: "shares", shared: ["x"] })
      yield* ask({ name: "locks", exclusive: ["x"] })
      yield* ask({ name: "shares-later", shared: ["x"] })
      yield* ask({ name: "locks-later", exclusive: ["x"] })
      yield* ask({ name: "other", exclusive: ["y"], shared: ["z"] })
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(sent, ["first", "shares locks other", "shares-later locks-later"])
    })
  )

  it.effect("are sent in batches of limited count and size; a large item is sent alone", () =>
    Effect.gen(function* () {
      const size = { of: (item: Item) => item.size ?? 1, max: 10 }
      const { ask, askAll, sent } = yield* batching(100, { max_batch: 3, size })
      yield* askAll("a")
      yield* TestClock.adjust(50)
      yield* askAll("b c d e")
      yield* ask({ name: "large", size: 11 })
      yield* ask({ name: "f", size: 9 })
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(sent, ["a", "b c d", "e f", "large"])
    })
  )

  it.effect("wait only for batches from their own queue", () =>
    Effect.gen(function* () {
      const { ask, sent } = yield* batching(100, { queueOf: ({ queue = "" }) => queue })
      for (const name of ["a", "b"]) yield* ask({ name: `${name}1`, queue: name })
      yield* TestClock.adjust(50)
      for (const name of ["a", "b"]) yield* ask({ name: `${name}2`, queue: name })
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(sent, ["a1", "b1"])
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(sent, ["a1", "b1", "a2", "b2"])
    })
  )
})

describe("a batcher that cannot keep up", () => {
  it.effect("refuses new items immediately if too many are waiting, but sends the waiting items", () =>
    Effect.gen(function* () {
      const { answers, askAll, sent } = yield* batching(100, { max_waiting: 2 })
      yield* askAll("a")
      yield* TestClock.adjust(50)
      yield* askAll("b c d")
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(answers, [unavailable("d")])
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(sent, ["a", "b c"])
    })
  )

  it.effect("drops an item that has waited too long, and does not send it", () =>
    Effect.gen(function* () {
      const { answers, ask, sent } = yield* batching(10_000, { max_batch: 2 })
      yield* ask({ name: "a" })
      yield* TestClock.adjust(1)
      for (const name of ["b", "c", "d"]) yield* ask({ name })
      yield* TestClock.adjust(9_999)
      // Two of them are in progress now, and the third has not waited that long yet.
      assert.deepStrictEqual([answers, sent], [["a is sent"], ["a", "b c"]])
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(sent, ["a", "b c"])
      assert.deepStrictEqual(answers.slice(1), ["b is sent", "c is sent", unavailable("d")])
    })
  )
})

describe("a batcher's callers", () => {
  it.effect("withdraw an unsent item, but not a sent item, when they are interrupted", () =>
    Effect.gen(function* () {
      let finished = 0
      const { ask, sent } = yield* batching(100, {
        send: (items) => {
          finished += items.length
          return answerAll(items)
        }
      })
      const first = yield* ask({ name: "a" })
      yield* TestClock.adjust(50)
      const second = yield* ask({ name: "b" })
      yield* ask({ name: "c" })
      yield* Fiber.interrupt(first)
      yield* Fiber.interrupt(second)
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(sent, ["a", "c"])
      assert.strictEqual(finished, 2)
    })
  )

  it.effect("each get the result of their own item", () =>
    Effect.gen(function* () {
      const { answers, askAll } = yield* batching(100, {
        send: (items) =>
          Effect.succeed(
            items.map(({ name }) => (name === "bad" ? Exit.fail("conflict") : Exit.succeed(`${name} is sent`)))
          )
      })
      yield* askAll("a bad b")
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(answers, ["a is sent", "bad fails: Error: conflict", "b is sent"])
    })
  )

  it.effect("all get the failure of their batch, and the next batch is sent", () =>
    Effect.gen(function* () {
      const failing: ReadonlyArray<ReturnType<Options["send"]>> = [
        Effect.fail("lost"),
        Effect.die(new Error("a defect")),
        Effect.succeed([Exit.succeed("only the first")])
      ]
      let batches = 0
      const { answers, askAll } = yield* batching(100, {
        send: (items) => failing[batches++] ?? answerAll(items)
      })
      for (const names of ["a b", "c d", "e f", "g h"]) {
        yield* askAll(names)
        yield* TestClock.adjust(500)
      }
      assert.deepStrictEqual(answers, [
        "a fails: Error: lost",
        "b fails: Error: lost",
        "c fails: Error: a defect",
        "d fails: Error: a defect",
        "only the first",
        "f fails: Error: A batch returned fewer results than it has items",
        "g is sent",
        "h is sent"
      ])
    })
  )
})

describe("a batcher whose scope closes", () => {
  it.effect("makes sent, waiting and new items fail as unavailable", () =>
    Effect.gen(function* () {
      const { answers, ask, askAll, close } = yield* batching(100)
      yield* askAll("a")
      yield* TestClock.adjust(50)
      yield* askAll("b c")
      yield* close
      yield* Fiber.join(yield* ask({ name: "d" }))
      assert.deepStrictEqual(answers.toSorted(), ["a", "b", "c", "d"].map(unavailable))
    })
  )

  it.effect("makes an item fail that was about to be sent", () =>
    Effect.gen(function* () {
      const { answers, askAll, close, sent } = yield* batching(100)
      yield* askAll("a b")
      yield* close
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(sent, [])
      assert.deepStrictEqual(answers, ["a", "b"].map(unavailable))
    })
  )
})

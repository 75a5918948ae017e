import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Gatherer from "../src/Gatherer.ts"

interface Item {
  readonly name: string
  readonly claims?: ReadonlyArray<string>
  readonly needs?: ReadonlyArray<string>
}

/** A gatherer whose batches take so long; what it has sent, and what its items are answered. */
const gathering = Effect.fnUntraced(function* (takes_ms: number) {
  const sent: Array<string> = []
  const answers: Array<string> = []
  const gather = yield* Gatherer.make<Item, string>(1, {
    queueOf: () => 0,
    claimsOf: ({ claims = [] }) => claims,
    needsOf: ({ needs = [] }) => needs,
    max_wait_ms: 10_000,
    sizeOf: () => 1,
    send: (items) =>
      Effect.suspend(() => {
        sent.push(items.map(({ name }) => name).join(" "))
        return Effect.as(
          Effect.sleep(takes_ms),
          items.map(() => "sent")
        )
      }),
    refusal: "refused"
  })
  const ask = (item: Item) =>
    Effect.forkChild(
      Effect.map(gather(item), (answer) => answers.push(`${item.name} ${answer}`)),
      { startImmediately: true }
    )
  return { sent, answers, ask }
})

describe("what is gathered", () => {
  it.effect("goes together while something is under way, in its order", () =>
    Effect.gen(function* () {
      const { ask, sent } = yield* gathering(100)
      yield* ask({ name: "a" })
      yield* TestClock.adjust(50)
      for (const name of ["b", "c"]) yield* ask({ name })
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(sent, ["a", "b c"])
    }).pipe(Effect.scoped)
  )

  it.effect("goes after a batch in which somebody before it claims what it claims or needs, and never with it", () =>
    Effect.gen(function* () {
      const { ask, sent } = yield* gathering(100)
      yield* ask({ name: "first" })
      yield* TestClock.adjust(50)
      yield* ask({ name: "needs", needs: ["x"] })
      yield* ask({ name: "claims", claims: ["x"] })
      yield* ask({ name: "needs later", needs: ["x"] })
      yield* ask({ name: "claims later", claims: ["x"] })
      yield* ask({ name: "other", claims: ["y"], needs: ["z"] })
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(sent, ["first", "needs claims other", "needs later claims later"])
    }).pipe(Effect.scoped)
  )

  it.effect("is refused, and not sent, when it has waited for as long as a call may take", () =>
    Effect.gen(function* () {
      const { answers, ask, sent } = yield* gathering(10_000)
      yield* ask({ name: "a" })
      yield* TestClock.adjust(1)
      for (let i = 0; i < 300; i++) yield* ask({ name: `b${i}` })
      yield* TestClock.adjust(9_999)
      // 200 of them are under way now, and the others have waited for less than the bound.
      assert.deepStrictEqual([answers.length, sent.length], [1, 2])
      const late = yield* ask({ name: "c" })
      yield* TestClock.adjust(10_000)
      yield* Fiber.join(late)
      assert.lengthOf(
        answers.filter((answer) => answer.endsWith("sent")),
        201
      )
      assert.deepStrictEqual(answers.at(-1), "c refused")
      assert.lengthOf(sent, 2)
    }).pipe(Effect.scoped)
  )
})

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { namesOf } from "../../src/carriers/Scenario.ts"
import { lineNames } from "../../src/lines/standard.ts"
import { bytesOf } from "../../src/storage/Change.ts"
import type { Storage } from "../../src/storage/Storage.ts"
import { carriers, offer, offers, prompt } from "../quoting/carriers.ts"
import { advance, beginning, cancel, feed, pass, read, runDue, start, world } from "../support/world.ts"

const refused = ["needs_information", "consent_refused", "rate_limited", "service_unavailable", "internal_error"]

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(...lineNames).chain((line) => {
      const names = namesOf(line).filter((name) => !refused.includes(name))
      return fc.record({ line: fc.constant(line), scenario: fc.option(fc.constantFrom(...names)) })
    })
  },
  { weight: 4, arbitrary: fc.record({ passes_ms: fc.integer({ min: 1, max: 1_500 }) }) },
  fc.record({ cancels: fc.nat(9) }),
  fc.record({ advances: fc.constantFrom(1, 7, 60, 600, 90_000, 2_592_000) })
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** A storage backend that returns no jobs ahead of the clock, so that each runs by itself once the clock reaches it. */
const oneByOne = (storage: Storage["Service"]): Storage["Service"] => ({
  ...storage,
  claim: (query) =>
    query.ahead_ms === undefined ? storage.claim(query) : Effect.succeed({ jobs: [], next_due_at: null, busy: true })
})

/** Counts the changes and claims. */
const counting =
  (counted: { calls: number }) =>
  (storage: Storage["Service"]): Storage["Service"] => ({
    ...storage,
    commit: (change) =>
      Effect.andThen(
        Effect.sync(() => counted.calls++),
        storage.commit(change)
      ),
    claim: (query) =>
      Effect.andThen(
        Effect.sync(() => counted.calls++),
        storage.claim(query)
      )
  })

/** The same without links, and with each identifier replaced by the order of its first appearance. */
const anonymous = (value: unknown): unknown => {
  const seen = new Map<string, number>()
  return JSON.parse(
    JSON.stringify(value)
      .replaceAll(/"(redirect_path|url)":"[^"]*"/g, `"$1":""`)
      .replaceAll(/(evt|qreq|qt|app|org|wks|req)_[0-9a-z]{26}/g, (id) => {
        const number = seen.get(id) ?? seen.size
        seen.set(id, number)
        return `#${number}`
      })
  )
}

/** Plays the steps in a separate world, then advances far. Returns the feed and every request. */
const play = (steps: ReadonlyArray<Step>, around: (storage: Storage["Service"]) => Storage["Service"]) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(beginning)
    const ids: Array<string> = []
    for (const step of steps) {
      if ("line" in step) {
        const { line, scenario } = step
        ids.push((yield* start({ line, ...(scenario !== null && { scenario }) })).id)
      } else if ("passes_ms" in step) yield* pass(step.passes_ms)
      else if ("advances" in step) yield* advance(step.advances)
      else if (ids.length > 0) yield* cancel(ids[step.cancels % ids.length] ?? "")
    }
    yield* advance(600)
    yield* advance(86_400 * 3)
    const reads = yield* Effect.forEach(ids, (id) => read(id))
    return anonymous([yield* feed(), reads])
  }).pipe(Effect.provide(world({ around })), Effect.scoped)

describe("an advance that runs jobs ahead of the clock", () => {
  it.effect("produces the same feed and requests as running the jobs one by one", () =>
    Effect.gen(function* () {
      const sandboxes = fc.sample(fc.array(step, { minLength: 3, maxLength: 40 }), { numRuns: 25, seed: 11 })
      for (const steps of sandboxes) {
        const ahead = yield* play(steps, (storage) => storage)
        assert.deepStrictEqual(ahead, yield* play(steps, oneByOne), JSON.stringify(steps))
      }
    })
  )

  it.effect("makes at most a fifth as many changes and claims as running the jobs one by one", () =>
    Effect.gen(function* () {
      const steps = Array.from(
        { length: 100 },
        (_, place): ReadonlyArray<Step> => [{ line: lineNames[place % 3] ?? "pet", scenario: null }, { passes_ms: 7 }]
      ).flat()
      const [ahead, slow] = [{ calls: 0 }, { calls: 0 }]
      const story = yield* play(steps, counting(ahead))
      assert.deepStrictEqual(story, yield* play(steps, (storage) => counting(slow)(oneByOne(storage))))
      const starts = 100
      assert.isBelow(5 * (ahead.calls - starts), slow.calls - starts)
    })
  )

  it.effect("produces the same feed when a delayed runner catches up", () =>
    Effect.gen(function* () {
      const starts = 60
      const fallBehind = (around: (storage: Storage["Service"]) => Storage["Service"]) =>
        Effect.gen(function* () {
          yield* TestClock.setTime(beginning)
          for (let place = 0; place < starts; place++) {
            yield* start({ line: lineNames[place % 3] ?? "pet" })
            yield* pass(7)
          }
          yield* pass(100_000)
          yield* runDue
          return anonymous(yield* feed())
        }).pipe(Effect.provide(world({ around })), Effect.scoped)
      const [together, slow] = [{ calls: 0 }, { calls: 0 }]
      const story = yield* fallBehind(counting(together))
      assert.deepStrictEqual(story, yield* fallBehind((storage) => counting(slow)(oneByOne(storage))))
      assert.isBelow(3 * (together.calls - starts), slow.calls - starts)
    })
  )

  it.effect("stores large quotes in several changes", () =>
    Effect.gen(function* () {
      const text = "x".repeat(500)
      const hundred = <A>(value: A): ReadonlyArray<A> => Array.from({ length: 100 }, () => value)
      const large = offer({
        conditions: hundred(text),
        assumptions: hundred({ path: text, value: text, source: text })
      })
      const simulation = {
        latency_ms: () => 1_000,
        ignoresRules: () => true,
        callback: () => Effect.die("no callback")
      }
      const sizes: Array<number> = []
      const measured = (storage: Storage["Service"]): Storage["Service"] => ({
        ...storage,
        commit: (change) => {
          sizes.push(bytesOf(change))
          return storage.commit(change)
        }
      })
      const quotes = 100
      yield* Effect.gen(function* () {
        yield* TestClock.setTime(beginning)
        for (let place = 0; place < quotes; place++) yield* start()
        yield* advance(60)
        const created = (yield* feed()).filter(({ type }) => type === "quote.created")
        assert.lengthOf(created, quotes)
      }).pipe(
        Effect.provide(
          world({ around: measured, ...carriers(prompt("wordy", offers(large), { rest: { simulation } })) })
        ),
        Effect.scoped
      )
      const all = sizes.reduce((sum, size) => sum + size, 0)
      assert.isAbove(all, quotes * 400 * text.length)
      assert.isBelow(Math.max(...sizes), all / 2)
    })
  )
})

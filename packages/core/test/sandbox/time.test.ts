import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { namesOf } from "../../src/carriers/Scenario.ts"
import { lineNames } from "../../src/lines/standard.ts"
import { logOf } from "../quoting/log.ts"
import {
  advance,
  beginning,
  feed,
  forceExpiry,
  type InWorld,
  list,
  pass,
  read,
  reset,
  runDue,
  start,
  testInWorld,
  work,
  world
} from "../support/world.ts"

const hour = 3_600

/** Replaces each identifier with the order of its first appearance, so that two runs of the same steps are equal. */
const anonymous = (value: unknown): unknown => {
  const seen = new Map<string, number>()
  return JSON.parse(
    JSON.stringify(value)
      // A link contains the identifiers of its quote and workspace.
      .replaceAll(/"(redirect_path|url)":"[^"]*"/g, `"$1":""`)
      .replaceAll(/(evt|qreq|qt|app|org|wks|req)_[0-9a-z]{26}/g, (id, prefix) => {
        const number = seen.get(id) ?? seen.size
        seen.set(id, number)
        return `${prefix}#${number}`
      })
  )
}

const scenarios = (line: (typeof lineNames)[number]) =>
  namesOf(line).filter(
    (name) =>
      !["needs_information", "consent_refused", "rate_limited", "service_unavailable", "internal_error"].includes(name)
  )

/** Starts every scenario of every line concurrently. Returns everything that can be read afterwards. */
const everything = <E, R>(moves: Effect.Effect<unknown, E, R>) =>
  Effect.gen(function* () {
    const inputs = lineNames.flatMap((line) =>
      [undefined, ...scenarios(line)].map((scenario, i) => ({
        line,
        request_key: `${line}-${i}`,
        ...(scenario !== undefined && { scenario })
      }))
    )
    const started = yield* Effect.forEach(inputs, (input) => start(input), { concurrency: "unbounded" })
    yield* moves
    // The order of the starts is the same in both runs.
    const events = yield* feed()
    const reads = yield* Effect.forEach(started, ({ id }) => read(id))
    return anonymous([events, reads])
  })

/** Plays the steps in a separate world that begins at the same moment. */
const telling = <A>(body: InWorld<A>) => Effect.scoped(Effect.provide(body, world()))

const inSteps = (count: number, seconds: number) =>
  Effect.forEach(Array.from({ length: count }), () => advance(seconds), { discard: true })

describe("an advance of a sandbox's clock", () => {
  it.effect("has the same effect in one step of an hour as in sixty steps of a minute", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      const long = yield* telling(everything(advance(hour)))
      const short = yield* telling(everything(inSteps(60, 60)))
      assert.deepStrictEqual(short, long)
      const uneven = yield* telling(everything(inSteps(1_200, 3)))
      assert.deepStrictEqual(uneven, long)
    })
  )

  it.effect("has the same effect as real time that passes", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      const advanced = yield* telling(everything(advance(700)))
      // Each step waits for the work that is due. Sealing takes real time, for which the test clock does not wait.
      const second = Effect.andThen(pass(1_000), runDue)
      const waited = yield* telling(everything(Effect.repeat(second, { times: 699 })))
      assert.deepStrictEqual(waited, advanced)
    })
  )

  it.effect("has the same effect with a runner in the background", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      const alone = yield* telling(everything(advance(hour)))
      yield* TestClock.setTime(beginning)
      const together = yield* telling(everything(Effect.andThen(work, Effect.andThen(work, inSteps(12, 300)))))
      assert.deepStrictEqual(together, alone)
    })
  )

  testInWorld(
    "gives every event the time at which it was due, in order",
    Effect.gen(function* () {
      yield* everything(advance(90_000))
      const times = (yield* feed()).map(({ occurred_at }) => occurred_at)
      assert.deepStrictEqual(times, times.toSorted())
      assert.isAbove(new Set(times).size, 20)
    })
  )

  testInWorld("logs the remaining time and the speed if it takes long", () => {
    let isSlow = false
    return {
      around: (storage) => ({
        ...storage,
        commit: (change) =>
          Effect.suspend(() => (isSlow ? Effect.delay(storage.commit(change), 4_000) : storage.commit(change)))
      }),
      body: Effect.gen(function* () {
        yield* start({ line: "personal_auto", scenario: "quotes_ready" })
        isSlow = true
        const lines = yield* logOf(
          Effect.gen(function* () {
            const advancing = yield* Effect.forkChild(advance(hour))
            while (advancing.pollUnsafe() === undefined) yield* pass(1_000)
          })
        )
        isSlow = false
        const told = lines.filter(({ text }) => text.includes("is still advancing"))
        assert.isNotEmpty(told)
        const numbers = ["left_seconds", "jobs", "jobs_per_second"]
        for (const { annotations } of told) for (const name of numbers) assert.isAbove(Number(annotations[name]), 0)
      })
    }
  })

  testInWorld(
    "adds its seconds to concurrent advances, and returns when all work is done",
    Effect.gen(function* () {
      const { id } = yield* start({ line: "personal_auto", scenario: "quotes_ready" })
      const answers = yield* Effect.forEach([10, 10, 40], (seconds) => advance(seconds), { concurrency: "unbounded" })
      assert.strictEqual(Math.max(...answers.map(({ workspace }) => workspace.clock_offset_seconds)), 60)
      assert.strictEqual((yield* read(id)).quote_request.status, "completed")
      assert.lengthOf(yield* feed(), 12)
    })
  )

  testInWorld(
    "does not end before another runner's work is done",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start({ line: "personal_auto" })
      const advancing = yield* Effect.forkChild(advance(60))
      yield* pass(10)
      yield* Fiber.join(advancing)
      assert.strictEqual((yield* read(id)).quote_request.status, "completed")
    })
  )

  testInWorld(
    "returns the new time, which stays ahead of real time",
    Effect.gen(function* () {
      const first = yield* advance(90)
      assert.deepInclude(first, { control: "advance_time", replay: null, removed: null })
      assert.deepInclude(first.workspace, {
        clock_offset_seconds: 90,
        workspace_time: "2026-11-20T12:01:30.000Z",
        environment: "sandbox"
      })
      yield* pass(5_000)
      assert.strictEqual((yield* advance(31_536_000)).workspace.workspace_time, "2027-11-20T12:01:35.000Z")
      assert.strictEqual((yield* start()).created_at, "2027-11-20T12:01:35.000Z")
    })
  )

  for (const seconds of [0, -1, 0.5, 31_536_001]) {
    testInWorld(
      `is rejected for ${seconds} seconds`,
      Effect.gen(function* () {
        const error = yield* Effect.flip(advance(seconds))
        assert.deepStrictEqual([error._tag, error.field_errors?.[0]?.path], ["invalid_input", "seconds"])
      })
    )
  }

  testInWorld(
    "is undone by a concurrent reset",
    Effect.gen(function* () {
      yield* everything(Effect.void)
      const advancing = yield* Effect.forkChild(advance(hour))
      yield* Effect.yieldNow
      assert.isUndefined(advancing.pollUnsafe())
      yield* reset()
      yield* Effect.exit(Fiber.join(advancing))
      const { workspace } = yield* advance(1)
      assert.deepInclude(workspace, { clock_offset_seconds: 1, reset_count: 1 })
      assert.deepStrictEqual((yield* list()).quote_requests, [])
    })
  )
})

describe("force_expiry", () => {
  testInWorld(
    "expires every active quote immediately, even without an expiry time, and changes no inactive quote",
    Effect.gen(function* () {
      const unknown = yield* start({ scenario: "expiry_unknown" })
      const withdrawn = yield* start({ scenario: "quote_withdrawn" })
      const pet = yield* start({ line: "pet" })
      yield* advance(600)
      const before = yield* feed()
      const { control, workspace } = yield* forceExpiry()
      assert.deepStrictEqual([control, workspace.quotes_expired_at], ["force_expiry", "2026-11-20T12:10:00.000Z"])
      const reasons = (id: string) =>
        Effect.map(read(id), ({ quotes }) => quotes.map(({ status_details }) => status_details.reason))
      assert.deepStrictEqual(yield* reasons(unknown.id), ["expired", "expired", "expired"])
      assert.deepStrictEqual(yield* reasons(withdrawn.id), ["withdrawn_by_carrier", "expired", "expired"])
      assert.deepStrictEqual(yield* reasons(pet.id), ["expired", "expired", "expired"])
      const events = (yield* feed()).slice(before.length)
      assert.deepStrictEqual(
        events.map(({ occurred_at, type }) => `${type} ${occurred_at}`),
        Array.from({ length: 5 }, () => "quote.expired 2026-11-20T12:10:00.000Z")
      )
      yield* forceExpiry()
      yield* advance(86_400 * 40)
      assert.deepStrictEqual(yield* reasons(unknown.id), ["expired", "expired", "expired"])
    })
  )

  testInWorld(
    "expires more quotes than fit on a page, even while quotes expire on their own",
    Effect.gen(function* () {
      for (let i = 0; i < 60; i++) yield* start({ line: "renters", scenario: "quote_expires_soon" })
      yield* advance(60)
      yield* Effect.all([forceExpiry(), advance(100), forceExpiry()], { concurrency: "unbounded" })
      const expired = (yield* feed()).filter(({ type }) => type === "quote.expired")
      assert.lengthOf(expired, 180)
      assert.lengthOf(new Set(expired.map(({ resource }) => resource.id)), 180)
      assert.isTrue(expired.every(({ resource }) => resource.version === 2))
    })
  )
})

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as operations from "../../src/operations.ts"
import { type CallOptions, World } from "../../src/testing/World.ts"
import { getQuoteRequestTimeline } from "../../src/timeline/TimelineOperations.ts"
import { Timelines } from "../../src/timeline/Timelines.ts"
import { testRecorded } from "../carriers/onRecord.ts"
import { declined, offers, prompt } from "../quoting/carriers.ts"
import { by, eraseRequest } from "../quoting/erasing.ts"
import { live, pass, refusal, start, stranger, testInWorld, work } from "../support/world.ts"

const timeline = (id: string, input: object = {}, options: CallOptions = live) =>
  Effect.flatMap(World, ({ call }) => call(getQuoteRequestTimeline, { id, limit: 100, ...input }, options))

const quoting = [prompt("acme", offers()), prompt("other", declined)]

describe("an organization's request timeline", () => {
  testRecorded(
    "equals the operators' timeline without exchanges, on pages of any size",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start({}, live)
      yield* pass(1_000)
      const told = yield* (yield* Timelines).read(id)
      const whats = told.entries.map(({ what }) => what)
      assert.include(whats, "exchange")
      const whole = yield* timeline(id)
      assert.deepStrictEqual(
        whole.entries.map(({ what }) => what),
        whats.filter((what) => what !== "exchange")
      )
      assert.isNull(whole.next_cursor)
      const paged: Array<unknown> = []
      let cursor: string | null = null
      do {
        const page: typeof whole = yield* timeline(id, { limit: 2, ...(cursor !== null && { cursor }) })
        assert.isAtMost(page.entries.length, 2)
        paged.push(...page.entries)
        cursor = page.next_cursor
      } while (cursor !== null)
      assert.deepStrictEqual(paged, [...whole.entries])
    }),
    quoting
  )

  testInWorld(
    "is not found in another workspace, and rejects another request's cursor",
    Effect.gen(function* () {
      const { id } = yield* start()
      const other = yield* start({ request_key: "another-request" })
      assert.isNotEmpty((yield* timeline(id, {}, {})).entries)
      const theirs = yield* stranger
      for (const options of [{ key: theirs.sandbox }, { key: theirs.live }, live]) {
        assert.strictEqual((yield* refusal(timeline(id, {}, options))).code, "not_found")
      }
      assert.strictEqual((yield* refusal(timeline("qreq_unknown", {}, {}))).code, "not_found")
      yield* (yield* World).call(operations.advanceTime, { seconds: 60 })
      const { next_cursor } = yield* timeline(id, { limit: 1 }, {})
      assert.isNotNull(next_cursor)
      for (const cursor of [next_cursor, "2", "x"]) {
        assert.strictEqual((yield* refusal(timeline(other.id, { cursor }, {}))).code, "invalid_cursor")
      }
    })
  )

  testRecorded(
    "shows an erasure, but not who requested it",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start({}, live)
      yield* pass(1_000)
      yield* eraseRequest(id, { by })
      const told = yield* timeline(id)
      assert.include(
        told.entries.map(({ what }) => what),
        "erased"
      )
      assert.notInclude(JSON.stringify(told), by)
    }),
    quoting
  )
})

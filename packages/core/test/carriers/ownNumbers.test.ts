import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { CarrierReply } from "../../src/carriers/Carrier.ts"
import { kinds } from "../../src/kinds.ts"
import * as Quotewire from "../../src/Quotewire.ts"
import { Retention } from "../../src/runner/Retention.ts"
import { directoryWorkspace, Storage } from "../../src/storage/Storage.ts"
import { sealKeys } from "../../src/testing/World.ts"
import { dayMs, minuteMs } from "../../src/wire/Timestamp.ts"
import {
  callbackOf,
  callingBack,
  carrier,
  carriers,
  declined,
  offers,
  prompt,
  readCallback
} from "../quoting/carriers.ts"
import { eraseRequest } from "../quoting/erasing.ts"
import { logOf, single } from "../quoting/log.ts"
import {
  anotherHost,
  live,
  outcomes,
  pass,
  read,
  reset,
  runDue,
  start,
  stranger,
  testInWorld,
  work
} from "../support/world.ts"

/** The outcome of a callback, as a host answers it. */
const hear = (ref: string, reply: CarrierReply = offers(), genuine = true) =>
  Quotewire.carrierCallback("calls", callbackOf(ref, reply, genuine)).pipe(
    Effect.map((isTaken) => (isTaken ? "taken" : "unknown")),
    Effect.catch(({ status, retry_after_seconds }) => Effect.succeed(`${status}, again in ${retry_after_seconds} s`))
  )

const again = "503, again in 5 s"

/** A carrier that calls back and gives every ask the same number. */
const repeating = () =>
  prompt(
    "calls",
    { kind: "pending", ref: "A-1", poll_after_ms: null },
    { mode: "callback", rest: { callback: readCallback } }
  )

/** The stored references of carriers. */
const references = (storage: Storage["Service"]) =>
  storage.page({
    workspace_id: directoryWorkspace,
    kind: "carrier_reference",
    order: "oldest",
    limit: 10,
    after: null
  })

describe("a callback with the carrier's own reference", () => {
  testInWorld("reaches the ask that the carrier accepted under that reference, but only once", () => {
    const scripted = callingBack("calls")
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        yield* work
        const first = yield* start({}, live)
        yield* pass(10)
        const second = yield* start({}, live)
        yield* pass(10)
        assert.strictEqual(yield* hear("no. 2"), "taken")
        assert.strictEqual(yield* hear("no. 2", declined), "taken")
        assert.deepStrictEqual(yield* outcomes(first.id), ["calls pending"])
        assert.deepStrictEqual(yield* outcomes(second.id), ["calls quoted"])
      })
    }
  })

  testInWorld("is refused if it is forged", () => {
    const scripted = callingBack("calls")
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        assert.strictEqual(yield* hear("no. 1", offers(), false), "unknown")
        assert.strictEqual(yield* hear("no. 7", offers(), false), "unknown")
        assert.deepStrictEqual(yield* outcomes(id), ["calls pending"])
      })
    }
  })

  testInWorld('is answered with "retry later" if it arrives before the ask is answered', () => {
    const hasty = carrier(
      "calls",
      () => Effect.delay(Effect.succeed({ kind: "pending", ref: "A-1", poll_after_ms: null }), 5_000),
      { mode: "callback", idempotent: false, rest: { callback: readCallback } }
    )
    return {
      ...carriers(hasty),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(1_000)
        assert.strictEqual(yield* hear("A-1"), again)
        yield* pass(5_000)
        assert.strictEqual(yield* hear("A-1"), "taken")
        assert.deepStrictEqual(yield* outcomes(id), ["calls quoted"])
      })
    }
  })

  testInWorld('is answered with "retry later" for a minute if its reference is unknown, then with "not found"', () => {
    const scripted = callingBack("calls")
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        assert.strictEqual(yield* hear("A-9"), again)
        yield* pass(minuteMs - 1)
        assert.strictEqual(yield* hear("A-9"), again)
        yield* pass(1)
        assert.strictEqual(yield* hear("A-9"), "unknown")
        assert.strictEqual(yield* hear("x".repeat(201)), "unknown")
      })
    }
  })

  testInWorld("never reaches another organization's ask, even if the carrier reuses the reference", () => {
    const scripted = repeating()
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        const { live: key } = yield* stranger
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        const other = { ...live, key }
        let theirs = ""
        const lines = yield* logOf(
          Effect.gen(function* () {
            theirs = (yield* start({}, other)).id
            yield* runDue
          })
        )
        assert.include(
          String(single(lines, "Dropped a carrier's answer that breaks the rules").annotations.broken_rules),
          "ref: "
        )
        assert.strictEqual(yield* hear("A-1"), "taken")
        assert.deepStrictEqual(yield* outcomes(id), ["calls quoted"])
        const { carriers, quote_ids } = (yield* read(theirs, other)).quote_request
        assert.deepStrictEqual([carriers[0]?.reason, quote_ids], ["unreadable_answer", []])
      })
    }
  })

  testInWorld("reaches the latest ask if the carrier has reused an ended ask's reference", () => {
    const scripted = repeating()
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        yield* work
        yield* start({}, live)
        yield* pass(10)
        assert.strictEqual(yield* hear("A-1", declined), "taken")
        const { id } = yield* start({}, live)
        yield* pass(10)
        assert.strictEqual(yield* hear("A-1"), "taken")
        assert.deepStrictEqual(yield* outcomes(id), ["calls quoted"])
        yield* start()
        yield* pass(2_000)
        yield* reset()
        assert.strictEqual(yield* hear("A-1"), "taken")
        const after = yield* start({}, live)
        yield* pass(10)
        assert.deepStrictEqual(yield* outcomes(after.id), ["calls pending"])
      })
    }
  })

  testInWorld("may contain the ask's idempotency key instead if the carrier has no references", () => {
    const unnamed = prompt(
      "calls",
      { kind: "pending", ref: "", poll_after_ms: null },
      { mode: "callback", rest: { callback: readCallback } }
    )
    return {
      ...carriers(unnamed),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* start({}, live)
        yield* pass(10)
        assert.strictEqual(yield* hear(unnamed.asks[0]?.ask.idempotency_key ?? ""), "taken")
        assert.strictEqual(yield* hear(""), "unknown")
        assert.deepStrictEqual(yield* outcomes(id), ["calls quoted"])
      })
    }
  })

  testInWorld("may say that the answer is ready to be polled", () => {
    const polls: Array<string> = []
    const notifying = callingBack("calls", {
      rest: {
        poll: (_, ref) =>
          Effect.sync(() => {
            polls.push(ref)
            return offers()
          })
      }
    })
    return {
      ...carriers(notifying),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        assert.strictEqual(yield* hear("no. 1", { kind: "pending", ref: "no. 1", poll_after_ms: null }), "unknown")
        assert.strictEqual(yield* hear("no. 1", { kind: "pending", ref: "no. 1", poll_after_ms: 0 }), "taken")
        assert.deepStrictEqual(yield* outcomes(id), ["calls pending"])
        yield* pass(2_000)
        assert.deepStrictEqual([polls, yield* outcomes(id)], [["no. 1"], ["calls quoted"]])
      })
    }
  })

  testInWorld("creates a bounded number of records if the reference is unknown", () => {
    const scripted = callingBack("calls")
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        yield* Effect.forkScoped((yield* Retention).forever)
        const storage = yield* Storage
        const rows = Effect.map(
          Effect.forEach(kinds.all, ({ name: kind }) =>
            storage.page({ workspace_id: directoryWorkspace, kind, order: "oldest", limit: 10_000, after: null })
          ),
          (pages) => pages.flatMap(({ records }) => records)
        )
        const before = yield* rows
        const counts: Array<number> = []
        for (let round = 0; round < 4; round++) {
          for (let nth = 0; nth < 400; nth++) assert.strictEqual(yield* hear(`anna-${round}-${nth}@example.com`), again)
          const found = yield* rows
          counts.push(found.length - before.length)
          assert.notInclude(JSON.stringify(found), "anna")
          yield* pass(minuteMs)
        }
        assert.isAbove(counts[0] ?? 0, 0)
        assert.strictEqual(counts[3], counts[0])
        assert.isBelow(counts[3] ?? 0, 400)
        yield* pass(60 * minuteMs)
        assert.lengthOf(yield* rows, before.length)
      })
    }
  })

  testInWorld("leaves no plain-text reference in storage", () => {
    const scripted = callingBack("calls")
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        const storage = yield* Storage
        const rows = Effect.map(references(storage), ({ records }) =>
          records.map((record) => JSON.stringify({ ...record, body: record.body }))
        )
        assert.lengthOf(yield* rows, 1)
        assert.notInclude((yield* rows).join(), "no. 1")
        yield* eraseRequest(id)
        assert.deepStrictEqual(yield* rows, [])
        assert.strictEqual(yield* hear("no. 1"), again)
      })
    }
  })

  testInWorld("reaches its ask even after a seal key rotation", () => {
    const scripted = callingBack("calls")
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        const rotated = yield* anotherHost({ ...carriers(scripted), seal_keys: sealKeys(1, 0) })
        assert.strictEqual(yield* rotated(hear("no. 1")), "taken")
        assert.deepStrictEqual(yield* outcomes(id), ["calls quoted"])
      })
    }
  })

  testInWorld("leaves no reference in storage once the request's quotes are erased", () => {
    const scripted = callingBack("calls")
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        const storage = yield* Storage
        const retention = yield* Retention
        const kept = Effect.map(references(storage), ({ records }) => records.length)
        yield* start({}, live)
        yield* runDue
        assert.strictEqual(yield* kept, 1)
        yield* pass(394 * dayMs)
        yield* retention.sweep(directoryWorkspace)
        assert.strictEqual(yield* kept, 1)
        yield* pass(2 * dayMs)
        yield* retention.sweep(directoryWorkspace)
        assert.strictEqual(yield* kept, 0)
      })
    }
  })
})

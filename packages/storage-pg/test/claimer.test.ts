import { PgTypes } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Database } from "../src/database/Database.ts"
import * as Claimer from "../src/jobs/Claimer.ts"
import { makeClaim } from "../src/jobs/claim.ts"
import { DueWork } from "../src/jobs/DueWork.ts"
import { workspace } from "./support/hosts.ts"

const query = { now: 0, lease_ms: 30_000, limit: 10 }

const nothing = {
  workspace_id: null,
  number: null,
  kind: null,
  due_at: null,
  lane: null,
  max_leased: null,
  urgent: null,
  payload: null,
  lease: null,
  expired_leases: null,
  next_due_at: null,
  busy: false
}

const job = {
  ...nothing,
  workspace_id: workspace(1),
  number: 1,
  kind: "collect",
  due_at: 0,
  payload: "{}",
  lease: 1,
  expired_leases: 0
}

/** A database that responds to claims with these rows, and records when it was asked. */
const answering = Effect.fnUntraced(function* (row: typeof nothing | typeof job) {
  const asked_at: Array<number> = []
  const asked_for: Array<unknown> = []
  const write: Database["write"] = (_, [moment]) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      asked_at.push(now)
      asked_for.push(PgTypes.isParameter(moment) ? moment.value : moment)
      return [row]
    })
  const claim = yield* Claimer.make(makeClaim({ write }), new DueWork())
  return { asked_at, asked_for, claim }
})

describe("claims in quick succession", () => {
  it.effect("are delayed if the previous claim found nothing", () =>
    Effect.gen(function* () {
      const { asked_at, asked_for, claim } = yield* answering(nothing)
      yield* claim(query)
      const second = yield* Effect.forkChild(claim(query))
      yield* TestClock.adjust(4)
      assert.deepStrictEqual(asked_at, [0])
      yield* TestClock.adjust(1)
      yield* Fiber.join(second)
      assert.deepStrictEqual(asked_at, [0, 5])
      // The time is the caller's, whenever the claim is sent.
      assert.deepStrictEqual(asked_for, [0n, 0n])
      yield* TestClock.adjust(100)
      yield* claim(query)
      assert.deepStrictEqual(asked_at, [0, 5, 105])
    })
  )

  it.effect("are not delayed after a claim that found jobs, or for a single workspace", () =>
    Effect.gen(function* () {
      const busy = yield* answering(job)
      assert.strictEqual((yield* busy.claim(query)).jobs.length, 1)
      yield* busy.claim(query)
      assert.deepStrictEqual(busy.asked_at, [0, 0])

      const idle = yield* answering(nothing)
      yield* idle.claim({ ...query, workspace_id: workspace(1) })
      yield* idle.claim({ ...query, workspace_id: workspace(1) })
      yield* idle.claim(query)
      yield* idle.claim({ ...query, workspace_id: workspace(1) })
      assert.deepStrictEqual(idle.asked_at, [0, 0, 0, 0])
    })
  )
})

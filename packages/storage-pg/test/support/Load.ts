import { assert } from "@effect/vitest"
import { Effect, Option } from "effect"
import { type Port, workspace } from "./hosts.ts"
import { step } from "./moves.ts"

/** Between two calls of one worker, so that the load leaves the machine time for the move. */
const pause = Effect.sleep(5)

/** Puts load on hosts while a cell moves, and checks what it reads. */
export class Load {
  isOver = false
  /** Each writer's latest version that was stored. */
  readonly accepted = new Map<number, number>()
  /** The number of events read in each feed. */
  readonly followed = new Map<number, number>()
  readonly claimed = new Set<string>()

  /** Stores one version after the other. Any failure is a failure of the test. */
  readonly write = (storage: Port, writer: number) =>
    Effect.gen({ self: this }, function* () {
      for (let version = 1; !this.isOver; version++) {
        yield* storage.commit(step(writer, version))
        this.accepted.set(writer, version)
        yield* pause
      }
    })

  /** Reads the latest version of a writer's record, which must not be older than the last accepted version. */
  readonly read = (storage: Port, writer: number) =>
    Effect.gen({ self: this }, function* () {
      const workspace_id = workspace((writer % 4) + 1)
      while (!this.isOver) {
        const before = this.accepted.get(writer) ?? 0
        const found = yield* storage.get({ workspace_id, kind: "idempotency_record", id: `${writer}` })
        const version = Option.match(found, { onNone: () => 0, onSome: ({ version: stored }) => stored })
        assert.isAtLeast(version, before, "a read is older than what was accepted before it")
        yield* pause
      }
    })

  /** Follows a feed, which must have no gaps and be in order. */
  readonly follow = (storage: Port, place: number) =>
    Effect.gen({ self: this }, function* () {
      let after = 0
      while (!this.isOver) {
        const { events } = yield* storage.feed({ workspace_id: workspace(place), after, limit: 1_000 })
        for (const { number } of events) {
          assert.strictEqual(number, after + 1)
          after = number
        }
        this.followed.set(place, after)
        yield* pause
      }
    })

  /** Claims jobs, none of which may be claimed twice while its lease lasts. */
  readonly claim = (storage: Port) =>
    Effect.gen({ self: this }, function* () {
      while (!this.isOver) {
        const claim = storage.claim({ now: 1_000_000, lease_ms: 1_000_000, limit: 20 })
        // A claim that takes longer than a second is abandoned, and its jobs are claimed again.
        const { jobs } = yield* Effect.retry(claim, { while: ({ _tag }) => _tag === "StorageUnavailable" })
        for (const { number, workspace_id } of jobs) {
          assert.isFalse(this.claimed.has(`${workspace_id} ${number}`), "a job is leased twice")
          this.claimed.add(`${workspace_id} ${number}`)
        }
        yield* pause
      }
    })
}

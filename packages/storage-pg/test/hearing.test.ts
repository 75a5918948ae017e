import { assert, describe, it } from "@effect/vitest"
import { Change, Storage } from "@quotewire/core"
import { Clock, Effect, Exit, Redacted, Scope } from "effect"
import { TestClock } from "effect/testing"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"
import { RealClock } from "../src/connection/inRealTime.ts"
import * as Database from "../src/database/Database.ts"
import * as Listener from "../src/hints/Listener.ts"
import * as PlainSchema from "../src/migrations/PlainSchema.ts"
import { type Means, storageOn } from "../src/opening/storageOn.ts"
import { workspace } from "./support/hosts.ts"
import { wireTo } from "./support/Wire.ts"

const unavailable = new Storage.StorageUnavailable({ retry_after_seconds: 1 })

const nothing = { workspace_id: null, next_due_at: null }

type At = (connection: object) => Effect.Effect<void, unknown, Scope.Scope>

/**
 * A storage backend on a database that has no jobs, records its statements, and can move or refuse a kind of statement.
 */
const storageWith = Effect.fnUntraced(function* (listen: Means["listen"]) {
  const sent: Array<string> = []
  let refuses: string | null = null
  const run = (sql: string, params: ReadonlyArray<unknown>) =>
    Effect.suspend(() => {
      sent.push(`${sql} ${JSON.stringify(params, (_, value) => (typeof value === "bigint" ? `${value}` : value))}`)
      if (refuses !== null && sql.includes(refuses)) return Effect.fail(unavailable)
      if (sql.includes("commit_1")) return Effect.succeed([])
      return Effect.succeed([sql.includes("gen_random_uuid") ? { name: "host" } : nothing])
    })
  const uses: Array<At> = []
  const scope = yield* Effect.scope
  const database: Database.PlacedDatabase = {
    schema: "quotewire",
    call_ms: 10_000,
    read: run,
    write: run,
    atEachPlace: (use) => {
      uses.push(use)
      return Scope.provide(use({}), scope)
    }
  }
  const clock = yield* Clock.Clock
  const storage = yield* Effect.provideService(storageOn(database, { listen, writers: 1 }), RealClock, clock)
  return {
    storage,
    sent: (part: string) => sent.filter((statement) => statement.includes(part)).length,
    refuse: (part: string | null) => {
      refuses = part
    },
    move: Effect.forEach(uses, (use) => Effect.exit(Scope.provide(use({}), scope)), { discard: true })
  }
})

const claim = { now: 1, lease_ms: 30_000, limit: 10 }

const withJob = Change.make(workspace(1), {
  jobs: [{ kind: "collect", due_at: 2, ordered: false, payload: "{}" }]
})

describe("a host whose database has moved", () => {
  it.effect("polls for jobs until it receives hints from the new database", () =>
    Effect.gen(function* () {
      const subscribers: Array<Listener.Subscriber> = []
      let refuses = false
      const { move, sent, storage } = yield* storageWith((_, subscriber) =>
        Effect.suspend(() => {
          if (refuses) return Effect.die("nobody can listen here")
          subscribers.push(subscriber)
          return Effect.sync(() => subscriber.listens(true))
        })
      )
      const claims = () => sent("claim_1")
      const claimed = Effect.andThen(storage.claim(claim), Effect.sync(claims))
      yield* claimed
      assert.strictEqual(yield* claimed, 1, "it listens")
      refuses = true
      yield* move
      subscribers[0]?.listens(true)
      yield* TestClock.adjust(5)
      assert.strictEqual(yield* claimed, 2, "the old place does not count")
      refuses = false
      yield* move
      yield* TestClock.adjust(5)
      yield* claimed
      subscribers[0]?.listens(false)
      assert.strictEqual(yield* claimed, 3, "it listens at the new place")
    })
  )

  it.effect("listens to the new database even if its first attempt fails", () =>
    Effect.gen(function* () {
      const { url, wire } = yield* wireTo((yield* scopedDatabase).url)
      const options = { url: Redacted.make(url) }
      const { engineOf } = PlainSchema
      const database = yield* Database.make(options, { find: Effect.succeed(options.url), engineOf, can_move: false })
      const listen = yield* Listener.make
      let hears = false
      const listens = (isListening: boolean) => {
        hears = isListening
      }
      const notify = () => Effect.void
      const subscriber = { host: "host", schema: "quotewire", notify, listens, works: () => true, nextDue: () => {} }
      const attempt = database.atEachPlace((connection) => listen(connection, subscriber))
      wire.refuse()
      assert.isTrue(Exit.isFailure(yield* Effect.exit(attempt)))
      wire.restore()
      yield* attempt
      assert.isTrue(hears)
    })
  )
})

describe("hints", () => {
  it.effect("are resent after the database was unavailable", () =>
    Effect.gen(function* () {
      const { refuse, sent, storage } = yield* storageWith(() => Effect.void)
      const sends = () => sent(`jobs ${workspace(1)}`)
      refuse("pg_notify")
      yield* storage.commit(withJob)
      yield* Effect.yieldNow
      yield* TestClock.adjust(0)
      const before = sends()
      refuse(null)
      yield* TestClock.adjust(1_000)
      assert.strictEqual(sends(), before + 1)
      yield* TestClock.adjust(60_000)
      assert.strictEqual(sends(), before + 1)
    })
  )

  it.effect("are sent even if it is unknown whether the change was stored", () =>
    Effect.gen(function* () {
      const { refuse, sent, storage } = yield* storageWith(() => Effect.void)
      refuse("commit_1")
      assert.strictEqual((yield* Effect.flip(storage.commit(withJob)))._tag, "StorageUnavailable")
      refuse(null)
      yield* TestClock.adjust(50)
      assert.strictEqual(sent(`jobs ${workspace(1)}`), 1)
    })
  )
})

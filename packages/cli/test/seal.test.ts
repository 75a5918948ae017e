import { assert, describe, it } from "@effect/vitest"
import { embed, generateSealKey, type SealedRows } from "@quotewire/core"
import { PgStorage } from "@quotewire/storage-pg"
import { Clock, Effect, Fiber, Redacted } from "effect"
import { Client } from "pg"
import { startIn } from "../../../e2e/chaos/Commands.ts"
import { movableClock } from "../../../test/support/clocks.ts"
import { waitUntil } from "../../../test/support/eventually.ts"
import { freshDatabase, statements } from "../../../test/support/TestDatabase.ts"
import { type Ran, runInProcess } from "./support/inProcess.ts"

const [old_key, new_key, other_key] = [generateSealKey(), generateSealKey(), generateSealKey()]

/** A service on a database with these keys. */
const hostOn = (url: string, ...seal_keys: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => embed({ storage: PgStorage.layer({ url: Redacted.make(url) }), seal_keys, work: false })),
    ({ close }) => Effect.promise(close)
  )

const startOn = Effect.fnUntraced(function* (url: string, ...sealKeys: ReadonlyArray<string>) {
  const host = yield* hostOn(url, ...sealKeys)
  yield* Effect.promise(() => host.ready)
  return host
})

/**
 * Two requests of an organization. The host that made them is closed, because writing its request log would take
 * locks.
 */
const requestsOn = Effect.fnUntraced(function* (url: string) {
  const host = yield* startOn(url, old_key)
  const organization = yield* Effect.promise(() => host.createOrganization("Acme"))
  const { key } = yield* Effect.promise(() =>
    host.createKey({ organization_id: organization.id, environment: "sandbox", kind: "server" })
  )
  const start = (request_key: string) =>
    host.client(key).start_quote_request({
      line: "pet",
      request_key,
      consent_receipt_id: "receipt-of-ada",
      application: {
        applicant: { first_name: "Adalynda", last_name: "Lovelacey" },
        residence: { state: "TX", zip: "78701" },
        pets: [{ name: "Wuschelbart", species: "dog", breed: "mixed", size: "medium", age_years: 3 }]
      }
    })
  const { id } = yield* Effect.promise(() => start("one"))
  yield* Effect.promise(() => start("two"))
  return { id, key }
}, Effect.scoped)

/** A database with requests whose rows are sealed with the old key. */
const world = Effect.gen(function* () {
  const { url } = yield* Effect.acquireRelease(Effect.promise(freshDatabase), ({ drop }) => Effect.promise(drop))
  const { id, key } = yield* requestsOn(url)
  const seal = (args: ReadonlyArray<string>, keys = [new_key, old_key]) =>
    runInProcess(["seal", ...args], { QUOTEWIRE_DATABASE_URL: url, QUOTEWIRE_SEAL_KEYS: keys.join() })
  return { url, seal, key, id }
})

const printed = <A>({ err, how, out }: Ran): A => {
  assert.strictEqual(how, "done", err)
  return JSON.parse(out)
}

/** Whether a session of the database waits for a lock. */
const isHeldUp = async (url: string) => {
  const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
  return (await statements(url, waiting)).length > 0
}

const statusOf = (ran: Ran) => printed<SealedRows.SealStatus>(ran)
const rotationOf = (ran: Ran) => printed<SealedRows.SealRotation>(ran)

describe("quotewire seal", () => {
  it.live("rotates the seal keys in steps, and allows removing a key only once the key is unused", () =>
    Effect.gen(function* () {
      const { id, key, seal, url } = yield* world
      // A rotation before any host has the new key is refused.
      const early = yield* seal(["rotate"])
      assert.match(
        early.err,
        /^quotewire: No host has started with \S{8} as its newest seal key: start every host with this key/
      )
      // A host starts with both keys. The old key still seals rows.
      yield* startOn(url, new_key, old_key)
      const [newest, old] = statusOf(yield* seal(["status", "--json"])).keys
      assert.deepInclude(newest, { position: 1, sealed: 0, removable: false })
      assert.deepInclude(old, { position: 2, removable: false })
      assert.isAbove(old?.sealed ?? 0, 3)
      // Without the old key, neither the command nor a host starts.
      const removed = yield* seal(["rotate"], [new_key])
      assert.match(
        removed.err,
        new RegExp(`must include the key ${old?.key_name} that the storage is sealed with \\(given: 1\\. `)
      )
      const wrong = yield* hostOn(url, other_key)
      const refusal = yield* Effect.promise(() => wrong.ready.then(String, String))
      assert.include(refusal, `${old?.key_name}`)
      // The rotation reseals everything. The old key can then be removed.
      const rotation = rotationOf(yield* seal(["rotate", "--json"]))
      assert.deepInclude(rotation, { complete: true, left: [], removable: [old?.key_name ?? ""] })
      assert.strictEqual(rotation.resealed, old?.sealed)
      const shown = yield* seal(["status"])
      assert.match(
        shown.out,
        /^1\. {2}\S{8} {2}\d+ sealed {2}\d+ hashed {2}seals new rows\n2\. {2}\S{8} {2}0 sealed {2}[1-9]\d* hashed {2}can be removed from the settings/
      )
      const again = yield* seal(["rotate"])
      assert.match(again.out, /^Resealed: 0, in 1 pass\./)
      // A host with only the new key reads what was sealed before.
      const alone = yield* startOn(url, new_key)
      const read = yield* Effect.promise(() => alone.client(key).get_quote_request({ id, wait_seconds: 0 }))
      assert.strictEqual(read.quote_request.id, id)
      for (const { err, out } of [early, removed, shown, again]) {
        for (const secret of [old_key, new_key]) assert.notInclude(out + err, secret)
      }
    })
  )

  it.live("resumes after it was killed in the middle of a step", () =>
    Effect.gen(function* () {
      const { seal, url } = yield* world
      yield* startOn(url, new_key, old_key)
      const [, old] = statusOf(yield* seal(["status", "--json"])).keys
      const locking = new Client(url)
      yield* Effect.acquireRelease(
        Effect.promise(() => locking.connect()),
        () => Effect.promise(() => locking.end())
      )
      // While this workspace is locked, nothing in it can be resealed.
      yield* Effect.promise(async () => {
        await locking.query("begin")
        await locking.query(
          "select from quotewire.workspace where workspace_id in (select workspace_id from quotewire.record where kind = 'offer' or kind = 'quote_request') for update"
        )
      })
      const start = startIn({ QUOTEWIRE_DATABASE_URL: url, QUOTEWIRE_SEAL_KEYS: [new_key, old_key].join() })
      const running = start("seal", "rotate")
      yield* Effect.promise(async () => {
        await waitUntil(() => isHeldUp(url))
        running.kill()
        await running.ended
        await locking.query("rollback")
      })
      const rotation = rotationOf(yield* seal(["rotate", "--json"]))
      assert.isTrue(rotation.complete)
      const [newest, after] = statusOf(yield* seal(["status", "--json"])).keys
      assert.deepInclude(after, { sealed: 0, removable: true })
      assert.strictEqual(newest?.sealed, old?.sealed)
    })
  )

  it.live("reports its progress during a long run", () =>
    Effect.gen(function* () {
      const { seal, url } = yield* world
      yield* startOn(url, new_key, old_key)
      const locking = new Client(url)
      yield* Effect.acquireRelease(
        Effect.promise(() => locking.connect()),
        () => Effect.promise(() => locking.end())
      )
      yield* Effect.promise(async () => {
        await locking.query("begin")
        await locking.query("select from quotewire.workspace for update")
      })
      const clock = movableClock()
      const running = yield* Effect.forkChild(Effect.provideService(seal(["rotate"]), Clock.Clock, clock))
      yield* Effect.promise(() => waitUntil(() => isHeldUp(url)))
      clock.wall_ms += 2_000
      yield* Effect.promise(() => locking.query("rollback"))
      const { err, how, out } = yield* Fiber.join(running)
      assert.strictEqual(how, "done", err)
      assert.match(err, /^quotewire: Pass 1: \d+ of \d+ workspaces, \d+ read; [1-9]\d* resealed, \d+ per second\.$/m)
      assert.match(out, /^Resealed: [1-9]\d*, in \d+ pass/)
      for (const secret of [old_key, new_key]) assert.notInclude(out + err, secret)
    })
  )

  it.live("can discard a lost seal key, so that hosts start without the key", () =>
    Effect.gen(function* () {
      const { id, key, seal, url } = yield* world
      yield* startOn(url, new_key, old_key)
      const [, old] = statusOf(yield* seal(["status", "--json"])).keys
      const missing = yield* seal(["status"], [new_key])
      assert.match(missing.out, new RegExp(`\n- {2}${old?.key_name} .* missing from the settings: put this key back`))
      const givenUp = yield* seal(["give-up", `${old?.key_name}`], [new_key])
      assert.match(givenUp.out, /is given up/)
      const alone = yield* startOn(url, new_key)
      const lost = yield* Effect.promise(() =>
        alone
          .client(key)
          .get_quote_request({ id, wait_seconds: 0 })
          .then(String, (error) => String(error.code))
      )
      assert.strictEqual(lost, "not_found")
      const wrong = yield* seal(["give-up", `${new_key}`], [new_key])
      assert.strictEqual(wrong.how, "wrong usage")
      assert.notInclude(wrong.err, new_key)
    })
  )
})

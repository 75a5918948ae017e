import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it, layer } from "@effect/vitest"
import { Change } from "@quotewire/core"
import { StorageContract } from "@quotewire/core/testing"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { Client } from "pg"
import * as Certificate from "../../../test/support/certificate.ts"
import { eventually, inRealTime, until } from "../../../test/support/eventually.ts"
import { type PoolMode, pgBouncerVersion, startPgBouncer } from "../../../test/support/PgBouncer.ts"
import { temporaryFolder } from "../../../test/support/PostgresServer.ts"
import { scopedDatabase, statements, type TestDatabase } from "../../../test/support/TestDatabase.ts"
import { open, workspace } from "./support/hosts.ts"
import { Database, onEmpty } from "./support/storage.ts"

/*
 * A real PgBouncer between hosts and PostgreSQL.
 */

const ignored = { ignore_startup_parameters: "statement_timeout,plan_cache_mode" }

/** The address of a pooler in front of a database, for as long as the scope lives. */
const pooler = (url: string, mode: PoolMode, settings: Readonly<Record<string, string>> = {}) =>
  Effect.acquireRelease(
    Effect.promise(() => startPgBouncer(url, mode, settings)),
    ({ stop }) => Effect.promise(stop)
  ).pipe(Effect.map((started) => started.url))

/** Sets the time limit of statements in the database, so that it does not depend on the connection. */
const withTimeLimit = ({ url }: TestDatabase) => {
  const name = new URL(url).pathname.slice(1)
  return Effect.promise(() =>
    statements(
      url,
      `alter database ${name} set statement_timeout = '8s'`,
      `alter database ${name} set plan_cache_mode = force_generic_plan`
    )
  )
}

/** Options of a storage backend that uses a pooler in front of a database. */
const behind = Effect.fnUntraced(function* (database: TestDatabase, mode: PoolMode) {
  yield* withTimeLimit(database)
  const address = Redacted.make(yield* pooler(database.url, mode, mode === "session" ? ignored : {}))
  return mode === "session" ? { ...database.options, url: address } : { ...database.options, pooler_url: address }
})

const storageBehind = (mode: PoolMode) =>
  Layer.unwrap(Effect.flatMap(Database, (database) => Effect.map(behind(database, mode), PgStorage.layer))).pipe(
    Layer.provideMerge(Layer.effect(Database, scopedDatabase))
  )

const event = (place: number): Change.Change =>
  Change.make(workspace(1), { events: [{ id: `evt_${place}`, occurred_at: place, about: [], body: "{}" }] })

const version = pgBouncerVersion ?? "that is installed (skipped: there is none)"

describe.skipIf(pgBouncerVersion === null)(`with PgBouncer ${version}`, () => {
  for (const mode of ["session", "transaction"] as const) {
    layer(storageBehind(mode))(`a storage backend in ${mode} mode`, (it) => {
      for (const { name, needs, run } of StorageContract.cases) {
        it.effect.skipIf(needs === "cells")(name, () => onEmpty(run))
      }
    })

    it.effect(`hosts can send each other hints in ${mode} mode`, () =>
      Effect.gen(function* () {
        const options = yield* behind(yield* scopedDatabase, mode)
        const [one, other] = [yield* open(options), yield* open(options)]
        let heard = 0
        yield* other.watch((hint) => {
          if (hint.about === "events") heard += 1
        })
        yield* one.commit(event(1))
        yield* until(() => heard > 0)
      })
    )

    it.effect(`a host never cancels a write in ${mode} mode, but limits the overdue writes`, () =>
      Effect.gen(function* () {
        const database = yield* scopedDatabase
        const options = yield* behind(database, mode)
        const storage = yield* open({ ...options, call_seconds: 1, write_connections: 1 })
        const outcome = (place: number) =>
          Effect.match(storage.commit(event(place)), { onFailure: ({ _tag }) => _tag, onSuccess: () => "stored" })
        yield* storage.commit(event(1))
        const client = new Client(database.url)
        yield* Effect.acquireRelease(
          Effect.promise(() => client.connect()),
          () => Effect.promise(() => client.end())
        )
        yield* Effect.promise(() => client.query("begin; lock table quotewire.event in exclusive mode"))
        const overdue = yield* Effect.forkChild(inRealTime(outcome(2)))
        assert.strictEqual(yield* Fiber.join(overdue), "StorageUnavailable")
        // Meanwhile the host asks the server whether it still runs the statement.
        const asked =
          "select from pg_stat_activity where application_name like 'quotewire%' and query like '%state = ''active''%'"
        const asking = Effect.promise(() => statements(database.url, `${asked} and datname = current_database()`))
        yield* eventually(Effect.map(asking, (rows) => assert.isNotEmpty(rows)))
        assert.strictEqual(yield* outcome(3), "StorageUnavailable")
        yield* Effect.promise(() => client.query("rollback"))
        yield* eventually(Effect.map(outcome(4), (found) => assert.strictEqual(found, "stored")))
        const feed = yield* storage.feed({ workspace_id: workspace(1), after: 0, limit: 10 })
        const ids = feed.events.map(({ id }) => id)
        assert.include(ids, "evt_2")
        assert.notInclude(ids, "evt_3")
      })
    )
  }

  it.effect("a host can connect to PgBouncer over TLS", () =>
    Effect.gen(function* () {
      const database = yield* scopedDatabase
      yield* withTimeLimit(database)
      const folder = temporaryFolder()
      const { cert, key } = Certificate.make("localhost")
      const files = { client_tls_cert_file: join(folder, "cert"), client_tls_key_file: join(folder, "key") }
      writeFileSync(files.client_tls_cert_file, cert)
      writeFileSync(files.client_tls_key_file, key)
      const address = yield* pooler(database.url, "transaction", { client_tls_sslmode: "require", ...files })
      const from = (params: string) =>
        open({
          ...database.options,
          pooler_url: Redacted.make(`${address.replace("127.0.0.1", "localhost")}?${params}`)
        })
      const storage = yield* from(`sslmode=verify-full&sslrootcert=${files.client_tls_cert_file}`)
      yield* storage.commit(event(1))
      assert.strictEqual((yield* Effect.flip(from("sslmode=verify-full"))).reason, "tls")
    })
  )

  it.effect("a misconfiguration causes a one-sentence error that explains what to do", () =>
    Effect.gen(function* () {
      const database = yield* scopedDatabase
      const other = yield* scopedDatabase
      const [session, timed] = [yield* pooler(database.url, "session"), yield* scopedDatabase]
      yield* withTimeLimit(timed)
      const refusal = (options: Partial<PgStorage.Options>) =>
        Effect.map(
          Effect.flip(Effect.scoped(open({ ...database.options, ...options }))),
          ({ message, reason }) => `${reason}: ${message}`
        )
      const at = Redacted.make
      const unset = yield* refusal({ url: at(session) })
      assert.match(unset, /^pooler: .* set ignore_startup_parameters = statement_timeout,plan_cache_mode\.$/)
      const untimed = yield* refusal({ url: at(yield* pooler(database.url, "session", ignored)) })
      assert.match(untimed, /^pooler: .* no time limit: run "alter role postgres set statement_timeout = '8s'"/)
      const shared = yield* pooler(database.url, "transaction", ignored)
      assert.match(yield* refusal({ url: at(shared) }), /^pooler: .* in transaction mode, at .*: set pooler_url/)
      assert.match(yield* refusal({ pooler_url: at(shared) }), /^pooler: .* no time limit/)
      const elsewhere = yield* pooler(other.url, "transaction")
      assert.match(yield* refusal({ pooler_url: at(elsewhere) }), /^pooler: .* a different server or database/)
      for (const message of [unset, untimed]) assert.notInclude(message, "secret")
    })
  )
})

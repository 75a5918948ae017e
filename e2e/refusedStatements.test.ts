import { assert, layer } from "@effect/vitest"
import { ExampleApplications } from "@quotewire/core/testing"
import { PgStorage } from "@quotewire/storage-pg"
import { Context, Effect, Layer } from "effect"
import { scopedDatabase, statements, type TestDatabase, tables } from "../test/support/TestDatabase.ts"
import { Host, http } from "./host.ts"
import { advance, feed, startRequest, subscribe } from "./support/subscriber.ts"

/*
 * A PostgreSQL that responds but refuses writes, for every temporary reason: a trigger raises the server's error. Each
 * response is also checked against the OpenAPI document, which requires Retry-After with a 503.
 */

/** The error that PostgreSQL raises, and for which statements. */
const refusals = [
  { state: "53100", what: "a full disk", of: "all" },
  { state: "53100", what: "a disk without room for new rows", of: "insert" },
  { state: "53200", what: "no memory", of: "all" },
  { state: "53300", what: "too many connections", of: "all" },
  { state: "57014", what: "a statement timeout", of: "all" },
  { state: "57P01", what: "a shutdown", of: "all" },
  { state: "57P03", what: "a startup", of: "all" },
  { state: "25006", what: "a standby", of: "all" },
  { state: "25P04", what: "a transaction timeout", of: "all" },
  { state: "40001", what: "a serialization failure", of: "all" },
  { state: "40P01", what: "a deadlock", of: "insert" },
  { state: "55P03", what: "an unavailable lock", of: "all" },
  { state: "58030", what: "a failing disk", of: "all" }
] as const

/** Makes every write check whether it is refused. */
const refusable = (url: string) =>
  statements(
    url,
    "create table public.refusal (state text not null, commands text not null)",
    `create function public.refuse() returns trigger language plpgsql as $$ declare refused text; begin
      select r.state into refused from public.refusal r where r.commands in ('all', lower(tg_op));
      if refused is not null then raise exception 'refused' using errcode = refused; end if;
      return null;
    end $$`,
    ...tables.map(
      (table) =>
        `create trigger refuse before insert or update or delete on quotewire.${table} execute function refuse()`
    )
  )

class Database extends Context.Service<Database, TestDatabase>()("test/Database") {}

const database = Layer.effect(
  Database,
  Effect.tap(scopedDatabase, ({ url }) => Effect.promise(() => refusable(url)))
)
const host = Layer.unwrap(Effect.map(Database, ({ options }) => http(PgStorage.layer(options))))

layer(Layer.provideMerge(host, database), { excludeTestServices: true, timeout: "60 seconds" })(
  "a host whose PostgreSQL refuses to write",
  (it) => {
    it.effect.each(refusals)(
      "a host returns 503, can still read, and loses nothing while PostgreSQL refuses writes: $what, $state, $of",
      ({ state, of }) =>
        Effect.gen(function* () {
          const { call, newOrganization } = yield* Host
          const { url } = yield* Database
          const sql = (text: string) => Effect.promise(() => statements(url, text))
          const keys = yield* newOrganization
          const { allAre, receiver } = yield* subscribe(keys)
          const before = yield* startRequest(keys, { request_key: "before" })

          // While writes are refused, calls that write return 503, and reads work.
          yield* Effect.acquireRelease(sql(`insert into public.refusal values ('${state}', '${of}')`), () =>
            sql("delete from public.refusal")
          )
          const start = { line: "renters", consent_receipt_id: "receipt-0001", request_key: "after" }
          const application = ExampleApplications.smallest.renters
          const statuses: Array<number> = []
          for (let tries = 0; tries < 5; tries++) {
            const refused = yield* call(keys, "start_quote_request", { ...start, application })
            statuses.push(refused.status)
            const moved = yield* call(keys, "advance_time", { seconds: 60 }, { idempotency_key: "advance" })
            statuses.push(moved.status)
            const read = yield* call(keys, "get_quote_request", { id: before, wait_seconds: 0 })
            assert.strictEqual(read.status, 200)
            assert.strictEqual((yield* call(keys, "list_events", { limit: 100 })).status, 200)
          }
          assert.deepStrictEqual(new Set(statuses), new Set([503]))
          yield* sql("delete from public.refusal")

          // Afterwards the same calls succeed, and nothing is missing.
          const after = yield* startRequest(keys, { request_key: "after" })
          assert.strictEqual(
            (yield* call(keys, "advance_time", { seconds: 60 }, { idempotency_key: "advance" })).status,
            200
          )
          yield* advance(keys, 60)
          const events = yield* feed(keys)
          assert.lengthOf(events, 16)
          for (const id of [before, after]) {
            const { body } = yield* call(keys, "get_quote_request", { id, wait_seconds: 0 })
            assert.deepStrictEqual([body.quote_request.status, body.quotes.length], ["completed", 3])
          }
          yield* allAre("succeeded", events.length)
          assert.sameMembers(
            [...receiver.ids()],
            events.map(({ id }) => id)
          )
        })
    )
  }
)

import { assert, layer } from "@effect/vitest"
import { ExampleApplications } from "@quotewire/core/testing"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Context, Effect, Fiber, Layer, Redacted } from "effect"
import { FourCells } from "../packages/storage-pg/test/support/cells.ts"
import { Wire } from "../packages/storage-pg/test/support/Wire.ts"
import { statements, tables } from "../test/support/TestDatabase.ts"
import { Host, http } from "./host.ts"
import { advance, askUntil, feed, startRequest, subscribe } from "./support/subscriber.ts"

/*
 * Four cells on two servers. The second and the fourth cell are on the second server, which fails. A host reaches that
 * server through a proxy (`Wire`).
 */

/** Short limits, so that a call to a hanging server does not hang for long. */
const limits = { call_seconds: 1, statement_seconds: 1, connect_seconds: 1 }

/** The second server: the proxy to it, and the address of its database without the proxy. */
class Second extends Context.Service<
  Second,
  { readonly wire: Wire; readonly url: string; readonly cells: PgCells.AllCells }
>()("test/Second") {
  static readonly layer = Layer.effect(
    Second,
    Effect.gen(function* () {
      const { cells, urls } = yield* FourCells
      const address = new URL(urls[1] ?? "")
      const url = address.href
      const wire = yield* Effect.acquireRelease(
        Effect.promise(() => Wire.to(Number(address.port || "5432"))),
        (laid) => Effect.sync(() => laid.close())
      )
      address.host = `127.0.0.1:${wire.port}`
      const wired = Redacted.make(address.href)
      const reached = (cell: PgCells.CellOptions): PgCells.CellOptions => ({
        ...cell,
        ...limits,
        url: Redacted.value(cell.url) === url ? wired : cell.url
      })
      const [home, ...others] = cells
      return { wire, url, cells: [reached(home), ...others.map(reached)] as const }
    })
  )
}

/** A trigger in both cells that fails every insert with a disk-full error. */
const raiseFull = ["quotewire", "fourth_cell"].flatMap((schema) =>
  tables.map(
    (table) => `create trigger full_disk before insert on ${schema}.${table} execute function public.full_disk()`
  )
)
const full = `create or replace function public.full_disk() returns trigger language plpgsql as $$ begin
  raise exception 'full' using errcode = '53100'; end $$`
const dropFull = ["quotewire", "fourth_cell"].flatMap((schema) =>
  tables.map((table) => `drop trigger full_disk on ${schema}.${table}`)
)
const readOnly = (value: "on" | "off") => `do $$ begin
  execute format('alter database %I set default_transaction_read_only = ${value}', current_database());
  perform pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid();
end $$`

interface Fault {
  readonly what: string
  readonly isAnswering: boolean
  readonly begin: (second: Second["Service"]) => Promise<unknown>
  readonly end: (second: Second["Service"]) => Promise<unknown>
}

const faults: ReadonlyArray<Fault> = [
  {
    what: "refuses connections",
    isAnswering: false,
    begin: async ({ wire }) => wire.refuse(),
    end: async ({ wire }) => wire.restore()
  },
  {
    what: "does not respond",
    isAnswering: false,
    begin: async ({ wire }) => wire.silence(),
    end: async ({ wire }) => wire.restore()
  },
  {
    what: "is read-only",
    isAnswering: true,
    begin: ({ url }) => statements(url, readOnly("on")),
    end: ({ url }) => statements(url, "set default_transaction_read_only = off", readOnly("off"))
  },
  {
    what: "raises a disk-full error at every insert",
    isAnswering: true,
    begin: ({ url }) => statements(url, full, ...raiseFull),
    end: ({ url }) => statements(url, ...dropFull)
  }
]

/** Which cells are ready, by the host's health check. The host itself stays ready. */
const cellsOf = Effect.gen(function* () {
  const { base_url } = yield* Host
  const answer = yield* Effect.promise(() => fetch(`${base_url}/health/ready`))
  assert.strictEqual(answer.status, 200)
  const { cells } = yield* Effect.promise(() => answer.json())
  return cells.map(({ ready }: { readonly ready: boolean }) => ready)
})

/** An organization with a waiting request, and whether it lives on the second server. */
const newCaller = Effect.gen(function* () {
  const { newOrganization } = yield* Host
  const { url } = yield* Second
  const keys = yield* newOrganization
  const subscription = yield* subscribe(keys)
  const id = yield* startRequest(keys)
  if (id === undefined) return yield* Effect.die(new Error("the request was refused"))
  const found = ["quotewire", "fourth_cell"].map((schema) => `select from ${schema}.record where id = '${id}'`)
  const rows = yield* Effect.promise(() => statements(url, found.join(" union all ")))
  return { keys, subscription, id, isOnSecond: rows.length > 0 }
}).pipe(
  // The next call notices a connection that died in the previous fault.
  Effect.sandbox,
  Effect.retry({ times: 5 }),
  Effect.orDie
)

/** A caller for each server, once the host can use both servers. */
const callers = Effect.gen(function* () {
  yield* askUntil(cellsOf, (ready) => ready.join() === "true,true,true,true")
  const newUntil = (isOnSecond: boolean) =>
    Effect.repeat(newCaller, { until: (caller) => caller.isOnSecond === isOnSecond, times: 100 })
  return { lost: yield* newUntil(true), other: yield* newUntil(false) }
})

/** The caller has all events of two requests, after those that it had before, and its receiver has each event. */
const hasTwo = Effect.fnUntraced(function* (
  { keys, subscription: { allAre, receiver } }: Effect.Success<typeof newCaller>,
  before: Effect.Success<ReturnType<typeof feed>>
) {
  const events = yield* feed(keys)
  assert.lengthOf(events, 16)
  assert.deepStrictEqual(events.slice(0, before.length), before)
  yield* allAre("succeeded", events.length)
  assert.sameMembers(
    [...receiver.ids()],
    events.map(({ id }) => id)
  )
})

const host = Layer.unwrap(Effect.map(Second, ({ cells }) => http(PgCells.layer(cells))))
const second = Second.layer.pipe(Layer.provide(FourCells.layer))

layer(Layer.provideMerge(host, second), { excludeTestServices: true, timeout: "60 seconds" })(
  "cells on two servers",
  (it) => {
    it.effect.each(faults)(
      "a database server that $what loses no data, and does not affect callers on other servers",
      ({ begin, end, isAnswering }) =>
        Effect.gen(function* () {
          const { call } = yield* Host
          const second = yield* Second
          const { lost, other } = yield* callers
          const [ofLost, ofOther] = [yield* feed(lost.keys), yield* feed(other.keys)]
          let isOver = false
          const over = Effect.promise(async () => {
            if (!isOver) await end(second)
            isOver = true
          })
          yield* Effect.acquireRelease(
            Effect.promise(() => begin(second)),
            () => over
          )
          const start = { line: "renters", consent_receipt_id: "receipt-0001", request_key: "during" }
          const during = { ...start, application: ExampleApplications.smallest.renters }
          assert.strictEqual((yield* call(lost.keys, "start_quote_request", during)).status, 503)
          // Writers notice a server that responds but refuses writes.
          yield* askUntil(cellsOf, (ready) => isAnswering || ready.join() === "true,false,true,false")

          const polled = yield* Effect.forkChild(
            call(other.keys, "get_quote_request", { id: other.id, wait_seconds: 20, since_version: 1 })
          )
          assert.strictEqual((yield* call(other.keys, "start_quote_request", during)).status, 202)
          yield* advance(other.keys, 60)
          yield* hasTwo(other, ofOther)
          assert.strictEqual((yield* call(lost.keys, "start_quote_request", during)).status, 503)
          assert.strictEqual((yield* Fiber.join(polled)).status, 200)

          yield* over
          yield* askUntil(cellsOf, (ready) => ready.join() === "true,true,true,true")
          yield* askUntil(call(lost.keys, "start_quote_request", during), ({ status }) => status === 202)
          yield* advance(lost.keys, 60)
          yield* hasTwo(lost, ofLost)
        })
    )
  }
)

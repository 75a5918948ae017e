import { assert, layer } from "@effect/vitest"
import { kinds } from "@quotewire/core"
import { Effect } from "effect"
import { sources } from "../../../test/support/sources.ts"
import { statements } from "../../../test/support/TestDatabase.ts"
import { query } from "../src/sql/files.ts"
import { Database, storage } from "./support/storage.ts"
import { namesItsConstraint } from "./support/violation.ts"

/** The constraint that refuses a statement. */
const refusalOf = (sql: string) =>
  Effect.flatMap(Database, ({ url }) =>
    Effect.promise(() =>
      statements(url, sql).then(
        () => "none",
        (error: { readonly constraint?: string }) => error.constraint ?? String(error)
      )
    )
  )

const recordColumns = "workspace_id, kind, id, version, labels, about, created_at, updated_at, body"
const insertRecord = (table: string, kind: string, version: number, about = "{}") =>
  `insert into quotewire.${table} (${recordColumns}) values ('w', '${kind}', '1', ${version}, '{}', '${about}', 0, 0, '{}')`

const insertJob = (columns: Readonly<Record<string, string>>) => {
  const row = { workspace_id: "'w'", number: "1", kind: "'collect'", due_at: "0", ready_at: "0", payload: "'{}'" }
  const all = Object.entries({ ...row, ...columns })
  return `insert into quotewire.job (${all.map(([name]) => name)}) values (${all.map(([, value]) => value)})`
}

const insertLane = (name: string, maxLeased: number) =>
  `insert into quotewire.lane (workspace_id, name, max_leased, urgent) values ('w', '${name}', ${maxLeased}, false)`

const broken = [
  ["workspace_last_job_not_negative", "insert into quotewire.workspace values ('w', 0, 0, 0, -1)"],
  ["workspace_erased_through_in_feed", "insert into quotewire.workspace values ('w', 0, -1, -1, 0)"],
  ["workspace_erased_through_in_feed", "insert into quotewire.workspace values ('w', 0, 1, 2, 0)"],
  ["workspace_erased_through_in_feed", "insert into quotewire.workspace values ('w', 0, 1, -1, 0)"],
  ...["record", "older_version"].flatMap((table) => [
    ["record_version_positive", insertRecord(table, "quote", 0)],
    ["record_kind_snake_case", insertRecord(table, "Quote", 1)],
    ["record_kind_snake_case", insertRecord(table, "quote_", 1)],
    ["record_about_at_most_two", insertRecord(table, "quote", 1, "{a,b,c}")]
  ]),
  ["event_number_positive", "insert into quotewire.event values ('w', 0, 'evt_1', 0, '{}', '{}')"],
  ["event_about_at_most_two", "insert into quotewire.event values ('w', 1, 'evt_1', 0, '{a,b,c}', '{}')"],
  ["job_number_positive", insertJob({ number: "0" })],
  ["job_lane_format", insertJob({ lane: "'a'" })],
  ["job_expired_leases_at_most_lease", insertJob({ lease: "1", expired_leases: "2" })],
  ["job_expired_leases_at_most_lease", insertJob({ expired_leases: "-1" })],
  ["job_leased_only_if_held", insertJob({ leased_until: "1" })],
  ["lane_name_format", insertLane("a", 1)],
  ["lane_max_leased_positive", insertLane("ordered", 0)],
  ["tally_window_ms_positive", "insert into quotewire.tally values ('w', 'a', 0, 0, 1)"]
] as const

layer(storage)("the tables' constraints", (it) => {
  it.effect("reject rows that violate an invariant", () =>
    Effect.gen(function* () {
      const found = yield* Effect.forEach(broken, ([, sql]) => refusalOf(sql))
      assert.deepStrictEqual(
        found,
        broken.map(([constraint]) => constraint)
      )
    })
  )

  it.effect("accept every kind of record", () =>
    Effect.gen(function* () {
      const found = yield* Effect.forEach(kinds.all, ({ name }) => refusalOf(insertRecord("record", name, 1)))
      assert.deepStrictEqual([...new Set(found)], ["none"])
    })
  )

  it.effect("include no CHECK constraint that this test does not cover", () =>
    Effect.gen(function* () {
      const { url } = yield* Database
      const rows = yield* Effect.promise(() =>
        statements(
          url,
          "select distinct conname from pg_constraint where contype = 'c' and connamespace = 'quotewire'::regnamespace"
        )
      )
      assert.sameMembers(
        rows.map(({ conname }) => conname),
        [...new Set(broken.map(([constraint]) => constraint))]
      )
    })
  )
})

layer(storage)("the PostgreSQL storage", (it) => {
  it.effect("reports a violated invariant as a defect that names the table and the constraint", () =>
    Effect.flatMap(Database, ({ url }) => namesItsConstraint((sql) => Effect.promise(() => statements(url, sql))))
  )
})

layer(storage)("queries for records", (it) => {
  const where = "from quotewire.record where workspace_id = $1 and kind = $2"
  const queries = [
    ["record_pkey", `select ${where} and id = $3`],
    [
      "record_pkey",
      `select from unnest(array[$1, $2, $3]) k (id) cross join lateral (select ${where} and id = k.id) r`
    ],
    ["record_age", `select ${where} and created_at < $3::bigint order by created_at, id limit 100`]
  ] as const

  it.effect("use an index on the key, or on the age for an erasure, even if the tables are empty", () =>
    Effect.gen(function* () {
      const { url } = yield* Database
      const plans = yield* Effect.forEach(queries, ([, query]) =>
        Effect.promise(() =>
          statements(
            url,
            "set plan_cache_mode = force_generic_plan",
            "set enable_seqscan = off",
            `prepare one as ${query}`,
            "explain (costs off) execute one ('w', 'quote', '1')"
          )
        )
      )
      assert.deepStrictEqual(
        plans.map((rows) => /record_(?:pkey|age)/.exec(JSON.stringify(rows))?.[0]),
        queries.map(([index]) => index)
      )
    })
  )
})

layer(storage)("searches by subject", (it) => {
  const scan = { after: ">", direction: "asc", most: "10000" }
  const queries = [
    [
      ["record_about", "record_about_second"],
      query("scan_about", scan),
      "(text, text, text, text, text[])",
      "('w', 'delivery', '', 'sub_1', '{a,b}')"
    ],
    [
      ["event_about", "event_about_second"],
      query("feed", { events: query("feed_about") }),
      "(text, bigint, bigint, text[])",
      "('w', 0, 10, '{a,b}')"
    ]
  ] as const

  it.effect("use an index on either subject, even if the tables are empty", () =>
    Effect.gen(function* () {
      const { url } = yield* Database
      for (const [indexes, sql, types, values] of queries) {
        const plan = yield* Effect.promise(() =>
          statements(
            url,
            "set plan_cache_mode = force_generic_plan",
            `prepare one ${types} as ${sql}`,
            `explain (costs off) execute one ${values}`
          )
        )
        const used = JSON.stringify(plan).matchAll(/(?:Scan|using|on) ((?:record|event)_\w+)/g)
        assert.sameMembers([...new Set(Array.from(used, ([, name]) => name))], [...indexes])
      }
    })
  )
})

layer(storage)("counting due jobs", (it) => {
  const fill = [
    "insert into quotewire.workspace (workspace_id) select 'w' || n from generate_series(1, 2000) n",
    `insert into quotewire.job (workspace_id, number, kind, due_at, ready_at, lane, payload)
      select 'w' || 1 + n % 2000, n, 'collect', n, n, case when n > 10 then 'lane ' || n % 40 end, '{}'
      from generate_series(1, 40000) n`,
    `insert into quotewire.lane (workspace_id, name, max_leased, urgent, ready_at)
      select workspace_id, lane, 1, lane = 'lane 0', min(ready_at) from quotewire.job where lane is not null group by 1, 2`,
    "analyze quotewire.workspace, quotewire.job, quotewire.lane"
  ]

  it.effect("uses an index and stops at the limit, even in full tables", () =>
    Effect.gen(function* () {
      const { url } = yield* Database
      const plan = yield* Effect.promise(() =>
        statements(
          url,
          ...fill,
          "set plan_cache_mode = force_generic_plan",
          `prepare backlog (bigint, bigint) as ${query("backlog")}`,
          "explain (analyze, costs off, timing off, summary off) execute backlog (30000, 1000)"
        )
      )
      const lines = plan.map((row) => String(row["QUERY PLAN"]))
      assert.deepStrictEqual(
        lines.filter((line) => line.includes("Seq Scan")),
        []
      )
      const scans = lines.flatMap((line) => {
        const [, index = "", rows] = /using (\w+).*rows=([\d.]+)/.exec(line) ?? []
        return index === "" ? [] : [{ index, isBounded: Number(rows) <= 1000 }]
      })
      assert.deepStrictEqual(scans.map(({ index }) => index).sort(), [
        "job_ready",
        "job_waiting",
        "lane_ready",
        "lane_urgent",
        "workspace_pkey"
      ])
      assert.isTrue(scans.every(({ isBounded }) => isBounded))
    })
  )
})

layer(storage)("the functions that hosts call", (it) => {
  it.effect("use only plans with indexes, and are planned once", () =>
    Effect.gen(function* () {
      const { url } = yield* Database
      const rows = yield* Effect.promise(() =>
        statements(
          url,
          "select proname, array_to_string(proconfig, ' ') as settings from pg_proc where pronamespace = 'quotewire'::regnamespace and proconfig is not null order by 1"
        )
      )
      const settings = "enable_seqscan=off enable_hashjoin=off enable_mergejoin=off plan_cache_mode=force_generic_plan"
      const called = sources("packages/storage-pg/src", ".ts").flatMap(({ text }) =>
        Array.from(text.matchAll(/DatabaseFunction\.make\(\s*"(\w+)"/g), ([, name = ""]) => name)
      )
      assert.isAbove(called.length, 5)
      assert.deepStrictEqual(
        rows,
        called.sort().map((proname) => ({ proname, settings }))
      )
    })
  )
})

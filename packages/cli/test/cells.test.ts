import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Change, Ids, Storage } from "@quotewire/core"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { emptyDatabase, statements } from "../../../test/support/TestDatabase.ts"
import { runInProcess } from "./support/inProcess.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "quotewire-cells-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

/** A cells file with this content, and the variables that name it. */
const fileOf = Effect.fnUntraced(function* (text: string) {
  const path = join(yield* folder, "cells.json")
  writeFileSync(path, text)
  return { QUOTEWIRE_CELLS: path, QUOTEWIRE_SEAL_KEYS: randomBytes(32).toString("base64") }
})

/** Three cells in one database, each in a schema of its own. */
const threeCells = Effect.gen(function* () {
  const { url } = yield* Effect.acquireRelease(Effect.promise(emptyDatabase), ({ drop }) => Effect.promise(drop))
  const cells = ["one", "two", "three"].map((name) => ({ name, url, schema: `cell_${name}` }))
  return { url, cells, env: yield* fileOf(JSON.stringify(cells)) }
})

/** Stores an overdue job in one of the cells. */
const leaveWork = ([home, ...others]: ReadonlyArray<{
  readonly name: string
  readonly url: string
  readonly schema: string
}>) => {
  const optionsOf = (cell: typeof home): PgCells.CellOptions => ({
    name: cell?.name ?? "",
    url: Redacted.make(cell?.url ?? ""),
    ...(cell !== undefined && { schema: cell.schema })
  })
  const job = { kind: "collect", due_at: 10, ordered: false, payload: "{}" } as const
  const change = Change.make(Ids.WorkspaceId.make(`wks_${"1".repeat(26)}`), { jobs: [job] })
  return Effect.flatMap(Storage.Storage, (storage) => storage.commit(change)).pipe(
    Effect.provide(PgCells.layer([optionsOf(home), ...others.map(optionsOf)]))
  )
}

const done = Effect.fnUntraced(function* (args: ReadonlyArray<string>, env: Record<string, string>) {
  const { err, how, out } = yield* runInProcess([...args, "--json"], env)
  assert.strictEqual(how, "done", err)
  return JSON.parse(out)
})

const secret = "postgres://quotewire:Zq7xSecretZq7x@127.0.0.1:1/none"

describe("the cells file", () => {
  it.effect.each([
    ["is not JSON", "{ name: 1", "must be JSON: "],
    ["is not a list", JSON.stringify({ name: "a", url: secret }), "a JSON list such as"],
    ["is empty", "[]", "a JSON list such as"],
    ["has an invalid name", JSON.stringify([{ name: "Zq7xSecretZq7x", url: secret }]), "in cell 1, name must have"],
    ["has an invalid url", JSON.stringify([{ name: "a", url: "Zq7xSecretZq7x" }]), "in cell 1, url must be"],
    [
      "has an invalid schema",
      JSON.stringify([{ name: "a", url: secret, schema: "Zq7xSecretZq7x" }]),
      "in cell 1, schema must have"
    ],
    [
      "has an invalid moves_to",
      JSON.stringify([{ name: "a", url: secret, moves_to: "Zq7xSecretZq7x" }]),
      "in cell 1, moves_to must be"
    ],
    [
      "moves a cell to its own database",
      JSON.stringify([{ name: "a", url: secret, moves_to: secret }]),
      "in cell 1, moves_to must be"
    ],
    [
      "has an unknown field",
      JSON.stringify([{ name: "a", url: secret, Zq7xSecretZq7x: "a" }]),
      "in cell 1, the fields must be name"
    ],
    [
      "has two cells with one name",
      JSON.stringify([1, 2].map(() => ({ name: "a", url: secret }))),
      "each cell must have a different name"
    ]
  ] as const)("is refused if it %s, with an error that omits the file's content", ([, text, says]) =>
    Effect.gen(function* () {
      const env = yield* fileOf(text)
      for (const args of [["cells", "list"], ["migrate"], ["serve", "--port", "0"]]) {
        const { err, how, out } = yield* runInProcess(args, env)
        assert.strictEqual(how, "wrong usage")
        assert.match(err, /^quotewire: --cells \(or QUOTEWIRE_CELLS\) must/)
        assert.include(err, says)
        assert.notInclude(`${out}${err}`, "Zq7xSecret")
      }
    })
  )

  it.effect("cannot be combined with --database-url, but is required without --database-url", () =>
    Effect.gen(function* () {
      const env = yield* fileOf(JSON.stringify([{ name: "a", url: secret }]))
      const both = yield* runInProcess(["migrate"], { ...env, QUOTEWIRE_DATABASE_URL: secret })
      assert.deepStrictEqual(
        [both.how, both.err],
        ["wrong usage", "quotewire: Use either --database-url or --cells, not both."]
      )
      const none = yield* runInProcess(["migrate"], {})
      assert.strictEqual(none.how, "wrong usage")
      assert.include(none.err, "Set QUOTEWIRE_DATABASE_URL (or --database-url, or --cells for several databases)")
      const cells = yield* runInProcess(["cells", "list"], {})
      assert.deepStrictEqual(
        [cells.how, cells.err],
        ["wrong usage", "Set --cells (or QUOTEWIRE_CELLS). See quotewire cells list --help."]
      )
    })
  )
})

describe("--work-cells", () => {
  it.effect.each([
    ["serve", "--port", "0"],
    ["work", "--base-url", "http://127.0.0.1:1"]
  ])("is refused by quotewire %s at startup if it names an unknown cell", (args) =>
    Effect.gen(function* () {
      const env = yield* fileOf(JSON.stringify([{ name: "a", url: secret }]))
      for (const names of ["b", "a,b", ""]) {
        const { err, how } = yield* runInProcess([...args, "--work-cells", names], env)
        assert.deepStrictEqual(
          [how, err],
          [
            "wrong usage",
            "quotewire: --work-cells (or QUOTEWIRE_WORK_CELLS) must name cells from the cells file, separated by commas."
          ]
        )
      }
      const { QUOTEWIRE_SEAL_KEYS } = env
      const alone = { QUOTEWIRE_SEAL_KEYS, QUOTEWIRE_DATABASE_URL: secret, QUOTEWIRE_WORK_CELLS: "a" }
      const { err, how } = yield* runInProcess(args, alone)
      assert.strictEqual(how, "wrong usage")
      assert.include(err, "must be used together with --cells")
    })
  )
})

describe("--database-pooler-url", () => {
  it.effect("is refused with --cells, or if it is not a database URL", () =>
    Effect.gen(function* () {
      const env = yield* fileOf(JSON.stringify([{ name: "a", url: secret }]))
      const args = ["serve", "--port", "0", "--database-pooler-url"]
      const withCells = yield* runInProcess([...args, secret], env)
      assert.deepStrictEqual(
        [withCells.how, withCells.err],
        [
          "wrong usage",
          "quotewire: --database-pooler-url (or QUOTEWIRE_DATABASE_POOLER_URL) must not be used together with --cells, which need addresses without a pooler."
        ]
      )
      const wrong = yield* runInProcess([...args, "localhost:6432"], env)
      assert.strictEqual(wrong.how, "wrong usage")
      assert.include(wrong.err, "--database-pooler-url (or QUOTEWIRE_DATABASE_POOLER_URL) must be an address such as")
    })
  )
})

describe("quotewire cells", () => {
  it.effect("adds cells, lists the cells, and places new workspaces in the cells", () =>
    Effect.gen(function* () {
      const { cells: all, env } = yield* threeCells
      yield* done(["migrate"], env)
      const looked = yield* done(["cells", "add", "two", "--dry-run"], env)
      assert.strictEqual(looked.cells[0].room, null)
      assert.strictEqual((yield* runInProcess(["cells", "check"], env)).how, "failed")
      for (const name of ["one", "two", "three"]) {
        const added = yield* done(["cells", "add", name, ...(name === "three" ? ["--room", "2"] : [])], env)
        assert.deepStrictEqual(
          added.cells.map(({ cell, ready }: { cell: string; ready: boolean }) => [cell, ready]),
          [[name, true]]
        )
      }
      yield* done(["cells", "check"], env)
      for (let place = 0; place < 3; place++) yield* done(["organizations", "create", `Acme ${place}`], env)
      const { cells } = yield* done(["cells", "list"], env)
      assert.deepStrictEqual(
        cells.map(({ cell, room, ready }: { cell: string; room: number; ready: boolean }) => [cell, room, ready]),
        [
          ["one", 1, true],
          ["two", 1, true],
          ["three", 2, true]
        ]
      )
      const counts: ReadonlyArray<number> = cells.map(({ workspaces }: { workspaces: number }) => workspaces)
      assert.strictEqual(
        counts.reduce((sum, count) => sum + count, 0),
        6
      )
      assert.lengthOf((yield* done(["organizations", "list"], env)).organizations, 3)

      yield* leaveWork(all)
      yield* TestClock.setTime(90_010)
      const checked = yield* runInProcess(["cells", "check"], env)
      assert.strictEqual(checked.err, "quotewire: Jobs are overdue in 1 of 3 cells.")
      assert.match(
        checked.out,
        /Due jobs have waited for 90 seconds: check that a host runs this cell's jobs \(--work-cells\)\./
      )
    })
  )

  it.effect("reports which cell is unusable or failed to migrate", () =>
    Effect.gen(function* () {
      const { env, url } = yield* threeCells
      yield* done(["migrate"], env)
      yield* done(["cells", "add", "two"], env)
      yield* Effect.promise(() =>
        statements(url, "drop schema cell_three cascade", "create schema cell_three", "create table cell_three.lane ()")
      )
      const status = yield* runInProcess(["migrate", "--status"], env)
      assert.match(
        status.out,
        /^one {2}Up to date, at migration 1\.\ntwo {2}Up to date, at migration 1\.\nthree {2}At migration 0 of 1\. Pending: begin\.$/
      )
      for (const flags of [["--dry-run"], []]) {
        const migrated = yield* runInProcess(["migrate", ...flags], env)
        assert.strictEqual(migrated.how, "failed")
        assert.match(
          migrated.out,
          /^one {2}The schema is up to date\.\ntwo {2}The schema is up to date\.\nthree {2}The schema cell_three /
        )
        assert.strictEqual(migrated.err, "quotewire: 1 of 3 cells could not be migrated.")
      }
      const checked = yield* runInProcess(["cells", "check"], env)
      assert.strictEqual(checked.how, "failed")
      assert.match(checked.out, /^one .*Ready\.\ntwo .*Ready\.\nthree {2}not added .*migration 0/)
      const unknown = yield* runInProcess(["cells", "add", "four"], env)
      assert.deepStrictEqual(
        [unknown.how, unknown.err],
        ["failed", "quotewire: The settings do not list a cell named four."]
      )
    })
  )
})

import { cpSync, existsSync, mkdirSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { embed, generateSealKey } from "@quotewire/core"
import { postgres } from "@quotewire/storage-pg"
import { Context, Effect, Layer, type Scope } from "effect"
import * as FolderDatabase from "../../src/folder/FolderDatabase.ts"
import { temporaryFolder } from "./temporaryFolder.ts"

const seal_keys = [generateSealKey()]

/** A service on a folder. */
const service = (folder: string) =>
  Effect.acquireRelease(
    Effect.sync(() => embed({ storage: postgres({ data: folder }), seal_keys, work: false })),
    (quotewire) => Effect.promise(() => quotewire.close())
  )

/** Why a service does not start on a folder. */
const refusalOf = (data: string) =>
  Effect.scoped(
    Effect.flatMap(service(data), ({ ready }) =>
      Effect.promise(() =>
        ready.then(
          () => assert.fail("it started"),
          (error: unknown) => (error instanceof Error ? error.message : assert.fail(String(error)))
        )
      )
    )
  )

/** A folder with the organization Acme, which tests copy. */
class Made extends Context.Service<Made, { readonly copy: Effect.Effect<string, never, Scope.Scope> }>()("test/Made") {
  static readonly layer = Layer.effect(
    Made,
    Effect.gen(function* () {
      const made = yield* temporaryFolder
      yield* Effect.scoped(
        Effect.flatMap(service(made), (quotewire) => Effect.promise(() => quotewire.createOrganization("Acme")))
      )
      const copy = Effect.tap(temporaryFolder, (folder) => Effect.sync(() => cpSync(made, folder, { recursive: true })))
      return { copy }
    })
  )
}

const copied = Effect.flatMap(Made, ({ copy }) => copy)
const namesIn = (folder: string) =>
  Effect.scoped(
    Effect.flatMap(service(folder), (quotewire) =>
      Effect.map(
        Effect.promise(() => quotewire.listOrganizations()),
        (all) => all.map(({ name }) => name)
      )
    )
  )

layer(Made.layer, { timeout: 120_000, excludeTestServices: true })("a database in a folder", (it) => {
  it.effect("keeps its data when it is reopened, and can be read only by its owner", () =>
    Effect.gen(function* () {
      const folder = yield* copied
      assert.deepStrictEqual(yield* namesIn(folder), ["Acme"])
      assert.deepStrictEqual(yield* namesIn(folder), ["Acme"])
      if (process.platform !== "win32") assert.strictEqual(statSync(folder).mode & 0o777, 0o700)
    })
  )

  it.effect("cannot be open twice at the same time", () =>
    Effect.gen(function* () {
      const folder = yield* copied
      const first = yield* service(folder)
      yield* Effect.promise(() => first.ready)
      assert.include(yield* refusalOf(folder), `${folder} is in use by the process ${process.pid}`)
    })
  )

  it.effect("is created from scratch if a process died while creating it", () =>
    Effect.gen(function* () {
      const folder = yield* copied
      writeFileSync(join(folder, "database.unfinished"), "")
      truncateSync(join(folder, "database", "global", "pg_control"), 100)
      assert.deepStrictEqual(yield* namesIn(folder), [])
      assert.isFalse(existsSync(join(folder, "database.unfinished")))
    })
  )

  it.effect("cannot be opened if a newer program created the schema", () =>
    Effect.gen(function* () {
      const folder = yield* copied
      const add = "insert into quotewire.migration (number, name, serves_from) values (99, 'later', 99)"
      yield* Effect.scoped(Effect.flatMap(FolderDatabase.open(folder), ({ write }) => write(add, [])))
      assert.match(yield* refusalOf(folder), /^The database schema is at migration 99, which needs a newer program/)
    })
  )

  it.effect("cannot be opened if another PostgreSQL version created it", () =>
    Effect.gen(function* () {
      const folder = yield* copied
      writeFileSync(join(folder, "database", "PG_VERSION"), "17\n")
      const message = yield* refusalOf(folder)
      assert.include(message, `The database in ${folder} was created by PostgreSQL 17`)
    })
  )

  it.effect("cannot be opened if it is damaged, and the error explains what to do", () =>
    Effect.gen(function* () {
      const folder = yield* copied
      truncateSync(join(folder, "database", "global", "pg_control"), 100)
      const message = yield* refusalOf(folder)
      assert.include(message, `The database in ${folder} is damaged`)
      assert.include(message, "restore the folder from a backup, or remove the folder")
    })
  )

  it.effect("cannot be opened if the path is a file or leads through a file", () =>
    Effect.gen(function* () {
      const path = yield* temporaryFolder
      writeFileSync(path, "")
      for (const folder of [path, join(path, "below")]) {
        assert.strictEqual(
          yield* refusalOf(folder),
          `${folder} must be a folder, but it, or a part of its path, is a file.`
        )
      }
    })
  )

  it.effect("cannot be created in a folder with other files", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      mkdirSync(folder)
      writeFileSync(join(folder, "taxes.pdf"), "")
      assert.strictEqual(
        yield* refusalOf(folder),
        `${folder} has other files but no database: choose a new or empty folder.`
      )
    })
  )

  // For root, every folder can be written.
  it.effect.skipIf(process.getuid?.() === 0)("cannot be created in a folder that is not writable", () =>
    Effect.gen(function* () {
      const parent = yield* temporaryFolder
      mkdirSync(parent, { mode: 0o500 })
      assert.include(yield* refusalOf(join(parent, "data")), "cannot be written")
    })
  )

  it.effect("cannot be opened without a path", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* refusalOf(" "), "data must be the path of a folder.")
    })
  )
})

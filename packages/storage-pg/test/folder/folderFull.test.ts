import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import * as FolderDatabase from "../../src/folder/FolderDatabase.ts"
import { temporaryFolder } from "./temporaryFolder.ts"

/*
 * A full disk. Only root could mount a small one, so here the file system of Node refuses to write.
 */

const noSpace = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", errno: -28 })

/** A disk that can be filled, for as long as the scope lives. */
const disk = Effect.acquireRelease(
  Effect.sync(() => {
    const real = fs.writeSync
    let isFull = false
    const replace = (write: typeof fs.writeSync) => {
      fs.writeSync = write
      syncBuiltinESMExports()
    }
    const refusing: typeof fs.writeSync = new Proxy(real, {
      apply: (write, self, args) => {
        if (isFull) throw noSpace
        return Reflect.apply(write, self, args)
      }
    })
    replace(refusing)
    return {
      fill: () => {
        isFull = true
      },
      free: () => {
        isFull = false
      },
      restore: () => replace(real)
    }
  }),
  ({ restore }) => Effect.sync(restore)
)

/** Runs a program, and returns what it logged. */
const logged = <A, E, R>(program: (lines: ReadonlyArray<string>) => Effect.Effect<A, E, R>) => {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => {
    lines.push(String(message))
  })
  return Effect.provide(program(lines), Logger.layer([logger]))
}

const create = "create table public.kept (id integer)"
const insert = "insert into public.kept values ($1::text::integer)"
const ids = "select id from public.kept order by id"
/** Fills the WAL, without which the server cannot run. */
const fillLog = "select pg_logical_emit_message(false, 'x', repeat('x', 20000000))"

const outcome = <A>(statement: Effect.Effect<A, { readonly _tag: string }>) =>
  Effect.match(statement, { onFailure: ({ _tag }) => _tag, onSuccess: () => "done" })

describe("a database in a folder whose disk is full", () => {
  it.live("refuses writes but serves reads, and accepts writes again once there is room", () =>
    logged((lines) =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const { fill, free } = yield* disk
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { read, write } = yield* FolderDatabase.open(folder)
            yield* write(create, [])
            yield* write(insert, ["1"])
            // The next page does not fit.
            fill()
            const many = "insert into public.kept select 2 from generate_series(1, 10000)"
            assert.strictEqual(yield* outcome(write(many, [])), "StorageUnavailable")
            assert.strictEqual(yield* outcome(write(many, [])), "StorageUnavailable")
            assert.deepStrictEqual(yield* read(ids, []), [{ id: 1 }])
            free()
            assert.strictEqual(yield* outcome(write(insert, ["3"])), "done")
          })
        )
        const { read } = yield* FolderDatabase.open(folder)
        assert.deepStrictEqual(yield* read(ids, []), [{ id: 1 }, { id: 3 }])
        const about = lines.filter((line) => line.includes("disk"))
        assert.deepStrictEqual(
          about.map((line) => line.replace(folder, "F")),
          [
            "The disk of F is full: calls that store something fail until there is room. Nothing that was stored is lost."
          ]
        )
      }).pipe(Effect.scoped)
    )
  )

  it.live("stops if its WAL is full, explains what to do, and loses no data", () =>
    logged((lines) =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const { fill, free } = yield* disk
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { read, write } = yield* FolderDatabase.open(folder)
            yield* write(create, [])
            yield* write(insert, ["1"])
            fill()
            assert.strictEqual(yield* outcome(write(fillLog, [])), "StorageUnavailable")
            assert.strictEqual(yield* outcome(write(insert, ["2"])), "StorageUnavailable")
            assert.strictEqual(yield* outcome(read(ids, [])), "StorageUnavailable")
          })
        )
        const refusal = yield* Effect.flip(Effect.scoped(FolderDatabase.open(folder)))
        free()
        const { read } = yield* FolderDatabase.open(folder)
        assert.deepStrictEqual(yield* read(ids, []), [{ id: 1 }])
        const full = `The disk of ${folder} is full: make room, and start again.`
        assert.deepStrictEqual([refusal.message, ...lines.filter((line) => line.includes("disk"))], [full, full])
      }).pipe(Effect.scoped)
    )
  )
})

import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { PostgresServer } from "../../../test/support/PostgresServer.ts"
import { statements } from "../../../test/support/TestDatabase.ts"
import { temporaryFolder } from "./support/folder.ts"
import { runInProcess } from "./support/inProcess.ts"
import { start } from "./support/program.ts"

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start({ durable: false, settings: { wal_level: "logical" } })
})
afterAll(() => server.remove())

/** A file with one cell that moves from one database of the server to another. */
const movable = Effect.gen(function* () {
  yield* Effect.promise(() =>
    statements(server.url("postgres"), "create database old_place", "create database new_place")
  )
  const [url, moves_to] = ["old_place", "new_place"].map((name) => server.url(name))
  const path = join(yield* temporaryFolder, "cells.json")
  writeFileSync(path, JSON.stringify([{ name: "home", url, moves_to }]))
  return { QUOTEWIRE_CELLS: path, QUOTEWIRE_SEAL_KEYS: randomBytes(32).toString("base64") }
})

const done = Effect.fnUntraced(function* (args: ReadonlyArray<string>, env: Record<string, string>) {
  const { err, how, out } = yield* runInProcess(args, env)
  assert.strictEqual(how, "done", err)
  return out
})

/** Starts a move in a separate process, and kills it once it reports its progress. */
const killWhileCopying = (env: Record<string, string>) =>
  Effect.promise(async () => {
    const { child, ended } = start(["cells", "move", "home"], env)
    while (!String((await once(child.stderr, "data"))[0]).includes("Copying"));
    child.kill("SIGKILL")
    await ended
  })

describe("quotewire cells move", () => {
  it.effect("can resume a move after the command was killed", () =>
    Effect.gen(function* () {
      const env = yield* movable
      yield* done(["cells", "add", "home"], env)
      yield* done(["organizations", "create", "Acme"], env)
      assert.strictEqual(yield* done(["cells", "move", "home", "--dry-run"], env), "The cell can be moved.")
      assert.include(yield* done(["cells", "move", "home", "--undo"], env), "Nothing was changed")

      yield* killWhileCopying(env)
      assert.match(
        yield* done(["cells", "list"], env),
        /^home .*Ready\. A move was stopped: run quotewire cells move home again, or with --undo\. The replication slot retains \d+/
      )
      const checked = yield* runInProcess(["cells", "check"], env)
      assert.deepStrictEqual(
        [checked.how, checked.err],
        ["failed", "quotewire: A stopped move retains WAL on its server: resume or undo the move."]
      )
      assert.match(
        yield* done(["cells", "move", "home"], env),
        /^Moved\. In the cells file, set the cell's url to its new address/
      )
      assert.match(yield* done(["cells", "check"], env), /^home {2}room 1 {2}2 workspaces {2}Ready\.$/)
      assert.include(yield* done(["organizations", "list"], env), "Acme")
      const undone = yield* runInProcess(["cells", "move", "home", "--undo", "--dry-run"], env)
      assert.strictEqual(undone.how, "wrong usage")
    })
  )
})

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FolderLock from "../../src/folder/FolderLock.ts"
import { temporaryFolder } from "./temporaryFolder.ts"

const program = fileURLToPath(new URL("holder.ts", import.meta.url))

const emptyFolder = Effect.tap(temporaryFolder, (folder) => Effect.sync(() => mkdirSync(folder)))

const ended = async (child: ChildProcess) => {
  if (child.exitCode === null && child.signalCode === null) await once(child, "close")
}

/** A process that tries to lock the folder, and what it said. */
const holder = (folder: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(process.execPath, [program, folder], { stdio: ["pipe", "pipe", "inherit"] })
      const [said] = await once(child.stdout, "data")
      return { child, said: String(said).trim() }
    }),
    ({ child }) =>
      Effect.promise(() => {
        child.kill("SIGKILL")
        return ended(child)
      })
  )

const lockOnce = (folder: string) => Effect.scoped(FolderLock.lock(folder))

const locksIn = (folder: string) => readdirSync(folder).filter((name) => name.startsWith("lock."))

describe("a folder's lock", () => {
  it.live("cannot be taken while another process holds the lock, and the error names that process", () =>
    Effect.gen(function* () {
      const folder = yield* emptyFolder
      const { child, said } = yield* holder(folder)
      assert.strictEqual(said, "held")
      const refusal = yield* Effect.flip(lockOnce(folder))
      assert.strictEqual(refusal.reason, "in_use")
      assert.strictEqual(
        refusal.message,
        `${folder} is in use by the process ${child.pid}: stop that process first, or use another folder.`
      )
      child.stdin.end()
      yield* Effect.promise(() => ended(child))
      yield* lockOnce(folder)
    })
  )

  it.live("cannot be taken twice by the same process", () =>
    Effect.gen(function* () {
      const folder = yield* emptyFolder
      const { reason } = yield* Effect.scoped(
        Effect.andThen(FolderLock.lock(folder), Effect.flip(FolderLock.lock(folder)))
      )
      assert.strictEqual(reason, "in_use")
      yield* lockOnce(folder)
    })
  )

  it.live(
    "is taken over by exactly one process after its owner was killed",
    () =>
      Effect.gen(function* () {
        const folder = yield* emptyFolder
        for (let round = 0; round < 2; round++) {
          const said = yield* Effect.scoped(
            Effect.map(
              Effect.all(
                Array.from({ length: 4 }, () => holder(folder)),
                { concurrency: "unbounded" }
              ),
              (holders) => holders.map((one) => one.said)
            )
          )
          assert.strictEqual(said.filter((text) => text === "held").length, 1, said.join("\n"))
        }
        // All were killed, so the files that they left behind lock nothing.
        yield* lockOnce(folder)
        assert.isAtMost(locksIn(folder).length, 2)
      }),
    60_000
  )

  it.live("is taken over from a dead owner even if its process ID was reused", () =>
    Effect.gen(function* () {
      const folder = yield* emptyFolder
      yield* Effect.scoped(
        Effect.andThen(
          FolderLock.lock(folder),
          Effect.sync(() => {
            const [name = ""] = locksIn(folder)
            const { owner } = JSON.parse(readFileSync(join(folder, name), "utf8"))
            writeFileSync(join(folder, "lock.8"), JSON.stringify({ owner: { ...owner, started: "an older process" } }))
          })
        )
      )
      // Where the system reports when a process started, the owner has ended; elsewhere this cannot be known.
      const isTold = process.platform === "linux"
      assert.strictEqual(yield* Effect.isSuccess(lockOnce(folder)), isTold)
    })
  )

  it.live("cannot be taken from an owner on another machine; the error names the file to remove", () =>
    Effect.gen(function* () {
      const folder = yield* emptyFolder
      const owner = { pid: 1, host: "elsewhere", started: null }
      writeFileSync(join(folder, "lock.3"), JSON.stringify({ owner }))
      const { message } = yield* Effect.flip(lockOnce(folder))
      assert.include(message, "the process 1 on the machine elsewhere")
      assert.include(message, join(folder, "lock.3"))
    })
  )
})

import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { until } from "./support/eventually.ts"
import { binariesFolder, binariesVariable, folderVariable } from "./support/PostgresServer.ts"
import { root } from "./support/sources.ts"

const module = fileURLToPath(new URL("support/PostgresServer.ts", import.meta.url))

const program = `
  const { PostgresServer } = await import(${JSON.stringify(module)})
  const { folder, port } = await PostgresServer.start({ durable: false })
  console.log(JSON.stringify({ folder, port }))
  setInterval(() => {}, 1000)
`

/** Whether a server is listening. */
const answers = (port: number) =>
  Effect.callback<boolean>((resume) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => resume(Effect.succeed(true)))
    socket.once("error", () => resume(Effect.succeed(false)))
    return Effect.sync(() => socket.destroy())
  })

/** A folder that only the user of this process can enter. */
const privateFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "quotewire-private-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

/** Runs one test file that needs a database, with different binaries. */
const runTests = (binaries: string) =>
  Effect.sync(() =>
    spawnSync(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), "run", "e2e/sealed.test.ts"], {
      cwd: root,
      encoding: "utf8",
      env: { ...process.env, [binariesVariable]: binaries, [folderVariable]: undefined, NO_COLOR: "1" }
    })
  )

/** Programs that replace those of PostgreSQL, each one line of shell. */
const programs = (folder: string, lines: Readonly<Record<"postgres" | "initdb" | "pg_ctl", string>>) =>
  Effect.sync(() => {
    const bin = join(folder, "native/bin")
    mkdirSync(bin, { recursive: true })
    for (const [name, line] of Object.entries(lines)) {
      writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`)
      chmodSync(join(bin, name), 0o755)
    }
    return bin
  })

const failing = "echo 'no space left' >&2; exit 1"

describe("PostgreSQL for tests and benchmarks", () => {
  it.live.runIf(userInfo().uid === 0)("runs in folders that only root can enter, if root starts the server", () =>
    Effect.gen(function* () {
      const folder = yield* privateFolder
      const installed = binariesFolder()
      const binaries = join(folder, "native", basename(installed))
      cpSync(dirname(installed), dirname(binaries), { recursive: true, verbatimSymlinks: true })
      const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
        env: { ...process.env, [binariesVariable]: binaries, TMPDIR: folder },
        cwd: folder
      })
      const { port } = yield* Effect.promise(async () => {
        const [line] = await once(child.stdout, "data")
        return JSON.parse(String(line))
      })
      assert.isTrue(yield* answers(port))
      child.kill("SIGKILL")
    })
  )

  it.live("causes a one-sentence error before the first test if the binaries do not run", () =>
    Effect.gen(function* () {
      const folder = yield* privateFolder
      const { status, stdout, stderr } = yield* runTests(
        yield* programs(folder, { postgres: failing, initdb: failing, pg_ctl: failing })
      )
      assert.strictEqual(status, 1)
      assert.include(stderr, "PostgreSQL cannot run: no space left.")
      assert.notInclude(stdout, "e2e/sealed.test.ts")
    })
  )

  it.live("causes a one-sentence error if a server does not start", () =>
    Effect.gen(function* () {
      const folder = yield* privateFolder
      const { status, stderr } = yield* runTests(
        yield* programs(folder, { postgres: "echo 'postgres (PostgreSQL) 18'", initdb: failing, pg_ctl: failing })
      )
      assert.strictEqual(status, 1)
      assert.match(stderr, /The tests' PostgreSQL did not start: .*no space left/)
    })
  )

  it.live("stops and removes its folder when the process that started the server is killed", () =>
    Effect.gen(function* () {
      const child = spawn(process.execPath, ["--input-type=module", "--eval", program])
      const { folder, port } = yield* Effect.promise(async () => {
        const [line] = await once(child.stdout, "data")
        return JSON.parse(String(line))
      })
      assert.isTrue(yield* answers(port))
      child.kill("SIGKILL")
      yield* until(() => !existsSync(folder))
      assert.isFalse(yield* answers(port))
    })
  )
})

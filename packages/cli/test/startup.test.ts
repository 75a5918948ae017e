import { execFileSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { temporaryFolder } from "./support/folder.ts"
import { runInProcess } from "./support/inProcess.ts"

/*
 * Agent programs can start a process for each call, so a command must load only what it runs.
 */

const program = fileURLToPath(new URL("../bin/quotewire.js", import.meta.url))

/** A module that prints the loaded files when the process ends. */
const hooks = `import { registerHooks } from "node:module"
const loaded = []
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
process.on("exit", () => console.log(loaded.join("\\n")))`

/** Runs the command with an empty standard input. Returns the package files that it loaded. */
const loadedBy = (...args: ReadonlyArray<string>): ReadonlyArray<string> =>
  execFileSync(process.execPath, ["--import", `data:text/javascript,${encodeURIComponent(hooks)}`, program, ...args], {
    input: "",
    encoding: "utf8"
  })
    .split("\n")
    .filter((url) => url.startsWith("file:"))

const service = /\/(?:storage-(?:pg|memory)|core\/dist\/bundle\/index\.js|undici|jose|pg)(?:\/|$)/

describe("a quotewire process", () => {
  it("does not load the service, hosts or storage if the process only forwards calls to a host", () => {
    const loaded = loadedBy("mcp", "--base-url", "http://127.0.0.1:1")
    assert.isTrue(loaded.some((url) => url.endsWith("/mcp/dist/bundle/stdio.js")))
    assert.deepStrictEqual(
      loaded.filter((url) => service.test(url)),
      []
    )
  })

  it("loads the service and the storage if the process serves an agent", () => {
    const loaded = loadedBy("mcp").flatMap((url) => service.exec(url)?.[0] ?? [])
    assert.includeMembers(loaded, ["/storage-memory/", "/core/dist/bundle/index.js", "/jose/", "/undici/"])
  })

  it("loads only the version module to print the version", () => {
    const loaded = loadedBy("--version").filter((url) => !url.endsWith("/cli/bin/quotewire.js"))
    assert.deepStrictEqual(
      loaded.map((url) => url.replace(/^.*\/packages/, "")),
      ["/cli/dist/bundle/version.js"]
    )
  })
})

describe("compiled code", () => {
  it.effect("is cached in the user's own folder, never in the shared temporary folder", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const shared = yield* temporaryFolder
      const { HOME, NODE_COMPILE_CACHE, XDG_CACHE_HOME, ...others } = process.env
      const run = (env: NodeJS.ProcessEnv) =>
        execFileSync(process.execPath, [program, "--help"], { env: { ...others, TMPDIR: shared, ...env } })
      run({})
      assert.deepStrictEqual([readdirSync(home), readdirSync(shared)], [[], []])
      run({ HOME: home })
      assert.isNotEmpty(readdirSync(join(home, ".cache/quotewire")))
      run({ HOME: home, XDG_CACHE_HOME: join(home, "xdg") })
      assert.isNotEmpty(readdirSync(join(home, "xdg/quotewire")))
      assert.isEmpty(readdirSync(shared))
    })
  )
})

describe("a command that is loaded alone", () => {
  it.effect("has the same help, completions and suggestions as when all commands are loaded", () =>
    Effect.gen(function* () {
      const { out } = yield* runInProcess(["--help"], {})
      const names = Array.from(out.matchAll(/^ {2}([a-z]+) {2,}/gm), ([, name = ""]) => name)
      assert.includeMembers(names, ["dev", "serve", "mcp", "cells"])
      for (const name of names) {
        const alone = yield* runInProcess([name, "--help"], {})
        // A flag before the subcommand makes the command load every subcommand.
        const among = yield* runInProcess(["--verbose", name, "--help"], {})
        assert.strictEqual(alone.how, "done")
        assert.deepStrictEqual(alone, among, name)
      }
      const completions = yield* runInProcess(["mcp", "--completions", "bash"], {})
      assert.include(completions.out, "organizations")
      assert.include((yield* runInProcess(["mpc"], {})).err, "the closest is mcp")
    })
  )
})

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { temporaryFolder } from "../support/folder.ts"
import { runInProcess } from "../support/inProcess.ts"
import { launch } from "../support/program.ts"
import { nameOf, projectOf } from "../support/projects.ts"

const manifestIn = (folder: string) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))

describe("quotewire create", () => {
  it.live("writes the chosen files into a new folder, and prints their names and the next steps", () =>
    Effect.gen(function* () {
      const folder = join(yield* temporaryFolder, "my shop")
      const ran = yield* runInProcess(["create", folder, "--in", "Hono", "--carrier", "xml", "--docker"], {})
      assert.deepStrictEqual([ran.how, ran.err], ["done", ""])
      const files = projectOf({ place: "hono", carrier: "xml", line: false, receiver: false, docker: true })
      const lines = ran.out.split("\n")
      assert.deepStrictEqual(lines.slice(0, files.length + 1), [
        `Wrote ${files.length} files:`,
        ...files.map(({ path }) => `  ${path}`)
      ])
      assert.deepStrictEqual(lines.slice(-3), [`  cd '${folder}' && npm install`, "  npm test", "  npm run dev"])
      for (const { path, text } of files.filter(({ path }) => /carriers|config/.test(path))) {
        assert.strictEqual(readFileSync(join(folder, path), "utf8"), text)
      }
      assert.strictEqual(manifestIn(folder).name, "my-shop")
    })
  )

  it.live("prints one line of JSON with --json", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const { out } = yield* runInProcess(["create", folder, "--in", "host", "--json"], {})
      const printed = JSON.parse(out)
      assert.hasAllKeys(printed, ["folder", "files", "next"])
      assert.isTrue(printed.files.every((path: string) => existsSync(join(folder, path))))
    })
  )

  it.live("writes only into a folder that is empty or contains only .git", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      mkdirSync(join(folder, ".git"))
      writeFileSync(join(folder, ".git/HEAD"), "ref: refs/heads/main\n")
      const args = ["create", folder, "--in", "express"]
      assert.strictEqual((yield* runInProcess(args, {})).how, "done")
      const before = readdirSync(folder, { recursive: true, encoding: "utf8" })
      const again = yield* runInProcess(["create", folder, "--in", "next"], {})
      assert.deepStrictEqual([again.how, again.out], ["wrong usage", ""])
      assert.strictEqual(
        again.err,
        "quotewire: <folder> must be empty, apart from .git, or not exist yet. Nothing was written."
      )
      assert.sameMembers(readdirSync(folder, { recursive: true, encoding: "utf8" }), before)
      const file = yield* runInProcess(["create", join(folder, "README.md"), "--in", "next"], {})
      assert.deepStrictEqual([file.how, file.err], ["wrong usage", again.err])
    })
  )

  it.live("explains which flags are wrong, and writes nothing", () =>
    Effect.gen(function* () {
      const folder = join(yield* temporaryFolder, "app")
      const errorOf = (...flags: ReadonlyArray<string>) =>
        Effect.map(runInProcess(["create", folder, ...flags], {}), ({ err, how }) => [how, err])
      assert.deepStrictEqual(yield* errorOf("--in", "koa", "--carrier", "soap"), [
        "wrong usage",
        "--in must be fastify, express, hono, next, nest, or host.\n--carrier must be json, xml, rate-plan, or none.\nSee quotewire create --help."
      ])
      const missing =
        "quotewire: Choose where the service runs: --in must be fastify, express, hono, next, nest, or host."
      assert.deepStrictEqual(yield* errorOf("--line"), ["wrong usage", missing])
      assert.deepStrictEqual(yield* errorOf(), ["wrong usage", missing])
      assert.isFalse(existsSync(folder))
    })
  )

  it.live("asks for each choice at a terminal if no flags are passed", () =>
    Effect.gen(function* () {
      const folder = join(yield* temporaryFolder, "app")
      const { err, how, out } = yield* runInProcess(
        ["create", folder],
        {},
        // The third kind of program, the second carrier, a custom line, no receiver, and no Docker.
        { keys: ["down", "down", "enter", "down", "enter", "y", "n", "n"] }
      )
      assert.strictEqual(how, "done", err)
      for (const question of [
        "Where does it run?",
        "Which kind of custom carrier",
        "bicycles",
        "webhook receiver",
        "Docker"
      ]) {
        assert.include(out, question)
      }
      const choices = { place: "hono", carrier: "json", line: true, receiver: false, docker: false } as const
      assert.strictEqual(nameOf(choices), "hono-json-line")
      for (const { path } of projectOf(choices)) assert.isTrue(existsSync(join(folder, path)), path)
      assert.isFalse(existsSync(join(folder, "receiver")))
    })
  )

  it.live("can be run with npm create quotewire", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const { pathname } = new URL("../../bin/create-quotewire.js", import.meta.url)
      const { code, stderr } = yield* Effect.promise(() => launch([pathname, "--in", "nest"], {}, folder).ended)
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.include(readdirSync(folder), "package.json")
    })
  )
})

import { execFile } from "node:child_process"
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { delimiter, join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Host from "../e2e/fuzz/Host.ts"
import * as refusedLines from "./support/refusedLines.ts"
import { read, root } from "./support/sources.ts"

/*
 * Each of three generators makes a client from the document, as the guide shows. Each client's program is checked with
 * the TypeScript of its workspace and run against a host.
 */

const workspace = join(root, "test/typed-client")
const folder = mkdtempSync(join(workspace, "made-"))
afterAll(() => rmSync(folder, { recursive: true }))

/** The commands of the guide. */
const commands = {
  "openapi-fetch": "openapi-typescript openapi.json --output client.ts",
  "hey-api": "openapi-ts",
  orval: "orval"
}
const generators = Object.entries(commands)

const path = [workspace, root].map((at) => join(at, "node_modules/.bin")).concat(process.env.PATH ?? "")

/** Runs a command as in a shell and returns its output. It may fail. */
const run = (cwd: string, command: string): Promise<string> => {
  const [name = "", ...args] = command.split(" ")
  const env = { ...process.env, PATH: path.join(delimiter), NO_COLOR: "1" }
  return new Promise((resolve) => {
    execFile(name, args, { cwd, env }, (_failed, stdout, stderr) => resolve(`${stdout}${stderr}`))
  })
}

const make = async (generator: string, command: string): Promise<void> => {
  const made = join(folder, generator)
  cpSync(join(root, "examples/generators", generator), made, { recursive: true })
  cpSync(join(root, "docs/reference/openapi.json"), join(made, "openapi.json"))
  cpSync(join(workspace, "names", `${generator}.ts`), join(made, "names.ts"))
  cpSync(join(workspace, "checks.ts"), join(made, "checks.ts"))
  const printed = await run(made, command)
  assert.isTrue(
    readdirSync(made).some((name) => name.startsWith("client")),
    printed
  )
}

describe("a generated client", () => {
  it("knows the type of each fact, and which lists may gain values", {
    timeout: 120_000
  }, async () => {
    for (const file of ["tsconfig.json", "package.json"]) cpSync(join(workspace, file), join(folder, file))
    await Promise.all(generators.map(([generator, command]) => make(generator, command)))
    const printed = await run(folder, "tsc -p .")
    const { text } = read("test/typed-client/checks.ts")
    assert.deepStrictEqual(
      refusedLines.found(printed).toSorted(),
      generators.flatMap(([generator]) => refusedLines.expected(`${generator}/checks.ts`, text)).toSorted(),
      printed
    )
  })

  it.live("starts a request, reads its quotes, and learns which fact is wrong", () =>
    Effect.gen(function* () {
      const { base_url, known } = yield* Host.start
      for (const [generator] of generators) {
        const printed = yield* Effect.promise(() =>
          run(join(folder, generator), `node program.ts ${base_url} ${known.server}`)
        )
        assert.deepStrictEqual(
          printed.trim().split("\n"),
          [
            "Lanternway Renters (sandbox) 16604",
            "Harborline Mutual (sandbox) 20079",
            "Brightstoop Home (sandbox) 18842",
            "invalid_input application.dwelling.year_built"
          ],
          generator
        )
      }
    })
  )

  it("is produced by the commands in the guide", () => {
    const guide = read("docs/guides/generate-a-client.md").text
    for (const [, command] of generators) assert.include(guide, `npx ${command}\n`)
  })
})

import { execFile, execFileSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Host from "../e2e/fuzz/Host.ts"
import { root } from "./support/sources.ts"

/*
 * The document makes a client: openapi-typescript turns it into types, a program is checked against them with the
 * TypeScript that its workspace brings, and run against a host.
 */

const workspace = join(root, "test/typed-client")
const folder = mkdtempSync(join(workspace, "made-"))
afterAll(() => rmSync(folder, { recursive: true }))

const tool = (name: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(process.execPath, [join(workspace, "node_modules", name), ...args], { cwd: folder, encoding: "utf8" })

const isRight = (): boolean => {
  try {
    tool("typescript/bin/tsc", "-p", ".")
    return true
  } catch (refused) {
    printed = refused instanceof Error && "stdout" in refused ? String(refused.stdout) : String(refused)
    return false
  }
}
let printed = ""

/** What stands in the program, what is wrong in its place, and what the compiler says of it. */
const mistakes = [
  ["started.id", "started.number", "'number'"],
  ['line: "renters"', 'line: "boat"', '"boat"'],
  ["premium.amount_minor", "premium.dollars", "'dollars'"]
] as const

describe("a typed client", () => {
  it("is generated from the document, and type-checks a program", () => {
    tool("openapi-typescript/bin/cli.js", join(root, "docs/reference/openapi.json"), "--output", "api.ts")
    for (const file of ["program.ts", "tsconfig.json", "package.json"])
      cpSync(join(workspace, file), join(folder, file))
    const config = readFileSync(join(folder, "tsconfig.json"), "utf8").replace("../../", "../../../")
    writeFileSync(join(folder, "tsconfig.json"), config)
    assert.isTrue(isRight(), printed)
    // Types that accept everything check nothing.
    const program = readFileSync(join(folder, "program.ts"), "utf8")
    const wrong = mistakes.reduce((text, [right, wrong]) => text.replace(right, wrong), program)
    writeFileSync(join(folder, "program.ts"), wrong)
    assert.isFalse(isRight())
    for (const [, , expected] of mistakes) assert.include(printed, expected)
    writeFileSync(join(folder, "program.ts"), program)
  }, 120_000)

  it.live(
    "starts, reads, and follows the events of a host",
    () =>
      Effect.gen(function* () {
        const { base_url, known } = yield* Host.start
        const { stdout } = yield* Effect.promise(() =>
          promisify(execFile)(process.execPath, [join(folder, "program.ts"), base_url, known.server ?? ""])
        )
        assert.deepStrictEqual(stdout.trim().split("\n"), [
          "active Lanternway Renters (sandbox) 16604",
          "active Harborline Mutual (sandbox) 20079",
          "active Brightstoop Home (sandbox) 18842",
          "completed 16 quote_request 5"
        ])
      }),
    60_000
  )
})

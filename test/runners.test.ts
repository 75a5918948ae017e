import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { root } from "./support/sources.ts"

/*
 * The tests of `examples/testing` run in the test runners that people use, on the built packages.
 */

const examples = join(root, "examples/testing")

/** Runs a program in a folder of examples, and gives what it prints. */
const run = async (folder: string, args: ReadonlyArray<string>, node_options = ""): Promise<string> => {
  const env = { PATH: process.env.PATH, NO_COLOR: "1", NODE_OPTIONS: node_options }
  const { stderr, stdout } = await promisify(execFile)(process.execPath, args, { cwd: join(examples, folder), env })
  return stdout + stderr
}

const program = (path: string) => join(root, "node_modules", path)

describe("the tests of a checkout pass", () => {
  it.each([
    ["Vitest", "vitest", [program("vitest/vitest.mjs"), "run", "checkout", "--root=."], "", /Tests +4 passed \(4\)/],
    ["Jest", "jest", [program("jest/bin/jest.js")], "--experimental-vm-modules", /Tests: +4 passed, 4 total/],
    ["node:test", "node", ["--test", "--test-reporter=tap", "checkout.test.ts"], "", /^# pass 4\n# fail 0$/m]
  ] as const)("in %s", async (name, folder, args, node_options, passed) => {
    const report = await run(folder, args, node_options)
    assert.match(report, passed)
    // Only printed, because it depends on the machine.
    console.log(name, /^.*(?:Duration|Time:|# duration_ms).*$/m.exec(report)?.[0]?.trim())
  })
})

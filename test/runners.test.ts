import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { root } from "./support/sources.ts"

/*
 * The tests of `examples/testing` run in popular test runners, on the built packages.
 */

const examples = join(root, "examples/testing")

/** Runs a program in a folder of examples and returns its output. */
const run = async (folder: string, args: ReadonlyArray<string>, nodeOptions = ""): Promise<string> => {
  const env = { PATH: process.env.PATH, NO_COLOR: "1", NODE_OPTIONS: nodeOptions }
  const { stderr, stdout } = await promisify(execFile)(process.execPath, args, { cwd: join(examples, folder), env })
  return stdout + stderr
}

const vitest = join(root, "node_modules/vitest/vitest.mjs")
/** Has its own dependencies, which `npm run integrations` installs. */
const jest = join(examples, "jest/node_modules/jest/bin/jest.js")

const check = async (name: string, report: Promise<string>, passed: RegExp): Promise<void> => {
  const text = await report
  assert.match(text, passed)
  // Printed but not checked, because it depends on the machine.
  console.log(name, /^.*(?:Duration|Time:|# duration_ms).*$/m.exec(text)?.[0]?.trim())
}

describe("the checkout example's tests", () => {
  it("pass in Vitest", () =>
    check("Vitest", run("vitest", [vitest, "run", "checkout", "--root=."]), /Tests +4 passed \(4\)/))

  it("pass in node:test", () =>
    check("node:test", run("node", ["--test", "--test-reporter=tap", "checkout.test.ts"]), /^# pass 4\n# fail 0$/m))

  it.skipIf(!existsSync(jest))("pass in Jest, if `npm run integrations` has installed it", () =>
    check("Jest", run("jest", [jest], "--experimental-vm-modules"), /Tests: +4 passed, 4 total/)
  )
})

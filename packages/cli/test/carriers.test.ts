import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll } from "vitest"
import { plan } from "../../../examples/line.ts"
import example from "../../../examples/rate-plan.json" with { type: "json" }
import { runHere } from "./support/inProcess.ts"

const folder = mkdtempSync(join(tmpdir(), "quotewire-"))
afterAll(() => rmSync(folder, { recursive: true }))

const valid = fileURLToPath(new URL("../../../examples/rate-plan.json", import.meta.url))

/** A file with this text. */
const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const faulty = file("faulty.json", JSON.stringify({ ...example, minimum_cents: 0, rounding: "up" }))

describe("quotewire carriers check", () => {
  it.live("prints a summary of a rate plan without errors", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* runHere(["carriers", "check", valid])
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.match(stdout, /^carrier +Example Mutual, naic:00000$/m)
      assert.match(stdout, /^states +2: NY, TX$/m)
      assert.match(stdout, /^values in tables +12$/m)
      assert.match(stdout, /^example +an old house in Texas: 26671$/m)
    })
  )

  it.live("prints each error of a rate plan on a separate line, and fails", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* runHere(["carriers", "check", faulty])
      assert.deepStrictEqual([code, stderr], [1, "quotewire: The rate plan has errors.\n"])
      assert.strictEqual(
        stdout,
        "rounding: Must be one of cent, dollar.\nminimum_cents: Must be a whole number from 1 to 10000000.\n"
      )
    })
  )

  it.live("prints the errors as JSON with --json", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* runHere(["carriers", "check", faulty, "--json"])
      assert.strictEqual(code, 1)
      const { faults } = JSON.parse(stdout)
      assert.deepStrictEqual(faults[0], { path: "rounding", message: "Must be one of cent, dollar." })
    })
  )

  it.live("checks a custom line's rate plan with the ratings in a configuration file", () =>
    Effect.gen(function* () {
      const bicycles = file("bicycles.json", JSON.stringify(plan))
      const config = fileURLToPath(new URL("support/ratings.config.ts", import.meta.url))
      const checked = yield* runHere(["carriers", "check", bicycles, "--config", config])
      assert.deepStrictEqual([checked.code, checked.stderr], [0, ""])
      assert.match(checked.stdout, /^line +bicycle$/m)
      const dear = file("dear.json", JSON.stringify({ ...plan, minimum_cents: 9_000 }))
      assert.match(
        (yield* runHere(["carriers", "check", dear, "--config", config])).stdout,
        /^examples\.0\.premium_cents: /
      )
      assert.match(
        (yield* runHere(["carriers", "check", bicycles])).stdout,
        /^line: Must be one of personal_auto, renters, pet\.$/m
      )
    })
  )

  const unusable: ReadonlyArray<readonly [string, string, RegExp]> = [
    ["does not exist", join(folder, "none.json"), /^quotewire: <file> must be a readable file\.\n$/],
    ["is a folder", folder, /^quotewire: <file> must be a readable file\.\n$/],
    [
      "is not JSON",
      file("text.json", '{"secret":\n  oops'),
      /^quotewire: <file> must be JSON: [^\n]*text\.json has a syntax error\.\n$/
    ],
    [
      "has a trailing comma",
      file("comma.json", '{"a": 1,\n}'),
      /comma\.json has a syntax error at line 2, column 1\.\n$/
    ]
  ]
  it.live.each(unusable)("reports in one sentence that a file %s", ([, path, sentence]) =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* runHere(["carriers", "check", path])
      assert.deepStrictEqual([code, stdout], [1, ""])
      assert.match(stderr, sentence)
      assert.notInclude(stderr, "secret")
    })
  )
})

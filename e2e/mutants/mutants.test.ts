import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { read, root, sources } from "../../test/support/sources.ts"
import { matches } from "./Mutant.ts"
import { mutants } from "./mutants.ts"

const textOf = (path: string) => readFileSync(join(root, path), "utf8")

describe("the mutants", () => {
  it("replace text that occurs exactly once in its file", () => {
    const outdated = mutants.filter((mutant) => matches(mutant, textOf(mutant.file)) !== 1 || mutant.from === mutant.to)
    assert.deepStrictEqual(
      outdated.map(({ file, name }) => `${name}: ${file}`),
      []
    )
  })

  it("refer to existing tests", () => {
    // The storage tests are named after the rules that every storage backend keeps.
    const rules = sources("packages/core/src/testing/storage", ".ts").map(({ text }) => text)
    const lost = mutants.flatMap(({ found_by, name }) =>
      "test" in found_by && ![textOf(found_by.test), ...rules].some((text) => text.includes(found_by.name))
        ? [`${name}: ${found_by.name}`]
        : []
    )
    assert.deepStrictEqual(lost, [])
  })

  it("match the table in docs/proof.md, and have unique names", () => {
    const rows = read("docs/proof.md").text.matchAll(/^\| (.*?) +\| (?:core|storage-memory|storage-pg|http|mcp)\//gm)
    const listed = Array.from(rows, ([, name = ""]) => name)
    const names = mutants.map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
    assert.deepStrictEqual(listed.toSorted(), names.toSorted())
  })
})

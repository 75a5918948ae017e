import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { generate, targets } from "../scripts/reference.ts"

describe("the generated reference", () => {
  it("is up to date and passes the linter", async () => {
    const texts = await generate()
    assert.lengthOf(texts.readme.match(/^\$ echo \$\?\n0$/gm) ?? [], 1)
    assert.notMatch(texts.readme, /You have \d+ (?:warning|error)/)
    const stale = Object.entries(targets).filter(([name, path]) => {
      const text = Object.entries(texts).find(([key]) => key === name)?.[1]
      return text !== readFileSync(path, "utf8")
    })
    assert.deepStrictEqual(stale, [], "Make it again: npm run docs:reference")
  })
})

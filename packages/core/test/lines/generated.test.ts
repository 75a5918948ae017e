import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { generate, target } from "../../../../scripts/generate.ts"

describe("facts.types.ts", () => {
  it("is what `npm run generate` makes of the schemas", () => {
    assert.strictEqual(readFileSync(target, "utf8"), generate())
  })
})

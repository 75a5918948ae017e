import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { bundle } from "./bundle.ts"

describe("the bundle of a page that uses connect", () => {
  it("is smaller than 15 kB when compressed, and uses nothing that browsers lack", async () => {
    const output = await bundle(fileURLToPath(new URL("../../src/client/index.ts", import.meta.url)))
    assert.lengthOf(output, 1)
    const [{ code, imports }] = output
    assert.deepStrictEqual(imports, [])
    assert.notMatch(code, /\bprocess\.|\bBuffer\b|\brequire\(/)
    const compressed = gzipSync(code).length
    assert.isBelow(compressed, 15_000, `${compressed} bytes`)
    assert.isAbove(compressed, 2_000, "This is not the whole client")
  })
})

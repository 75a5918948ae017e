import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { rolldown } from "rolldown"

const path = (from: string) => fileURLToPath(new URL(from, import.meta.url))

describe("the bundle of a page that uses connect", () => {
  it("is smaller than 15 kB, and needs nothing but the platform", async () => {
    const bundle = await rolldown({
      input: path("../../src/client/index.ts"),
      platform: "browser",
      resolve: { alias: { "@quotewire/core/client": path("../../../core/src/client/index.ts") } },
      // What cannot be found stays an import, which is then seen below.
      onLog: () => {}
    })
    const { output } = await bundle.generate({ format: "esm", minify: true })
    await bundle.close()
    assert.lengthOf(output, 1)
    const [{ code, imports }] = output
    assert.deepStrictEqual(imports, [])
    assert.notMatch(code, /\bprocess\.|\bBuffer\b|\brequire\(/)
    const compressed = gzipSync(code).length
    assert.isBelow(compressed, 15_000, `${compressed} bytes`)
    assert.isAbove(compressed, 2_000, "This is not the whole client")
  })
})

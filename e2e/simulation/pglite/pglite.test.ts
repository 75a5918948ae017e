import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { play } from "../play.ts"
import { linesOf } from "../Story.ts"
import * as Writer from "../Writer.ts"
import * as Ground from "./Ground.ts"

const requests = 3

describe("a simulated service on PGlite", () => {
  let started: Ground.Started | null = null
  const nextGround = () => started?.ground() ?? assert.fail("PGlite has not started")
  beforeAll(async () => {
    started = await Ground.start()
  }, 120_000)
  afterAll(() => started?.close())

  it("keeps every guarantee in the stories of seeds 1 to 10", { timeout: 300_000 }, () => {
    for (let seed = 1; seed <= 10; seed++) {
      const story = Writer.write(seed, { requests })
      assert.deepStrictEqual(play(story, nextGround()).findings, [], linesOf(story).join("\n"))
    }
  })

  it("lets a consumer take over when the host that holds the consumer's lease dies", {
    timeout: 120_000
  }, () => {
    assert.deepStrictEqual(play(Writer.write(4, { requests: 4 }), nextGround()).findings, [])
  })

  it("produces the same trace each time for the same seed", () => {
    const [first, again] = [1, 2].map(() => play(Writer.write(5, { requests }), nextGround()).trace)
    assert.strictEqual(first, again)
  })
})

import { assert, describe, it } from "@effect/vitest"
import * as Grounds from "./Grounds.ts"
import { play } from "./play.ts"
import { linesOf } from "./Story.ts"
import * as Writer from "./Writer.ts"

const requests = 3
const ground = Grounds.inMemory()

describe("a simulated service with failures", () => {
  for (const from of [1, 51, 101, 151]) {
    it(`keeps every guarantee in the stories of seeds ${from} to ${from + 49}`, { timeout: 300_000 }, () => {
      for (let seed = from; seed < from + 50; seed++) {
        const story = Writer.write(seed, { requests })
        assert.deepStrictEqual(play(story, ground(seed)).findings, [], linesOf(story).join("\n"))
      }
    })
  }

  it("produces the same trace each time for the same seed", () => {
    for (const seed of [3, 8, 21]) {
      const traces = [1, 2].map(() => play(Writer.write(seed, { requests }), ground(seed)).trace)
      assert.strictEqual(traces[0], traces[1])
    }
  })
})

import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { digestOf } from "./digest.ts"
import * as Grounds from "./Grounds.ts"
import { knownStories } from "./knownStories.ts"
import { play } from "./play.ts"
import type { Action } from "./Story.ts"
import { shrink } from "./shrink.ts"
import * as Writer from "./Writer.ts"

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))

describe("a simulated story that once revealed a fault", () => {
  const ground = Grounds.inMemory()
  for (const [found, story] of Object.entries(knownStories)) {
    it(`keeps every guarantee: ${found}`, () => {
      for (const seed of [1, 2, 3, 4]) assert.deepStrictEqual(play({ ...story, seed }, ground(seed)).findings, [])
    })
  }
})

describe("a failing simulated story", () => {
  it("is reduced to the steps that cause the failure", () => {
    const story = Writer.write(3, { requests: 12 })
    const isNeeded = (action: Action) => action.do === "start" && (action.request === 2 || action.request === 9)
    const smaller = shrink(story, ({ actions }) => actions.filter(isNeeded).length === 2)
    assert.deepStrictEqual(smaller, { ...story, actions: story.actions.filter(isNeeded) })
    assert.lengthOf(smaller.actions, 2)
  })
})

describe("a simulation seed", () => {
  it("produces the same stored bytes in every process", () => {
    const seeds = [3, 8, 21]
    const sources = pathOf("../mutants/sources.ts")
    const args = ["--import", sources, pathOf("./digest.ts"), ...seeds.map(String)]
    const elsewhere = execFileSync(process.execPath, args, { encoding: "utf8" }).trim().split("\n")
    assert.deepStrictEqual(elsewhere, seeds.map(digestOf))
  })
})

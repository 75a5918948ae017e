import { describe, expect, it } from "@effect/vitest"
import { ById } from "../src/Ordered.ts"

/** Numbers that look random and are the same in every run. */
const scattered = (seed: number) => {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const idOf = (place: number) => place.toString().padStart(8, "0")

describe("items by id", () => {
  it("are found whatever the order of adding, and whatever was deleted between them", () => {
    const random = scattered(7)
    const items = new ById<number>()
    const expected = new Map<string, number>()
    let newest = 50_000
    const add = (place: number) => {
      if (expected.has(idOf(place))) return
      items.add(idOf(place), place)
      expected.set(idOf(place), place)
    }
    const remove = (place: number) => {
      items.delete(idOf(place))
      expected.delete(idOf(place))
    }
    for (let step = 0; step < 20_000; step++) {
      const what = random(10)
      newest += 1 + random(3)
      if (what < 6) add(newest)
      else if (what < 8) add(random(newest))
      else remove(random(newest))
    }
    // As retention does: everything up to somewhere in the middle, whole parts of it.
    for (const place of [...expected.values()]) if (place < 60_000) remove(place)

    for (let place = 0; place <= newest + 1; place++) expect(items.get(idOf(place))).toBe(expected.get(idOf(place)))
    expect(items.size).toBe(expected.size)
    expect([...items.values()].sort()).toEqual([...expected.values()].sort())
  })

  it("can be added again after all were deleted, also before the first one", () => {
    const items = new ById<number>()
    for (const place of [5, 6, 7]) items.add(idOf(place), place)
    for (const place of [5, 6, 7]) items.delete(idOf(place))
    for (const place of [3, 6, 9]) items.add(idOf(place), place)
    expect([3, 5, 6, 7, 9].map((place) => items.get(idOf(place)))).toEqual([3, undefined, 6, undefined, 9])
    expect(items.size).toBe(3)
  })
})

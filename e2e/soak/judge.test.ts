import { assert, describe, it } from "@effect/vitest"
import { crowdBounds, judge, judgeCrowd, type Point, trendOf } from "./judge.ts"

/** A hundred points over one hour, with reproducible noise. */
const points = (value: (hours: number) => number, noise = 0): ReadonlyArray<Point> =>
  Array.from({ length: 100 }, (_, nth) => ({
    hours: nth / 100,
    value: value(nth / 100) + noise * (((nth * 37) % 11) - 5)
  }))

const verdict = (all: ReadonlyArray<Point>, bound: number) => judge({ name: "heap", points: all, bound }).verdict

describe("a linear trend", () => {
  it("has a slope per hour, and no error if the points lie on a line", () => {
    const { error, mean, slope } = trendOf(points((hours) => 7 + 3 * hours))
    assert.closeTo(slope, 3, 1e-9)
    assert.closeTo(error, 0, 1e-9)
    assert.closeTo(mean, 7 + 3 * 0.495, 1e-9)
  })

  it("has an error that grows with noise and shrinks with more points", () => {
    const [some, more] = [trendOf(points(() => 7, 1)), trendOf(points(() => 7, 2))]
    assert.closeTo(more.error, 2 * some.error, 1e-9)
    assert.isAbove(trendOf(points(() => 7, 1).slice(0, 25)).error, some.error)
  })

  it("has an infinite error with fewer than three points", () => {
    assert.strictEqual(trendOf(points((hours) => hours).slice(0, 2)).error, Number.POSITIVE_INFINITY)
  })
})

describe("a figure that a soak run measures", () => {
  it("is judged steady if it grows by less than its bound, and growing if it grows by more", () => {
    // Grows by 4.9 in the judged half hour.
    const growing = points((hours) => 10 * hours)
    assert.strictEqual(verdict(growing, 5), "steady")
    assert.strictEqual(verdict(growing, 4), "grows")
    assert.strictEqual(
      verdict(
        points((hours) => -50 * hours),
        4
      ),
      "steady"
    )
  })

  it("is judged by the second half of its points, after the warm-up", () => {
    assert.strictEqual(
      verdict(
        points((hours) => Math.min(hours, 0.5) * 1_000),
        1
      ),
      "steady"
    )
    assert.strictEqual(
      verdict(
        points((hours) => Math.max(hours, 0.5) * 1_000),
        1
      ),
      "grows"
    )
  })

  it("is judged undecided if its noise exceeds its bound", () => {
    assert.strictEqual(
      verdict(
        points(() => 100, 10),
        1
      ),
      "open"
    )
    assert.strictEqual(
      verdict(
        points((hours) => 1_000 * hours, 10),
        1
      ),
      "grows"
    )
  })
})

describe("a burst of load in a soak run", () => {
  const before = { descriptors: 60, heap: 40e6, rss: 160e6 }
  const judged = (after: Partial<typeof before>, peak_rss = before.rss) =>
    judgeCrowd({ name: "slow readers", before, after: { ...before, ...after }, peak_rss })

  it("fails the run if memory or descriptors exceed their bounds after the burst", () => {
    assert.deepStrictEqual(judged({ heap: before.heap + crowdBounds.heap }), [])
    assert.deepStrictEqual(judged({ descriptors: 71 }), [
      "slow readers: the number of descriptors grew by 11, more than 10"
    ])
    assert.lengthOf(judged({ heap: 90e6, rss: 900e6 }), 2)
    assert.lengthOf(judged({}, 700e6), 1)
  })
})

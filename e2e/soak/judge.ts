/** A measurement, at a time in hours since the beginning. */
export interface Point {
  readonly hours: number
  readonly value: number
}

/** A figure that should not grow. */
export interface Figure {
  readonly name: string
  readonly points: ReadonlyArray<Point>
  /** How much it may grow while it is judged. The longer the run, the smaller the slope that this allows. */
  readonly bound: number
}

/** How a figure changes: its least-squares slope and the standard error of the slope, both per hour. */
export interface Trend {
  readonly mean: number
  readonly slope: number
  readonly error: number
}

/** A judged figure, and how much it grew. */
export interface Judged extends Figure, Trend {
  readonly growth: number
  /** The standard error of the growth. */
  readonly growth_error: number
  /** `open` if the error is too large to decide, which calls for a longer run. */
  readonly verdict: "steady" | "grows" | "open"
}

/** The trend of points; without a slope if there are fewer than three. */
export const trendOf = (points: ReadonlyArray<Point>): Trend => {
  const count = points.length
  const mean = sum(points, ({ value }) => value) / count
  const middle = sum(points, ({ hours }) => hours) / count
  const spread = sum(points, ({ hours }) => (hours - middle) ** 2)
  if (count < 3 || spread === 0) return { mean, slope: 0, error: Number.POSITIVE_INFINITY }
  const slope = sum(points, ({ hours, value }) => (hours - middle) * (value - mean)) / spread
  const rest = sum(points, ({ hours, value }) => (value - mean - slope * (hours - middle)) ** 2)
  return { mean, slope, error: Math.sqrt(rest / (count - 2) / spread) }
}

/** Judges the second half of a figure: in the first half, caches fill up and old data is not erased yet. */
export const judge = (figure: Figure): Judged => {
  const half = figure.points.slice(Math.floor(figure.points.length / 2))
  const trend = trendOf(half)
  const hours = (half.at(-1)?.hours ?? 0) - (half[0]?.hours ?? 0)
  const [growth, growth_error] = [trend.slope * hours, trend.error * hours]
  return { ...figure, ...trend, growth, growth_error, verdict: verdictOf(growth, growth_error, figure.bound) }
}

/**
 * A figure grows if its growth minus two standard errors exceeds the bound, and is steady if its growth plus two does
 * not.
 */
const verdictOf = (growth: number, error: number, bound: number): Judged["verdict"] => {
  if (growth - 2 * error > bound) return "grows"
  return growth + 2 * error > bound ? "open" : "steady"
}

const sum = <A>(all: ReadonlyArray<A>, of: (one: A) => number): number => all.reduce((total, one) => total + of(one), 0)

/** What a host holds before, during and after a crowd. Memory is in bytes. */
export interface Crowd {
  readonly name: string
  readonly before: Holding
  readonly peak_rss: number
  readonly after: Holding
}

/** The descriptors and the memory that a host holds. */
export interface Holding {
  readonly descriptors: number
  readonly heap: number
  readonly rss: number
}

/** How much more a host may hold after a crowd than before, and at its peak. Pages that V8 keeps for later count in its RSS. */
export const crowdBounds = { descriptors: 10, heap: 10e6, rss: 150e6, peak_rss: 500e6 } as const

/** How a host failed to withstand a crowd, in sentences; empty if it did not fail. */
export const judgeCrowd = ({ after, before, name, peak_rss }: Crowd): ReadonlyArray<string> => {
  const bounded = (what: string, more: number, most: number) =>
    more > most ? [`${name}: ${what} grew by ${Math.round(more)}, more than ${most}`] : []
  return [
    ...bounded("RSS at its peak", peak_rss - before.rss, crowdBounds.peak_rss),
    ...bounded("the number of descriptors", after.descriptors - before.descriptors, crowdBounds.descriptors),
    ...bounded("the heap", after.heap - before.heap, crowdBounds.heap),
    ...bounded("RSS", after.rss - before.rss, crowdBounds.rss)
  ]
}

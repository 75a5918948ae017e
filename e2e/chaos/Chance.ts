/** A seeded random number generator (mulberry32). */
export interface Chance {
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly next: () => number
  /** A whole number from 0 (inclusive) to the bound (exclusive). */
  readonly below: (bound: number) => number
  readonly pick: <A>(all: readonly [A, ...ReadonlyArray<A>]) => A
}

export const make = (seed: number): Chance => {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (bound: number) => Math.floor(next() * bound)
  return { next, below, pick: (all) => all[below(all.length)] ?? all[0] }
}

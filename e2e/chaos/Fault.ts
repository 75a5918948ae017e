import type { Chance } from "./Chance.ts"
import type { Lock } from "./Lock.ts"
import type { Service } from "./Service.ts"

/** Strikes, and returns a short description of what it did. */
export type Strike = (target: Service, chance: Chance) => Promise<string>

/** A fault that can strike in a cycle. */
export interface Fault {
  /** The name for coverage counts. */
  readonly name: string
  /** What it strikes: two concurrent faults strike different things. */
  readonly strikes: "process" | "link" | "server" | "cell"
  /** Whether it needs a standby or several cells; null if any service will do. */
  readonly needs: "standby" | "cells" | null
  /** Whether it outlasts a lease: the next cycles strike in the meantime. */
  readonly isLong?: boolean
  readonly strike: Strike
}

/** Picks an item, preferably one that no other fault affects now. */
export const pickFree = <A>(all: readonly [A, ...ReadonlyArray<A>], lockOf: (one: A) => Lock, chance: Chance): A => {
  const drawn = chance.pick(all)
  return lockOf(drawn).isFree ? drawn : (all.find((one) => lockOf(one).isFree) ?? drawn)
}

/** A time from `least` (inclusive) to `most` (exclusive), in milliseconds. */
export const between = (chance: Chance, least: number, most: number): number => least + chance.below(most - least)

/** How long a fault lasts, in milliseconds: usually a short time, but sometimes longer than any call may take. */
export const briefly = (chance: Chance, least: number, most: number): number =>
  Math.floor(least + (most - least) * chance.next() ** 3)

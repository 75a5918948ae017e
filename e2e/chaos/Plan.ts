import * as Chance from "./Chance.ts"
import type { Fault } from "./Fault.ts"
import { hostFaults } from "./HostFaults.ts"
import { linkFaults } from "./LinkFaults.ts"
import { moves } from "./Moves.ts"
import { serverFaults } from "./ServerFaults.ts"

/** Every fault that a cycle can play. */
export const allFaults: ReadonlyArray<Fault> = [...hostFaults, ...linkFaults, ...serverFaults, ...moves]

/** What a service runs on: a server with a synchronous standby, or two servers with a cell each. */
export const grounds = ["standby", "cells"] as const
export type Ground = (typeof grounds)[number]

/** The faults that strike together, after the previous cycle. */
export interface Cycle {
  /** Determines how the faults strike. */
  readonly seed: number
  readonly faults: ReadonlyArray<Fault>
}

/** The cycles that one service goes through. Afterwards, promises are compared with outcomes. */
export interface Round {
  readonly seed: number
  readonly ground: Ground
  readonly cycles: ReadonlyArray<Cycle>
}

/** The parameters of a plan. */
export interface Draw {
  readonly seed: number
  readonly cycles: number
  readonly cycles_per_round: number
  readonly grounds: ReadonlyArray<Ground>
  readonly faults: ReadonlyArray<Fault>
}

/** The percentage of cycles in which two faults strike at the same time. */
const twoAtOncePercent = 25

/**
 * Draws one fault after another from a shuffled deck, and reshuffles when the deck is empty. So none goes unused for
 * long.
 */
const deckOf = (all: ReadonlyArray<Fault>, chance: Chance.Chance) => {
  let left: Array<Fault> = []
  return (isWanted: (fault: Fault) => boolean): Fault | undefined => {
    if (!left.some(isWanted)) left = [...left, ...all]
    const wanted = left.filter(isWanted)
    const drawn = wanted[chance.below(wanted.length)]
    if (drawn !== undefined) left.splice(left.indexOf(drawn), 1)
    return drawn
  }
}

/** Draws a plan, which is the same for the same seed. The relative timing of its steps depends on real time. */
export const draw = ({ cycles, cycles_per_round, faults, grounds: on, seed }: Draw): ReadonlyArray<Round> => {
  const chance = Chance.make(seed)
  const decks = new Map(
    on.map((ground) => [
      ground,
      deckOf(
        faults.filter(({ needs }) => needs === null || needs === ground),
        chance
      )
    ])
  )
  const drawCycle = (ground: Ground): Cycle => {
    const deck = decks.get(ground)
    const first = deck?.(() => true)
    const isTwo = chance.below(100) < twoAtOncePercent
    const isOther = ({ isLong, needs, strikes }: Fault) =>
      needs === null && strikes !== first?.strikes && isLong !== true
    const second = isTwo ? deck?.(isOther) : undefined
    return { seed: chance.below(1e9), faults: [first, second].filter((fault) => fault !== undefined) }
  }
  const rounds: Array<Round> = []
  for (let left = cycles; left > 0; left -= cycles_per_round) {
    const ground = on[rounds.length % on.length] ?? "standby"
    const several = Array.from({ length: Math.min(left, cycles_per_round) }, () => drawCycle(ground))
    rounds.push({ seed: chance.below(1e9), ground, cycles: several })
  }
  return rounds
}

/** How many times each fault was played, and how many times two faults struck at the same time. */
export const countsOf = (cycles: ReadonlyArray<Cycle>): ReadonlyMap<string, number> => {
  const counts = new Map(allFaults.map(({ name }) => [name, 0]))
  counts.set("two at once", cycles.filter(({ faults }) => faults.length > 1).length)
  for (const { faults } of cycles) for (const { name } of faults) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

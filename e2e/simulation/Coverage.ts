import { isListed, rare, states, transitions, unreachable } from "./Reachable.ts"
import { answers, carrierModes, type Deed, hintFaults, receiverFaults, storageFaults } from "./Story.ts"

/*
 * What stories reach: a state, transition or fault that no story reaches is a gap in the simulation.
 */

/** How many stories have reached each state, transition or fault. */
export type Reached = Map<string, number>

/**
 * Enough seeds for common cases: 500 seeds miss a case that one story in 30 reaches with a probability of one in twenty
 * million. Enough also for rare cases, which at least one story in 350 reaches.
 */
export const enoughSeeds = 500
const enoughForRare = 6_000

/** Nothing is reached before the first story. */
export const none = (): Reached => new Map()

/** Adds what a story has reached. */
export const add = (reached: Reached, story: ReadonlySet<string>): void => {
  for (const name of story) reached.set(name, (reached.get(name) ?? 0) + 1)
}

/** Every deed except those whose faults are counted where they strike. The compiler reports missing ones. */
const deeds: {
  readonly [deed in Exclude<
    Deed["do"],
    "storage" | "hints" | "receiver" | "name servers are down" | "consumers fail"
  >]: true
} = {
  start: true,
  read: true,
  cancel: true,
  erase: true,
  subscribe: true,
  rotate: true,
  disable: true,
  "send a test": true,
  "replay a delivery": true,
  "rotate a key": true,
  "use the spare key": true,
  advance: true,
  reset: true,
  "force expiry": true,
  "replay events": true,
  kill: true,
  stop: true,
  pause: true,
  "set the clock": true
}

const named = (all: { readonly [of: string]: ReadonlyArray<string> }): ReadonlyArray<string> =>
  Object.entries(all).flatMap(([of, names]) => names.map((name) => `${of}: ${name}`))

/** Everything that stories must reach. */
export const expected: ReadonlyArray<string> = [
  ...named(states),
  ...named(transitions),
  ...Object.keys(deeds).map((deed) => `deed: ${deed}`),
  ...answers.map((answer) => `carrier: ${answer}`),
  ...Object.values(carrierModes).map((mode) => `mode: ${mode}`),
  ...storageFaults.map((fault) => `fault: storage ${fault}`),
  ...hintFaults.map((fault) => `fault: hints ${fault}`),
  ...receiverFaults.map((fault) => `fault: receiver ${fault}`),
  "fault: name servers are down",
  "fault: consumers fail",
  "fault: a host dies between its steps",
  "claim: skipped",
  "claim: skipped, and a job is due",
  "storage: LeaseLost",
  "storage: VersionConflict",
  "key: accepted",
  "key: refused",
  "outdated: a cached key",
  "outdated: a cached workspace",
  "outdated: cached subscriptions",
  "outdated: a lease, in a pause"
]

/** The gaps in what this many seeds have reached. */
export const gaps = (reached: Reached, seeds: number): ReadonlyArray<string> => [
  ...expected
    .filter((name) => !reached.has(name) && seeds >= (rare.has(name) ? enoughForRare : enoughSeeds))
    .map((name) => `${name} (never reached)`),
  ...Object.keys(unreachable).flatMap((name) =>
    reached.has(name) ? [`${name} (reached, but listed as unreachable)`] : []
  ),
  ...[...reached.keys()].filter((name) => !isListed(name)).map((name) => `${name} (reached, but not listed)`)
]

/** How many times each state, transition or fault was reached, one per line. */
export const tableOf = (reached: Reached): ReadonlyArray<string> =>
  [...new Set([...expected, ...reached.keys()])]
    .toSorted()
    .map((name) => `${(reached.get(name) ?? 0).toString().padStart(7)}  ${name}`)

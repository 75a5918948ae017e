import * as Child from "./Child.ts"
import type { Flags } from "./flags.ts"
import { orderOf } from "./rounds.ts"
import { medianOf, medianRatio } from "./statistics.ts"
import type { Timing } from "./timed.ts"

/* Compares contenders that do the same work. Each contender runs in its own process, and the contenders take turns. */

/** A script's contenders by name. Each is a function that does the given amount of work. */
export type Contenders<Work> = ReadonlyMap<string, (work: Work) => Promise<Timing>>

/** The result of one round of one contender. */
export interface Round {
  readonly per_second: number
  /** CPU time of the contender's process per unit of work, in microseconds. */
  readonly cpu_us: number
}

/**
 * A contender's results over all rounds: the median of each figure, and the median of its ratios to the base contender
 * in the same round.
 */
export interface Result extends Round {
  readonly name: string
  readonly throughput_ratio: number
  readonly cpu_ratio: number
}

/** A contender's process, and its results so far. */
interface RunningContender<R> {
  readonly name: string
  readonly process: Child.Child
  readonly rounds: Array<R>
}

/** A comparison of contenders. */
export interface Contest<Work, R extends Round> {
  /** The label for progress output. */
  readonly title: string
  /** The script that calls `answer`, relative to `bench`. */
  readonly script: string
  readonly contenders: Contenders<Work>
  /** The name of the contender that the others are compared with. */
  readonly base: string
  /** Measures one round of a contender. */
  readonly measure: (name: string, contender: Child.Child) => Promise<R>
}

/**
 * Runs the comparison. Each round measures all contenders, so that other load on the machine affects all of them.
 * `rowOf` creates a table row from a contender's result.
 */
export const run = async <Work, R extends Round, Row>(
  { base, contenders, measure, script, title }: Contest<Work, R>,
  flags: Flags,
  rowOf: (result: Result, rounds: ReadonlyArray<R>) => Row
): Promise<ReadonlyArray<Row>> => {
  const all = Array.from(
    contenders.keys(),
    (name): RunningContender<R> => ({ name, process: Child.startContender(script, name, flags.profile), rounds: [] })
  )
  try {
    for (let round = 0; round < flags.rounds; round++) {
      for (const { name, process, rounds } of orderOf(all, round)) {
        rounds.push(await measure(name, process))
      }
      process.stderr.write(`${title}: round ${round + 1} of ${flags.rounds}\n`)
    }
  } finally {
    await Promise.all(all.map(({ process }) => process.stop()))
  }
  const baseRounds = all.find(({ name }) => name === base)?.rounds ?? []
  return all.map(({ name, rounds }) => rowOf(resultOf(name, rounds, baseRounds), rounds))
}

const resultOf = (name: string, rounds: ReadonlyArray<Round>, baseRounds: ReadonlyArray<Round>): Result => ({
  name,
  per_second: medianOf(rounds, ({ per_second }) => per_second),
  throughput_ratio: medianRatio(rounds, baseRounds, (round, baseRound) => round.per_second / baseRound.per_second),
  cpu_us: medianOf(rounds, ({ cpu_us }) => cpu_us),
  cpu_ratio: medianRatio(rounds, baseRounds, (round, baseRound) => baseRound.cpu_us / round.cpu_us)
})

/** Runs the contender for which `run` started this process. */
export const answer = <Work>(contenders: Contenders<Work>): void =>
  Child.answer((work: Work) => {
    const contender = contenders.get(process.argv[2] ?? "")
    return contender === undefined ? Promise.reject(new Error("No such contender")) : contender(work)
  })

import { orderOf } from "../rounds.ts"
import { medianOf, medianRatio } from "../statistics.ts"

/** A contender, measured round after round. */
export interface Contender<Round> {
  readonly name: string
  readonly measure: () => Promise<Round>
}

/** A contender's results, in the order of the rounds. */
export interface Measurement<Round> {
  readonly name: string
  readonly rounds: ReadonlyArray<Round>
}

/** Measures contenders in turn, round after round, so that other load on the machine affects all of them. */
export const take = async <Round>(
  table: string,
  contenders: ReadonlyArray<Contender<Round>>,
  rounds: number
): Promise<ReadonlyArray<Measurement<Round>>> => {
  const measurements = contenders.map(({ measure, name }) => ({ name, measure, rounds: [] as Round[] }))
  for (let round = 0; round < rounds; round++) {
    for (const contender of orderOf(measurements, round)) contender.rounds.push(await contender.measure())
    process.stderr.write(`${table}: round ${round + 1} of ${rounds}\n`)
  }
  return measurements
}

/** The median of a number over a contender's rounds. */
export const middle = <Round>({ rounds }: Measurement<Round>, pick: (round: Round) => number): number =>
  medianOf(rounds, pick)

/**
 * The median, over all rounds, of the ratio of a contender's figure to the base contender's figure in the same round.
 */
export const ratio = <Round>(
  { rounds }: Measurement<Round>,
  base: Measurement<Round>,
  pick: (round: Round) => number
): number => medianRatio(rounds, base.rounds, (round, baseRound) => pick(round) / pick(baseRound))

/** Finds a contender's results by its name. */
export const named = <Round>(measured: ReadonlyArray<Measurement<Round>>, name: string): Measurement<Round> => {
  const match = measured.find((candidate) => candidate.name === name)
  if (match === undefined) throw new Error(`Nobody was measured as ${name}`)
  return match
}

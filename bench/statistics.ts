/** The median of numbers: the middle number, or the mean of the two middle numbers. */
export const median = (numbers: ReadonlyArray<number>): number => {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const above = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? above : ((sorted[middle - 1] ?? Number.NaN) + above) / 2
}

/** A percentile of numbers: the number below which this share of the numbers lies. */
export const percentile = (numbers: Float64Array, share: number): number =>
  numbers.toSorted()[Math.min(numbers.length - 1, Math.floor(numbers.length * share))] ?? Number.NaN

/** The median of a figure over rounds. */
export const medianOf = <Round>(rounds: ReadonlyArray<Round>, pick: (round: Round) => number): number =>
  median(rounds.map(pick))

/**
 * The median, over all rounds, of the ratio of a contender's figure to the base contender's figure in the same round.
 */
export const medianRatio = <Round>(
  rounds: ReadonlyArray<Round>,
  base: ReadonlyArray<Round>,
  ratioOf: (round: Round, other: Round) => number
): number => median(rounds.flatMap((round, i) => (base[i] === undefined ? [] : [ratioOf(round, base[i])])))

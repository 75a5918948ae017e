/** The median of some numbers: the middle one, or the mean of the two middle ones. */
export const median = (numbers: ReadonlyArray<number>): number => {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const above = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? above : ((sorted[middle - 1] ?? Number.NaN) + above) / 2
}

/** The number below which this fraction of all numbers lies. */
export const percentile = (numbers: Float64Array, share: number): number =>
  numbers.toSorted()[Math.min(numbers.length - 1, Math.floor(numbers.length * share))] ?? Number.NaN

/** The median of a figure over rounds. */
export const medianOf = <Round>(rounds: ReadonlyArray<Round>, pick: (round: Round) => number): number =>
  median(rounds.map(pick))

/** The median of the ratios to the base, each within the same round. */
export const medianRatio = <Round>(
  rounds: ReadonlyArray<Round>,
  base: ReadonlyArray<Round>,
  ratioOf: (round: Round, other: Round) => number
): number => median(rounds.flatMap((round, i) => (base[i] === undefined ? [] : [ratioOf(round, base[i])])))

/** The middle one of some numbers, or between the two in the middle. */
export const median = (numbers: ReadonlyArray<number>): number => {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const above = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? above : ((sorted[middle - 1] ?? Number.NaN) + above) / 2
}

/** The number below which this share of all numbers lies. */
export const percentile = (numbers: Float64Array, share: number): number =>
  numbers.toSorted()[Math.min(numbers.length - 1, Math.floor(numbers.length * share))] ?? Number.NaN

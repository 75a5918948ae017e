/** Checks an option that is a number of this range. Throws a `RangeError` that names it. */
export const inRange = (name: string, value: number, lowest: number, highest: number): number => {
  if (typeof value === "number" && value >= lowest && value <= highest) return value
  throw new RangeError(`${name} must be a number from ${lowest} to ${highest}.`)
}

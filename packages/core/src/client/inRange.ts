/** Returns an option's value if it is a number in this range. Otherwise throws a `RangeError` that names the option. */
export const inRange = (name: string, value: number, lowest: number, highest: number): number => {
  if (typeof value === "number" && value >= lowest && value <= highest) return value
  throw new RangeError(`${name} must be a number from ${lowest} to ${highest}.`)
}

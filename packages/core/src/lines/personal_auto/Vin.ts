/* Vehicle identification numbers have 17 characters. The ninth is the check digit, and the tenth is the model year. */

const letters: Readonly<Record<string, number>> = {
  A: 1,
  B: 2,
  C: 3,
  D: 4,
  E: 5,
  F: 6,
  G: 7,
  H: 8,
  J: 1,
  K: 2,
  L: 3,
  M: 4,
  N: 5,
  P: 7,
  R: 9,
  S: 2,
  T: 3,
  U: 4,
  V: 5,
  W: 6,
  X: 7,
  Y: 8,
  Z: 9
}

const weights = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2]

const valueOf = (character: string): number => letters[character] ?? Number(character)

/**
 * Whether the check digit of a well-formed VIN is right. The check digit is the weighted sum of the VIN's characters
 * modulo 11.
 */
export const hasRightCheckDigit = (vin: string): boolean => {
  const remainder = weights.reduce((sum, weight, i) => sum + weight * valueOf(vin.charAt(i)), 0) % 11
  return vin.charAt(8) === (remainder === 10 ? "X" : String(remainder))
}

const yearCodes = "ABCDEFGHJKLMNPRSTVWXY123456789"
const firstYear = 1980
const lastYear = 2028

/**
 * The model year in a VIN; null if its tenth character is not a year code.
 *
 * The codes repeat every 30 years. In a VIN from 2010 or later, the seventh character is a letter.
 */
export const modelYear = (vin: string): number | null => {
  const code = yearCodes.indexOf(vin.charAt(9))
  if (code < 0) return null
  const early = firstYear + code
  const late = early + yearCodes.length
  const isLate = !/[0-9]/.test(vin.charAt(6))
  // The later year is impossible if it is beyond the last year that the schema accepts, regardless of the seventh
  // character.
  return (isLate && late <= lastYear) || early === firstYear ? late : early
}

/* Prepares text for the search for personal numbers, so that each digit, dash and space has only one spelling. */

/** Normalizes text. A number then reads the same in any script or width, and with or without invisible characters. */
export const plain = (text: string): string =>
  text
    .normalize("NFKC")
    .replace(/[\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}\u2800]|(?![\t-\r\u0085])\p{Cc}/gu, "")
    .replace(/[\p{Pd}\u00b7\u02d7\u2022\u2027\u2043\u2212\u2219\u22c5\u2796\u2e31\u3002\u30fb]/gu, "-")
    .replace(/[\p{Zs}\t]/gu, " ")
    .replace(/(?![0-9])\p{Nd}/gu, asciiDigit)

const isDigit = (codePoint: number): boolean => /^\p{Nd}$/u.test(String.fromCodePoint(codePoint))

/** The ASCII digit for a digit in any script. In every script, the digits zero to nine have consecutive code points. */
const asciiDigit = (digit: string): string => {
  const codePoint = digit.codePointAt(0) ?? 0
  let value = 0
  while (value < 9 && isDigit(codePoint - value - 1)) value++
  return String(value)
}

/**
 * Replaces text that is blanked out. No number contains a line break, so the text before and after the gap is never
 * read as one number.
 */
const gap = "\n"

const identifiers = [
  // The service's own identifiers in their exact format.
  /(?<![\p{L}\p{N}])[a-z]{2,4}_(?:test)?[0-9a-hjkmnp-tv-z]{26}(?![\p{L}\p{N}])/gu,
  // Shortened or invented identifiers of resources that a report may name. Only these prefixes are accepted, so that
  // other prefixes cannot hide a number.
  /(?<![\p{L}\p{N}])(?:req|qreq|qt|evt|sub|app)_[\p{L}\p{N}]{8,}/giu,
  /(?<![\p{L}\p{N}])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\p{L}\p{N}])/giu,
  // A VIN: 17 characters, at least one of which is a letter.
  /(?<![\p{L}\p{N}])(?=\d*[A-HJ-NPR-Z])[A-HJ-NPR-Z0-9]{17}(?![\p{L}\p{N}])/giu,
  // Dates and times.
  /(?<!\d)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?/giu
]

/** Blanks out identifiers, VINs and dates, whose digits are not personal numbers. */
export const withoutIdentifiers = (text: string): string =>
  identifiers.reduce((masked, identifier) => masked.replace(identifier, gap), text)

import { isCardNumber } from "./CardNumber.ts"
import { plain, withoutIdentifiers } from "./NormalizedText.ts"

/** The kinds of personal numbers that a text may contain. */
export type PersonalNumber = "national_id" | "card_number" | "drivers_license"

/**
 * Returns which personal number a text seems to contain: a national ID, a card number or a driver's license number;
 * null if none (api.md, Personal numbers).
 *
 * A number in an unmistakable format always matches. Plain digits match only near a word that says what they are. Phone
 * numbers, ZIP codes, dates, times, VINs and the service's own identifiers are not personal numbers.
 */
export const find = (text: string): PersonalNumber | null => {
  const read = withoutIdentifiers(plain(text))
  if (hasNationalId(read)) return "national_id"
  if (hasCardNumber(read)) return "card_number"
  return hasDriversLicense(read) ? "drivers_license" : null
}

/** Matches the pattern if no letter or digit comes directly before or after it. Matches may overlap. */
const standalone = (pattern: string): RegExp =>
  new RegExp(`(?<![\\p{L}\\p{N}])(?=(${pattern})(?![\\p{L}\\p{N}]))`, "giu")

interface TextMatch {
  readonly text: string
  readonly from: number
  readonly to: number
}

const findAll = (pattern: RegExp, text: string): ReadonlyArray<TextMatch> =>
  Array.from(text.matchAll(pattern), ({ 0: match, 1: captured, index }) => {
    const matchedText = captured ?? match
    return { text: matchedText, from: index, to: index + matchedText.length }
  })

/** The maximum distance between a number and the word that says what the number is, in characters. */
const nearCharacters = 48

const isNear = (number: TextMatch, cues: ReadonlyArray<TextMatch>): boolean =>
  cues.some(({ from, to }) => number.from - to <= nearCharacters && from - number.to <= nearCharacters)

const separatedId = standalone("\\d{3}[- .]\\d{2}[- .]\\d{4}")
/**
 * Patterns for nine digits that are undivided, or grouped differently from a Social Security number. They match only
 * near a word for a national ID, or directly after such a word.
 */
const cuedIds = [
  ...["\\d{9}", "\\d{3}[- ]\\d{6}", "\\d{3}([- ])\\d{3}\\2\\d{3}"].map(standalone),
  /(?<=ssns?|itins?)(?=(\d{9})(?![\p{L}\p{N}]))/giu
]
/**
 * The words for a national ID, as people and programs write them, such as `social security number` and
 * `socialSecurityNumber`.
 */
const idCue =
  /(?:ssns?|(?<![a-z])itins?)(?![a-z])|social[ _-]{0,3}security|(?:taxpayer|(?<!inter)national)[ _-]{0,3}id/gi

const hasNationalId = (text: string): boolean => {
  if (findAll(separatedId, text).some((match) => isIssuedId(digitsOf(match.text)))) return true
  const cues = findAll(idCue, text)
  if (cues.length === 0) return false
  return cuedIds.some((id) =>
    findAll(id, text).some((match) => isNear(match, cues) && isIssuedId(digitsOf(match.text)))
  )
}

/** Whether nine digits can be a Social Security number or an individual taxpayer number. */
const isIssuedId = (digits: string): boolean => {
  const area = Number(digits.slice(0, 3))
  const group = Number(digits.slice(3, 5))
  if (area >= 900) {
    return (group >= 50 && group <= 65) || (group >= 70 && group <= 88) || (group >= 90 && group <= 99 && group !== 93)
  }
  return area !== 0 && area !== 666 && group !== 0 && digits.slice(5) !== "0000"
}

/** Card numbers, undivided or in the groups that are printed on cards. The separator must be the same throughout. */
const cards = [
  "\\d{13,19}",
  "\\d{4}([- .])\\d{4}\\2\\d{4}\\2\\d{1,7}",
  "\\d{4}([- .])\\d{4}\\2\\d{4}\\2\\d{4}\\2\\d{1,3}",
  "\\d{4}([- .])\\d{6}\\2\\d{4,5}"
].map(standalone)

const hasCardNumber = (text: string): boolean =>
  cards.some((card) => findAll(card, text).some((match) => isCardNumber(digitsOf(match.text))))

/** License formats that their dashes make unmistakable: Florida, Illinois and Wisconsin, Maryland and Michigan. */
const dashedLicenses = [
  "[a-z]\\d{3}-\\d{3}-\\d{2}-\\d{3}-\\d",
  "[a-z]\\d{3}-\\d{4}-\\d{4}(?:-\\d{2})?",
  "[a-z]-\\d{3}-\\d{3}-\\d{3}-\\d{3}"
].map(standalone)

const licenseCue =
  /driv(?:er|ing)(?:['`\u2018\u2019\u02bc]?s)?[ _-]{0,3}lic(?:en[cs]e(?![_ ](?:plate|status))|(?![a-z]))|licen[cs]e[ _-]{0,3}(?:num(?:ber)?|no)(?![a-z])|licen[cs]e ?#|(?<![a-z])(?:dln(?![a-z])|dl ?(?:[#:]|(?:num(?:ber)?|no)(?![a-z])))/gi

/** A word of at least five characters. It is treated as a license number only if at least three of them are digits. */
const token = standalone("[a-z0-9](?:[a-z0-9-]{3,30})[a-z0-9]")

const hasDriversLicense = (text: string): boolean => {
  if (dashedLicenses.some((license) => findAll(license, text).length > 0)) return true
  const cues = findAll(licenseCue, text)
  return (
    cues.length > 0 && findAll(token, text).some((match) => digitsOf(match.text).length >= 3 && isNear(match, cues))
  )
}

const digitsOf = (text: string): string => text.replace(/\D/g, "")

import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { isCardNumber } from "../../src/feedback/CardNumber.ts"
import { find } from "../../src/feedback/PersonalNumber.ts"
import { prefixes } from "../../src/wire/Ids.ts"
import vectors from "./personal-numbers.json" with { type: "json" }

const digits = (length: number) =>
  fc.integer({ min: 0, max: 10 ** length - 1 }).map((number) => String(number).padStart(length, "0"))

/** A plausible Social Security number, in its three parts. */
const issued = fc
  .tuple(
    fc.integer({ min: 1, max: 899 }).filter((area) => area !== 666),
    fc.integer({ min: 1, max: 99 }),
    fc.integer({ min: 1, max: 9_999 })
  )
  .map(([area, group, serial]) => [
    String(area).padStart(3, "0"),
    String(group).padStart(2, "0"),
    String(serial).padStart(4, "0")
  ])

const checkDigit = (payload: string): string =>
  Array.from({ length: 10 }, (_, digit) => `${payload}${digit}`).find(isCardNumber) ?? assert.fail(payload)

const card = digits(11).map((rest) => checkDigit(`4242${rest}`))

/** The zeros of some scripts, each followed by its other digits. */
const zeros = ["0", "\uff10", "\u0660", "\u06f0", "\u0966", "\u0e50", "\u{1d7ce}", "\u{1d7f6}"]
const inScript = (text: string, zero: string): string =>
  text.replace(/[0-9]/g, (digit) => String.fromCodePoint((zero.codePointAt(0) ?? 0) + Number(digit)))

const dashes = [
  "-",
  "\u2010",
  "\u2011",
  "\u2012",
  "\u2013",
  "\u2014",
  "\u2212",
  "\ufe63",
  "\uff0d",
  "\u02d7",
  "\u2043",
  "\u22c5",
  "\u2e31",
  "\uff61"
]
const separators = [...dashes, ".", " ", "\u00a0", "\u2009", "\u202f", "\u3000"]
const invisible = [
  "",
  "\u200b",
  "\u200d",
  "\u2060",
  "\ufeff",
  "\u00ad",
  "\ufe0f",
  "\u0332",
  "\u0001",
  "\u115f",
  "\u3164",
  "\uffa0",
  "\u2800"
]

/** Adds an invisible character after each character of a text. */
const sprinkled = (text: string, unseen: string): string => Array.from(text, (one) => one + unseen).join("")

describe("the filter for personal numbers", () => {
  it.each(vectors)('returns $refused_as for "$text"', ({ refused_as, text }) =>
    assert.strictEqual(find(text), refused_as)
  )

  it.each([
    ["a ZIP code with its extension", "12345-6789"],
    ["a phone number", "call 212-555-0147 or +1 (212) 555-0147"],
    ["an employer identification number", "12-3456789"],
    ["a nine-digit order number", "order 123456789"],
    ["a number near a word that contains a cue word", "the classname 123456789 is long; submitins 123456789"],
    ["a number near a cue word inside a longer word", "an international idea of 123456789"],
    ["groups of three digits without a cue word", "amounts 123 456 789 and 123-456789"],
    ["an extended ZIP code near a cue word", "the ssn field was refused at zip 12345-6789"],
    ["a VIN", "driver's license of the driver of 1HGCM82633A004352"],
    ["a timestamp", "driver's license field refused at 2026-09-26T12:00:00.123456Z"],
    ["an amount", "amount_minor 1234567890123456"],
    ["a license plate", "license plate ABC1234, driver license plate XYZ1234"],
    ["a company's license number", "NAIC 12345, NPN 8765432"],
    ["a license status", "driver license_status EXPIRED2024X"]
  ])("accepts text with %s", (_, text) => assert.isNull(find(text)))

  it.each([
    ["a card number after an unknown prefix", "key_4242424242424242", "card_number"],
    ["a card number after other digit groups", "1111 4242 4242 4242 4242", "card_number"],
    ["a 19-digit card number in groups", "4000 0000 0000 0000 006", "card_number"],
    ["a number followed by a cue word", "123456789 is the SSN that I sent", "national_id"],
    ["a cue word inside a snake_case field name", "customer_ssn=123456789", "national_id"],
    ["a taxpayer number without separators", "ITIN 912701234", "national_id"],
    ["a number directly after a cue word", "ssn123456789", "national_id"],
    ["a cue word in a camelCase field name", "socialSecurityNumber: 123456789", "national_id"],
    ["a spelled-out cue word", "taxpayer identification number 912701234", "national_id"],
    ["a cue of two words with two spaces", "Social  Security 123456789", "national_id"],
    ["unequal digit groups near a cue word", "ssn: 123-456789", "national_id"],
    ["three groups of three digits near a cue word", "my social security number is 123 456 789", "national_id"],
    ["a license number after an abbreviation", "DLN: WDLABCD456DG", "drivers_license"],
    ["a license number", "DL# 12345678", "drivers_license"],
    ["a license number after the cue DL number", "DL number A1234567", "drivers_license"],
    ["a license cue with a different apostrophe", "driver\u02bcs license A1234567", "drivers_license"],
    ["an abbreviated license cue", "drivers lic. A1234567", "drivers_license"],
    ["a dashed Maryland license", "A-123-456-789-012", "drivers_license"],
    ["a license cue in British spelling", "driving licence no MORGA753116SM9IJ", "drivers_license"]
  ])("rejects text with %s", (_, text, refusedAs) => assert.strictEqual(find(text), refusedAs))

  it("finds a national ID with any separators, digits of any script, or invisible characters", () => {
    fc.assert(
      fc.property(
        issued,
        fc.constantFrom(...separators),
        fc.constantFrom(...separators),
        fc.constantFrom(...zeros),
        fc.constantFrom(...invisible),
        ([area, group, serial], first, second, zero, unseen) => {
          const text = inScript(`${area}${first}${group}${second}${serial}`, zero)
          assert.strictEqual(find(`I sent ${sprinkled(text, unseen)}, and it failed.`), "national_id")
        }
      )
    )
  })

  it("finds no national ID inside a longer word or number", () => {
    fc.assert(
      fc.property(issued, fc.constantFrom("7", "x", "\u00e9", "\u0661"), fc.boolean(), (parts, neighbor, before) => {
        const text = parts.join("-")
        assert.isNull(find(before ? `${neighbor}${text}` : `${text}${neighbor}`))
      })
    )
  })

  it("finds an unformatted national ID within 48 characters of a cue word, but not farther away", () => {
    fc.assert(
      fc.property(
        issued,
        fc.constantFrom("SSN", "social security", "taxpayer id", "National ID", "itin"),
        fc.integer({ min: 1, max: 90 }),
        (parts, cue, distance) => {
          const between = " ".repeat(distance)
          const refusedAs = distance <= 48 ? "national_id" : null
          assert.strictEqual(find(`${cue}${between}${parts.join("")}`), refusedAs)
          assert.strictEqual(find(`${parts.join("")}${between}${cue}`), refusedAs)
        }
      )
    )
  })

  it("finds card numbers with a valid check digit, whether or not they are in groups", () => {
    fc.assert(
      fc.property(card, fc.constantFrom("", "-", " ", "."), fc.constantFrom(...zeros), (number, separator, zero) => {
        const grouped = (text: string) => (text.match(/.{4}/g) ?? []).join(separator)
        assert.strictEqual(find(inScript(grouped(number), zero)), "card_number")
        const wrong = number.slice(0, 15) + String((Number(number.slice(15)) + 1) % 10)
        assert.isNull(find(grouped(wrong)))
      })
    )
  })

  it("finds card numbers of all issuers, and ignores other numbers with a valid check digit", () => {
    const cards = ["378282246310005", "6011111111111117", "3530111333300000", "30569309025904", "6200000000000005"]
    for (const number of [...cards, "2223003122003222", "5105105105105100"]) {
      assert.strictEqual(find(`number ${number}!`), "card_number", number)
    }
    for (const number of ["1234567812345670", "79927398713", "9000000000000001"]) assert.isNull(find(number), number)
  })

  it("never mistakes Quotewire's own ids for personal numbers, whatever words are near", () => {
    const id = fc
      .tuple(
        fc.constantFrom(...Object.values(prefixes)),
        fc.string({ unit: fc.constantFrom(..."0123456789az"), minLength: 26, maxLength: 26 })
      )
      .map(([prefix, body]) => `${prefix}_${body}`)
    fc.assert(
      fc.property(
        id,
        fc.uuid(),
        fc.date({ min: new Date(0), max: new Date("9999-12-31"), noInvalidDate: true }),
        (own, uuid, date) => {
          assert.isNull(find(`driver's license number, SSN: ${own}, ${uuid} ${date.toISOString().slice(0, 10)}`))
        }
      )
    )
  })

  it("runs in linear time on long text that almost matches", () => {
    // A backtracking pattern would not finish within the test's timeout.
    const parts = ["4242 ", "4", "a1", "driver license a1-", "1-", "ssn 1", "\u200b", "\u0661"]
    for (const part of parts) find(part.repeat(Math.floor(2_000 / part.length)))
  })
})

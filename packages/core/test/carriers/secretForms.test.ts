import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as SecretFinder from "../../src/carriers/secrets/SecretFinder.ts"

/*
 * However a carrier transforms a secret before it sends it back, no part of it stays in the text.
 */

const bytesOf = (text: string) => new TextEncoder().encode(text)
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")

const hexOf = (number: number, digits: number, isUpper: boolean) => {
  const hex = number.toString(16).padStart(digits, "0")
  return isUpper ? hex.toUpperCase() : hex.toLowerCase()
}

/** One way to encode a text so that a reader can decode it. `draw` chooses where several encodings are valid. */
type Write = (text: string, draw: () => number) => string

const eachByte =
  (write: (byte: number, draw: () => number) => string): Write =>
  (text, draw) =>
    Array.from(bytesOf(text), (byte) => write(byte, draw)).join("")

const eachCharacter =
  (write: (character: string, draw: () => number) => string): Write =>
  (text, draw) =>
    Array.from(text, (character) => write(character, draw)).join("")

const isSafe = (byte: number) => /[A-Za-z0-9_.~-]/.test(String.fromCharCode(byte))

const unit = (character: string, isUpper: boolean) =>
  Array.from({ length: character.length }, (_, index) => `\\u${hexOf(character.charCodeAt(index), 4, isUpper)}`).join(
    ""
  )

const entities = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&apos;"]
])

/** The entities that only HTML has. */
const htmlEntities = new Map([
  ["/", "&sol;"],
  ["=", "&equals;"],
  ["%", "&percnt;"],
  ["\\", "&bsol;"],
  [":", "&colon;"],
  ["_", "&lowbar;"],
  [".", "&period;"]
])

const writings = {
  raw: (text) => text,
  percent: eachByte((byte, draw) =>
    isSafe(byte) && draw() < 0.7 ? String.fromCharCode(byte) : `%${hexOf(byte, 2, draw() < 0.5)}`
  ),
  form: (text) => new URLSearchParams([["", text]]).toString().slice(1),
  json: eachCharacter((character, draw) => {
    if (draw() < 0.2) return unit(character, draw() < 0.5)
    return character === "/" ? "\\/" : JSON.stringify(character).slice(1, -1)
  }),
  xml: eachCharacter((character, draw) => {
    const code = character.codePointAt(0) ?? 0
    if (draw() < 0.1) return `&#${code};`
    if (draw() < 0.1) return `&#x${hexOf(code, 2, draw() < 0.5)};`
    return entities.get(character) ?? character
  })
} satisfies Readonly<Record<string, Write>>

const lines = (text: string, length: number, end: string) =>
  Array.from({ length: Math.ceil(text.length / length) }, (_, index) =>
    text.slice(index * length, (index + 1) * length)
  ).join(end)

const encodings = {
  ...writings,
  html: eachCharacter((character) => htmlEntities.get(character) ?? entities.get(character) ?? character),
  hex: (text, draw) => {
    const digits = Buffer.from(text).toString("hex")
    return draw() < 0.5 ? digits : digits.toUpperCase()
  },
  script: eachByte((byte, draw) =>
    isSafe(byte) && draw() < 0.7 ? String.fromCharCode(byte) : `\\x${hexOf(byte, 2, draw() < 0.5)}`
  ),
  "a folded header": (text, draw) => text.replace(/^.{3}\s*/su, (start) => `${start}\r\n${draw() < 0.5 ? " " : "\t"}`),
  "json in json": (text, draw) => writings.json(writings.json(text, draw), draw),
  "percent in json": (text, draw) => writings.json(writings.percent(text, draw), draw),
  "xml in percent": (text, draw) => writings.percent(writings.xml(text, draw), draw)
} satisfies Readonly<Record<string, Write>>

/** Characters that the encodings treat differently. */
const character = fc.constantFrom(..."abzAZ09+/=%&<>\"'\\: _-.é漢😀")
const secret = fc
  .array(character, { minLength: 6, maxLength: 40 })
  .map((characters) => characters.join(""))
  .filter((text) => text.trim().length >= 6)
const around = fc.string({ maxLength: 20 })

/** Text around a secret, without characters that would form a different escape with its first or last characters. */
const calm = around.map((text) => text.replaceAll(/[%\\&+#;=/\w-]/g, "."))

/** Random numbers from 0 to 1, used over and over. */
const drawn = fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 1, maxLength: 50 }).map((all) => {
  let next = 0
  return () => all[next++ % all.length] ?? 0
})

describe("secrets repeated by a carrier", () => {
  it.each(Object.entries(encodings))("are redacted without redacting other text: %s", (_, write: Write) => {
    fc.assert(
      fc.property(secret, calm, calm, drawn, (secret, before, after, draw) => {
        const told = write(secret, draw)
        const { without, isIn } = SecretFinder.make([secret])
        const text = `${before} ${told} ${after}`
        assert.isTrue(isIn(text))
        // A secret that ends with an escaped line break may take the blanks at the end of the text with it.
        assert.strictEqual(without(text).trimEnd(), `${before} [redacted] ${after}`.trimEnd())
      })
    )
  })

  it("are redacted in doubly encoded base64, at any offset", () => {
    fc.assert(
      fc.property(secret, around, around, around, (secret, before, after, outer) => {
        const inner = base64(bytesOf(before + secret + after))
        const text = `{"told":"${base64(bytesOf(outer + inner))}"}`
        const { isIn, without } = SecretFinder.make([secret])
        assert.isTrue(isIn(text))
        assert.isFalse(isIn(without(text)))
      })
    )
  })

  it("are redacted in both base64 alphabets, at any offset", () => {
    const written = fc.constantFrom<Write>(writings.raw, writings.form, encodeURIComponent)
    fc.assert(
      fc.property(secret, around, around, written, fc.boolean(), drawn, (secret, before, after, write, isUrl, draw) => {
        const told = write(secret, draw)
        const encoded = base64(bytesOf(before + told + after))
        const text = `{"told":"${isUrl ? encoded.replaceAll("+", "-").replaceAll("/", "_") : encoded}"}`
        const { without } = SecretFinder.make([secret])
        const [, left = ""] = /"told":"(.*)"/.exec(without(text).replaceAll("[redacted]", "....")) ?? []
        assert.notInclude(Buffer.from(left.replaceAll(".", ""), "base64").toString(), told)
        assert.include(without(text), "[redacted]")
      })
    )
  })

  it("are redacted in base64 that is broken into lines", () => {
    const end = fc.constantFrom("\n", "\r\n", "\\r\\n", "&#13;\n", "\r\n  ")
    fc.assert(
      fc.property(
        secret,
        around,
        around,
        end,
        fc.integer({ min: 4, max: 76 }),
        (secret, before, after, end, length) => {
          const told = lines(base64(bytesOf(before + secret + after)), length, end)
          const left = SecretFinder.make([secret]).without(told)
          assert.include(left, "[redacted]")
          const read = left.replaceAll("[redacted]", "").replaceAll(/\\r\\n|&#13;|\s/g, "")
          assert.notInclude(Buffer.from(read, "base64").toString(), secret)
        }
      )
    )
  })

  it("are redacted even if they are cut off at the end of the text", () => {
    const long = secret.filter((text) => text.length > 12)
    fc.assert(
      fc.property(long, calm, fc.nat(), (secret, before, at) => {
        const cut = secret.slice(0, 9 + (at % (secret.length - 9)))
        assert.strictEqual(SecretFinder.make([secret]).without(`${before} ${cut}`), `${before} [redacted]`)
      })
    )
  })

  it("are redacted completely when several overlap", () => {
    fc.assert(
      fc.property(secret, fc.integer({ min: 1, max: 5 }), fc.array(around), (secret, size, parts) => {
        const characters = Array.from(secret)
        const secrets = [secret, characters.slice(size).join(""), characters.slice(0, -size).join("")].filter(
          (text) => text.trim().length >= 4
        )
        const left = SecretFinder.make(secrets).without([...parts, ...secrets].join(secret))
        for (const text of secrets) assert.isFalse(left.split("[redacted]").some((part) => part.includes(text)))
      })
    )
  })

  it("are ignored if they are so short that they could occur by chance", () => {
    const { isIn, without } = SecretFinder.make(["", "abc", "    "])
    assert.isFalse(isIn("abc"))
    assert.strictEqual(without("abc     abc"), "abc     abc")
  })

  it("are redacted without changing text that contains no secret", () => {
    const other = fc.string({ unit: fc.constantFrom(..."xyz %\\&;u#<>é😀12"), maxLength: 200 })
    fc.assert(fc.property(other, (text) => SecretFinder.make(["Q7-secret-of-acme"]).without(text) === text))
  })
})

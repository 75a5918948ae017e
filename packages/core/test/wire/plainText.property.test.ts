import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { escaped, plain } from "../../src/wire/PlainText.ts"

const between = (first: number, last: number) =>
  fc.integer({ min: first, max: last }).map((code) => String.fromCodePoint(code))

/** Characters that hide or reorder text or act as commands, of every class. */
const hiding = fc.oneof(
  between(0x00, 0x1f),
  between(0x7f, 0x9f),
  between(0x202a, 0x202e),
  between(0x2066, 0x2069),
  fc.constantFrom("\u200e", "\u200f", "\u061c", "\u2028", "\u2029", "\u200b", "\u2060", "\ufeff", "\u00ad", "\u3164"),
  between(0xfff9, 0xfffb),
  between(0xe0000, 0xe007f),
  between(0xd800, 0xdfff)
)
/** Characters that writing needs in some places, and that hide data in others. */
const joining = fc.oneof(fc.constantFrom("\u200c", "\u200d"), between(0xfe00, 0xfe0f), between(0xe0100, 0xe01ef))
const seen = fc.constantFrom("a", "7", " ", "é", "ж", "語", "한", "क", "्", "ष", "م", "😀", "👩", "🏽", "❤")
const texts = fc.array(fc.oneof(hiding, joining, seen)).map((parts) => parts.join(""))

describe("plain text", () => {
  it("has no characters that hide or reorder text or act as commands", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const shown = plain(text)
        assert.notMatch(shown, /[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/u)
        assert.notMatch(shown, /[\u{e0000}-\u{e007f}\u00ad\u3164]/u)
        // A single selector or joiner says how its neighbors look; several in a row hide data.
        assert.notMatch(shown, /\p{DI}(?!\u200d)\p{DI}/u)
        assert.strictEqual(plain(shown), shown)
      }),
      { numRuns: 2_000 }
    )
  })

  it("keeps every visible character", () => {
    fc.assert(
      fc.property(fc.array(seen), fc.array(hiding), (parts, hidden) => {
        const mixed = parts.flatMap((part, i) => [part, hidden[i] ?? ""]).join("")
        const letters = (text: string) => text.replaceAll(/[ \ufffd]/g, "")
        assert.strictEqual(letters(plain(mixed)), letters(parts.join("")))
      })
    )
  })

  it("keeps joiners and variation selectors where writing systems need them", () => {
    for (const text of ["क्‍ष", "می‌خواهم", "👩‍👩‍👧", "👩🏽‍🚀", "❤️", "❤️‍🔥", "1️⃣", "渡邊\u{e0101}"]) {
      assert.strictEqual(plain(text), text)
      assert.strictEqual(escaped(text), text)
    }
  })

  it("contains no hidden characters after it is escaped", () => {
    assert.strictEqual(escaped("a\u001b[31m\u202eb\ud800"), "a\\u{1b}[31m\\u{202e}b\\u{d800}")
    fc.assert(
      fc.property(texts, (text) => {
        assert.strictEqual(plain(escaped(text)), escaped(text))
      })
    )
  })
})

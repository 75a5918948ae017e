import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { statementReader } from "./support/statementReader.ts"

/** A message without a type: its length, a code, and a text. */
const untyped = (code: number, text = ""): Buffer => {
  const head = Buffer.alloc(8)
  head.writeInt32BE(8 + text.length)
  head.writeInt32BE(code, 4)
  return Buffer.concat([head, Buffer.from(text)])
}

const query = (sql: string): Buffer => {
  const head = Buffer.alloc(5)
  head.write("Q")
  head.writeInt32BE(5 + sql.length, 1)
  return Buffer.concat([head, Buffer.from(`${sql}\0`)])
}

const startup = untyped(196_608, "user\0postgres\0\0")
const encryptionRequests = [untyped(80_877_103), untyped(80_877_104)]

/** The bytes in pieces, cut at these fractions of their length. */
const cut = (bytes: Buffer, fractions: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const ends = [...fractions.map((fraction) => Math.floor(fraction * bytes.length)), bytes.length].toSorted(
    (a, b) => a - b
  )
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
}

const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 })

describe("a reader of a client's statements", () => {
  it("reads every statement, even after the client asked for encryption, and however the bytes are cut", () => {
    const asked = fc.array(fc.constantFrom(...encryptionRequests), { maxLength: 2 })
    const sqls = fc.array(fc.stringMatching(/^[a-z0-9 ]{0,20}$/), { maxLength: 5 })
    fc.assert(
      fc.property(asked, sqls, cuts, (requests, texts, fractions) => {
        const executed: Array<string> = []
        const read = statementReader((sql) => executed.push(sql))
        for (const part of cut(Buffer.concat([...requests, startup, ...texts.map(query)]), fractions)) read(part)
        assert.deepStrictEqual(executed, texts)
      })
    )
  })

  it("ends for any bytes", () => {
    const begun = fc.constantFrom(Buffer.alloc(0), startup, ...encryptionRequests)
    fc.assert(
      fc.property(begun, fc.uint8Array({ maxLength: 200 }), cuts, (first, bytes, fractions) => {
        const read = statementReader(() => {})
        for (const part of cut(Buffer.concat([first, bytes]), fractions)) read(part)
      }),
      // The shapes that once never ended: lengths from 0 to 3, and negative lengths.
      {
        examples: [-5, -1, 0, 3].map((length) => {
          const bytes = Buffer.from("d....")
          bytes.writeInt32BE(length, 1)
          return [startup, new Uint8Array(bytes), []] satisfies [Buffer, Uint8Array, Array<number>]
        })
      }
    )
  })
})

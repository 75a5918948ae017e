import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpClientRequest } from "effect/http"
import * as fc from "fast-check"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import { recorded, redactionAfter } from "../../src/carriers/secrets/Redaction.ts"
import { carrier, offers } from "../quoting/carriers.ts"
import { outcomes } from "../support/world.ts"
import { ask, onRecord, send, testRecorded } from "./onRecord.ts"

/*
 * `JSON.parse` reads nesting that is too deep to walk or serialize. Such a body must not break its call.
 */

const levels = 60_000
const lists = `${"[".repeat(levels)}${"]".repeat(levels)}`
const objects = `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`
const url = "https://api.acme.example/"

/** Reads the answer as JSON with the client itself, like an adapter without `CarrierHttp`. */
const reading = carrier("acme", () =>
  Effect.gen(function* () {
    const client = yield* CarrierTransport
    yield* Effect.flatMap(client.execute(HttpClientRequest.get(url)), (response) => response.json)
    return offers()
  }).pipe(Effect.orDie)
)
const sending = (body: string) =>
  carrier("acme", () => send(HttpClientRequest.post(url).pipe(HttpClientRequest.bodyText(body, "application/json"))))

describe("a body nested 60,000 levels deep", () => {
  for (const [what, body] of [
    ["lists", lists],
    ["objects", objects]
  ] as const) {
    testRecorded(
      `is omitted from the exchange's record, but the answer is used (${what})`,
      Effect.gen(function* () {
        const id = yield* ask()
        assert.deepStrictEqual(yield* outcomes(id), ["acme quoted"])
        const [exchange] = yield* onRecord()
        const { bytes, kept } = exchange?.http[0]?.response ?? {}
        assert.deepStrictEqual([bytes, kept], [body.length, "left_out"])
      }),
      reading,
      { answer: () => new Response(body, { headers: { "content-type": "application/json" } }) }
    )
    testRecorded(
      `can be sent, but is omitted from the exchange's record (${what})`,
      Effect.gen(function* () {
        const id = yield* ask()
        assert.deepStrictEqual(yield* outcomes(id), ["acme quoted"])
        assert.strictEqual((yield* onRecord())[0]?.http[0]?.request.kept, "left_out")
      }),
      sending(body)
    )
  }
})

describe("a body's record", () => {
  const nested = fc.tuple(fc.nat(30_000), fc.array(fc.constantFrom(["[", "]"], ['{"name":', "}"]), { minLength: 1 }))
  it("contains the body or a note that it was omitted, however deeply the body is nested", () => {
    fc.assert(
      fc.property(nested, fc.boolean(), ([levels, parts], keepsText) => {
        const at = (level: number) => parts[level % parts.length] ?? ["[", "]"]
        const opened = Array.from({ length: levels }, (_, level) => at(level)[0]).join("")
        const closed = Array.from({ length: levels }, (_, level) => at(levels - 1 - level)[1]).join("")
        const text = `${opened}"Ada"${closed}`
        const redaction = redactionAfter(
          { redact: ["*.name", "name"], keeps_text_bodies: keepsText },
          { key: "Ada-Ada" },
          []
        )
        const { kept } = recorded(
          { headers: {}, content_type: "application/json", body: { bytes: null, text } },
          redaction
        )
        assert.include(["whole", "cut", "left_out"], kept)
      }),
      { numRuns: 50 }
    )
  })
})

import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import type { StandardSchemaV1 } from "effect/StandardSchema"
import * as fc from "fast-check"
import { z } from "zod"
import { CarrierHttpMistake } from "../../src/carriers/http/CarrierHttpError.ts"
import type { CarrierResponse } from "../../src/carriers/http/CarrierResponse.ts"
import { json, withClient } from "./fakeCarrier.ts"

const answered = (response: () => Response) => withClient(response, (http) => Effect.promise(() => http.get("/quote")))

const xml = (text: string) => () => new Response(text, { headers: { "content-type": "application/xml" } })

const Quote = z.object({ number: z.string(), premium_cents: z.int().positive(), notes: z.array(z.string()).optional() })

/** A schema of a library that offers only a check. */
const bare = (validate: StandardSchemaV1.Props<unknown, string>["validate"]): StandardSchemaV1<unknown, string> => ({
  "~standard": { version: 1, vendor: "test", validate }
})

/** The value that a read returns, or the error that it throws. */
const outcome = <A>(answer: CarrierResponse, read: (answer: CarrierResponse) => A) =>
  Result.try({ try: () => read(answer), catch: (thrown) => thrown })

describe("an answer read with a Standard Schema", () => {
  it.effect("has the schema's value and type", () =>
    Effect.gen(function* () {
      const answer = yield* answered(() => json({ number: "Q-1", premium_cents: 4_200, unknown: true }))
      const quote: { number: string; premium_cents: number } = answer.json(Quote)
      assert.deepStrictEqual(quote, { number: "Q-1", premium_cents: 4_200 })
    })
  )

  it.effect("causes an error with paths but no values if it does not match the schema", () =>
    Effect.gen(function* () {
      const answer = yield* answered(() => json({ number: 7, premium_cents: "s3cret", notes: ["a", 1] }))
      const { reason, broken_rules } = yield* Effect.flip(
        withClient(
          () => json({ number: 7, premium_cents: "s3cret", notes: ["a", 1] }),
          (http) => Effect.flatMap(http.effect.get("/quote"), (received) => received.json(Quote))
        )
      )
      assert.strictEqual(reason, "unreadable_answer")
      assert.deepStrictEqual(
        broken_rules?.map(({ path }) => path),
        ["number", "premium_cents", "notes.1"]
      )
      const repeating = bare((value) => ({ issues: [{ message: `Wrong: ${JSON.stringify(value)}` }] }))
      assert.notInclude(String(Result.getFailure(outcome(answer, (received) => received.json(repeating)))), "s3cret")
    })
  )

  it("equals the schema library's own result, for any body", () =>
    fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.jsonValue(),
          fc.record({ number: fc.string(), premium_cents: fc.oneof(fc.integer(), fc.string()) })
        ),
        (body) =>
          Effect.runPromise(
            Effect.map(
              answered(() => json(body)),
              (answer) => {
                const parsed = Quote.safeParse(body)
                const read = Result.getSuccess(outcome(answer, (received) => received.json(Quote)))
                assert.deepStrictEqual(read._tag === "Some" ? read.value : undefined, parsed.data)
              }
            )
          )
      )
    ))

  it.effect("has XML lists wherever the schema has lists, at any depth", () =>
    Effect.gen(function* () {
      const Driver = z.object({
        Name: z.string(),
        get Child() {
          return z.array(Driver).optional()
        }
      })
      const Rated = z.object({
        Quote: z.object({ Premium: z.coerce.number(), Driver: z.array(Driver), Note: z.array(z.string()) })
      })
      const answer = yield* answered(
        xml("<Quote><Premium>12.5</Premium><Driver><Name>Ada</Name><Child><Name>Bo</Name></Child></Driver></Quote>")
      )
      assert.deepStrictEqual(answer.xml(Rated), {
        Quote: { Premium: 12.5, Driver: [{ Name: "Ada", Child: [{ Name: "Bo" }] }], Note: [] }
      })
    })
  )

  it.effect("has XML lists wherever the schema has lists, even next to types that JSON Schema lacks", () =>
    Effect.gen(function* () {
      const Rated = z.object({ Quote: z.object({ Until: z.coerce.date(), Note: z.array(z.string()) }) })
      const answer = yield* answered(xml("<Quote><Until>2026-12-01</Until><Note>a</Note></Quote>"))
      assert.deepStrictEqual(answer.xml(Rated), { Quote: { Until: new Date("2026-12-01"), Note: ["a"] } })
      const broken = {
        ...bare((value) => ({ value: JSON.stringify(value) }))
      }
      const standard = { ...broken["~standard"], jsonSchema: { input: () => assert.fail("not supported") } }
      assert.strictEqual(
        answer.xml({ ...broken, "~standard": standard }),
        '{"Quote":{"Until":"2026-12-01","Note":"a"}}'
      )
    })
  )

  it.effect("has a list for each repeated XML element if the schema provides no JSON Schema", () =>
    Effect.gen(function* () {
      const answer = yield* answered(xml("<Quote><Note>a</Note><Note>b</Note></Quote>"))
      assert.strictEqual(
        answer.xml(bare((value) => ({ value: JSON.stringify(value) }))),
        '{"Quote":{"Note":["a","b"]}}'
      )
    })
  )

  it.effect("fails if the schema is asynchronous or invalid, and the error says what to change", () =>
    Effect.gen(function* () {
      const answer = yield* answered(() => json("x"))
      const late = bare(() => Promise.reject(new Error("late")))
      assert.throws(() => answer.json(late), CarrierHttpMistake, /^json\(schema\): The schema has asynchronous rules/)
      assert.throws(
        () => answer.xml(Object({ parse: String })),
        CarrierHttpMistake,
        /^xml\(schema\): Pass an Effect schema/
      )
      assert.throws(() => answer.json(Object(Schema)), CarrierHttpMistake, /Pass an Effect schema/)
    })
  )
})

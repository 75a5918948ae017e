import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Result, type Schema } from "effect"
import fc from "fast-check"
import { PersonalAuto } from "../../src/lines/personal_auto/facts.ts"
import { Pet } from "../../src/lines/pet/facts.ts"
import { Renters } from "../../src/lines/renters/facts.ts"
import { lineNames, type StandardLineName } from "../../src/lines/standard.ts"
import { checker } from "../../src/wire/Input.ts"
import { lineNamed, readBy } from "./applications.ts"
import personalAuto from "./schemas/personal_auto.json" with { type: "json" }
import pet from "./schemas/pet.json" with { type: "json" }
import renters from "./schemas/renters.json" with { type: "json" }

/*
 * Three checks of the structure of facts must agree: the first served schemas (kept here), the currently served
 * ones, and the Schema that decodes facts.
 */

/** The subset of JSON Schema that values are generated from. */
interface JsonSchema {
  readonly type?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly multipleOf?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: JsonSchema
  readonly properties?: { readonly [name: string]: JsonSchema | undefined }
  readonly required?: ReadonlyArray<string>
  readonly anyOf?: ReadonlyArray<{ readonly required: ReadonlyArray<string> }>
}

const first: { readonly [L in StandardLineName]: JsonSchema } = { personal_auto: personalAuto, renters, pet }
const decoders: { readonly [L in StandardLineName]: Schema.Decoder<unknown> } = {
  personal_auto: PersonalAuto,
  renters: Renters,
  pet: Pet
}

const today = "2026-11-20"

const isCalendarDate = (text: string): boolean => {
  const [year = 0, month = 0, day = 0] = text.split("-").map(Number)
  const date = new Date(Date.UTC(year, month - 1, day))
  return date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

/** A stock validator of a schema. */
const stock = (schema: object) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addFormat("date", isCalendarDate)
  ajv.addFormat("email", /^[^\s@]+@[^\s@]+\.[^\s@]+$/)
  return ajv.compile(schema)
}

/** What no storage can hold, a rule that JSON Schema cannot express. */
const hasUnsafeText = (value: unknown): boolean => /\\u0000|\\ud[89a-f]/.test(JSON.stringify(value) ?? "")

const text = (schema: JsonSchema): fc.Arbitrary<string> => {
  if (schema.format === "email") return fc.constantFrom("ann@example.com", "bo.b@mail.example.org")
  if (schema.pattern !== undefined) {
    return fc.stringMatching(new RegExp(schema.pattern)).filter((value) => {
      const fits = value.length >= (schema.minLength ?? 0) && value.length <= (schema.maxLength ?? 100)
      return fits && !hasUnsafeText(value) && (schema.format !== "date" || isCalendarDate(value))
    })
  }
  return fc
    .string({ minLength: schema.minLength ?? 0, maxLength: schema.maxLength ?? 20 })
    .filter((value) => !hasUnsafeText(value))
}

/** Values that match a schema. Objects have all required members, and those of one branch of an `anyOf`. */
const taken = (schema: JsonSchema): fc.Arbitrary<unknown> => {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  switch (schema.type) {
    case "string":
      return text(schema)
    case "boolean":
      return fc.boolean()
    case "integer": {
      const step = schema.multipleOf ?? 1
      const [min, max] = [(schema.minimum ?? 0) / step, (schema.maximum ?? 0) / step]
      return fc.integer({ min, max }).map((value) => value * step)
    }
    case "array":
      return fc.array(taken(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: schema.maxItems ?? 3 })
    default: {
      const members = Object.entries(schema.properties ?? {}).map(
        ([name, member]) => [name, taken(member ?? {})] as const
      )
      const either = schema.anyOf?.map((way) => way.required) ?? [[]]
      return fc.oneof(
        ...either.map((names) =>
          fc.record<Record<string, unknown>>(Object.fromEntries(members), {
            requiredKeys: [...(schema.required ?? []), ...names]
          })
        )
      )
    }
  }
}

/** Changes one place in a value: drops it, replaces it, or adds an unknown member. */
const mutated = (value: unknown): fc.Arbitrary<unknown> => {
  const change = fc.oneof(
    fc.constant(undefined),
    fc.jsonValue(),
    fc.constantFrom<unknown>(null, "", 0, -1, 1.5, 1e9, "x".repeat(300), [], {}, "2026-02-30", "2026-13", true)
  )
  if (Array.isArray(value) && value.length > 0) {
    return fc.nat(value.length - 1).chain((i) =>
      fc.oneof(
        mutated(value[i]).map((item) => value.toSpliced(i, 1, item ?? null)),
        fc.constantFrom(value.toSpliced(i, 1), [...value, ...value, ...value, ...value, ...value, ...value, ...value])
      )
    )
  }
  if (typeof value === "object" && value !== null && Object.keys(value).length > 0) {
    const entries = Object.entries(value)
    return fc.nat(entries.length - 1).chain((i) =>
      fc.oneof(
        {
          weight: 5,
          arbitrary: mutated(entries[i]?.[1]).map((member) =>
            Object.fromEntries(entries.with(i, [entries[i]?.[0] ?? "", member]))
          )
        },
        {
          weight: 1,
          arbitrary: fc.tuple(fc.string(), fc.jsonValue()).map((extra) => Object.fromEntries([...entries, extra]))
        }
      )
    )
  }
  return change
}

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value) ?? "null")

const application = (line: StandardLineName): fc.Arbitrary<unknown> => taken(first[line])

const candidates = (line: StandardLineName): fc.Arbitrary<unknown> =>
  fc
    .oneof(
      { weight: 2, arbitrary: application(line) },
      { weight: 5, arbitrary: application(line).chain(mutated) },
      { weight: 2, arbitrary: application(line).chain(mutated).chain(mutated) },
      { weight: 1, arbitrary: fc.jsonValue() }
    )
    .map(asJson)

type Members = Readonly<Record<string, unknown>>
const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const membersOf = (value: unknown): Members => (isMembers(value) ? value : {})
const itemsOf = (value: unknown): ReadonlyArray<Members> => (Array.isArray(value) ? value.map(membersOf) : [])

/** An application with a valid structure, in which values that must fit each other are set by hand. */
const mended = (line: StandardLineName, input: unknown): unknown => {
  const { applicant: _, effective_date: __, ...facts } = membersOf(input)
  switch (line) {
    case "personal_auto":
      return {
        ...facts,
        garaging_address: { ...membersOf(facts.garaging_address), state: "TX", zip: "75201" },
        drivers: itemsOf(facts.drivers).map(({ years_licensed: _, incidents: __, ...driver }, i) => ({
          ...driver,
          relationship: i === 0 ? "self" : "child",
          date_of_birth: "1991-04-12"
        })),
        vehicles: itemsOf(facts.vehicles).map((vehicle) =>
          "vin" in vehicle ? { ...vehicle, vin: "1HGCM82633A004352" } : vehicle
        ),
        coverage: "coverage" in facts ? { level: membersOf(facts.coverage).level } : undefined
      }
    case "renters": {
      const dwelling = membersOf(facts.dwelling)
      return {
        ...facts,
        dwelling: { ...dwelling, address: { ...membersOf(dwelling.address), state: "NY", zip: "10001" } }
      }
    }
    case "pet":
      return {
        ...facts,
        residence: { ...membersOf(facts.residence), state: "TX", zip: "78701" },
        pets: itemsOf(facts.pets).map(({ birth_month: _, ...pet }) => ({
          ...pet,
          age_years: 3,
          breed: "mixed",
          size: "small"
        }))
      }
  }
}

describe.each(lineNames)("the line %s", (line) => {
  it("accepts the same facts in its decoder, its first served schema and its current schema", () => {
    const check = checker(decoders[line])
    const before = stock(first[line])
    const now = stock(lineNamed(line).facts_schema)
    const verdicts = { right: 0, wrong: 0 }
    fc.assert(
      fc.property(candidates(line), (input) => {
        const expected = before(input)
        assert.strictEqual(now(input), expected, JSON.stringify([before.errors, now.errors]))
        const accepted = expected && !hasUnsafeText(input)
        verdicts[accepted ? "right" : "wrong"] += 1
        assert.strictEqual(Result.isSuccess(check(input)), accepted, JSON.stringify(before.errors))
      }),
      { numRuns: 3_000, seed: 42 }
    )
    assert.isAbove(verdicts.right, 300)
    assert.isAbove(verdicts.wrong, 600)
  })

  it("serves a schema with every keyword of its first served schema", () => {
    const lost = (before: unknown, now: unknown, path: string): ReadonlyArray<string> => {
      if (!isMembers(before)) return JSON.stringify(before) === JSON.stringify(now) ? [] : [path]
      return Object.entries(before).flatMap(([key, value]) => {
        // The current schema splits combined requirements into several parts.
        if (key === "dependentRequired") return []
        return lost(value, isMembers(now) ? now[key] : undefined, `${path}/${key}`)
      })
    }
    assert.deepStrictEqual(lost(first[line], lineNamed(line).facts_schema, ""), [])
  })

  it("validates any facts without throwing, and never repeats a value in an error", () => {
    const marker = "Zq9#refused"
    const marked = (value: unknown): unknown => {
      if (typeof value === "string") return `${marker}${value}`
      if (Array.isArray(value)) return value.map(marked)
      if (typeof value !== "object" || value === null) return value
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, marked(member)]))
    }
    fc.assert(
      fc.property(candidates(line), fc.boolean(), (value, mark) => {
        const input = mark ? marked(value) : value
        const result = readBy(line, input)
        if (Result.isSuccess(result)) return
        const errors = result.failure.field_errors ?? []
        assert.isAbove(errors.length, 0)
        // If there are more than a hundred, a last entry without a path counts the rest.
        for (const { path, message, allowed_values } of errors.slice(0, 100)) {
          assert.isTrue(path === "application" || path.startsWith("application."), path)
          assert.notInclude(message, marker)
          assert.notInclude(allowed_values ?? [], marker)
        }
      }),
      { numRuns: 1_500, seed: 7 }
    )
  })

  it("accepts random facts once their errors are repaired, and completes the facts with assumptions", () => {
    fc.assert(
      fc.property(application(line), (input) => {
        const parsed = readBy(line, asJson(mended(line, input)))
        if (Result.isFailure(parsed)) assert.fail(JSON.stringify(parsed.failure.field_errors))
        const assumed = lineNamed(line).complete(parsed.success.facts, today) ?? assert.fail()
        const paths = assumed.assumptions.map((assumption) => assumption.path)
        assert.deepStrictEqual(paths, [...new Set(paths)].sort())
        // A complete application needs no assumptions, and stays unchanged.
        const again = readBy(line, assumed.facts)
        if (Result.isFailure(again)) assert.fail(JSON.stringify(again.failure.field_errors))
        assert.deepStrictEqual<unknown>(lineNamed(line).complete(again.success.facts, today), {
          ...assumed,
          assumptions: []
        })
      }),
      { numRuns: 300, seed: 3 }
    )
  })
})

describe("any value", () => {
  it("is validated without throwing", () => {
    fc.assert(
      fc.property(fc.constantFrom(...lineNames), fc.anything({ withNullPrototype: true }), (line, input) => {
        readBy(line, input)
      }),
      { numRuns: 2_000, seed: 11 }
    )
  })
})

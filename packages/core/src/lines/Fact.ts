import { Schema, SchemaIssue } from "effect"
import { mistaken } from "../wire/Argument.ts"
import { isCalendarDay } from "../wire/CalendarDay.ts"
import { textUpTo } from "../wire/Input.ts"
import type { JsonValue } from "../wire/Json.ts"

/*
 * Builders for a line's facts. The resulting schema checks what callers send, provides the TypeScript types, and is
 * served as JSON Schema.
 */

/** A fact's metadata. The served JSON Schema contains everything except the label. */
export interface About {
  /** The text with which a person is asked for the fact. Every fact that can be required has a label. */
  readonly label?: string
  /** The fact's title, with its unit. Documents show the title; the tool declarations that models read omit it. */
  readonly title?: string
  /** Anything about the fact that its name and values do not say. */
  readonly description?: string
  /**
   * How the fact relates to a person. `direct`: it identifies a person by itself. `indirect`: it identifies a person
   * together with other facts. `sensitive`: it is about a person's conduct.
   */
  readonly "x-pii"?: "direct" | "indirect" | "sensitive"
  /** What the fact is for. `price`: it affects the price. `offer`: carriers may need the fact for an offer. */
  readonly "x-tier"?: "price" | "offer"
  /** The value that is assumed if the fact is not sent. */
  readonly "x-assume"?: { readonly value: JsonValue } | { readonly from: string } | { readonly formula: string }
}

/** A text fact's metadata. */
export interface TextAbout extends About {
  /** Example values to show in documents. */
  readonly examples?: ReadonlyArray<string>
}

/** A fact that is one of the listed values. */
export const choice = <const Values extends ReadonlyArray<string | number>>(values: Values, about: About = {}) =>
  Schema.Literals(values).annotate({ ...about })

/** A fact that is one of the listed values, or null. */
export const choiceOrNull = <const Values extends ReadonlyArray<string | number>>(values: Values, about: About = {}) =>
  Schema.NullOr(Schema.Literals(values)).annotate({ ...about })

/** A fact that is true or false. */
export const yesNo = (about: About = {}) => Schema.Boolean.annotate({ ...about })

/** A fact that is a whole number between two bounds, optionally in steps. */
export const wholeNumber = (minimum: number, maximum: number, about: About & { readonly step?: number } = {}) => {
  const { step = 1, ...rest } = about
  // A fractional step would not be exact: 0.3 % 0.1 is almost 0.1.
  if (!Number.isSafeInteger(step) || step < 1)
    throw mistaken("Fact.wholeNumber", [{ path: "step", message: "Must be a whole number of at least 1." }])
  const isInRange = (value: number) => value >= minimum && value <= maximum && value % step === 0
  return Schema.Finite.check(
    Schema.makeFilter(isInRange, {
      expected: `a whole number from ${minimum} to ${maximum}${step === 1 ? "" : ` in steps of ${step}`}`,
      toJsonSchema: () => ({ type: "integer", minimum, maximum, ...(step > 1 && { multipleOf: step }) })
    })
  ).annotate({ ...rest })
}

/** A text fact with a minimum and a maximum length. */
export const text = (length: { readonly min?: number; readonly max: number }, about: TextAbout = {}) =>
  textUpTo(length.max, length.min).annotate({ ...about })

/** A text fact that matches a pattern. `expected` describes the pattern, such as "a month, YYYY-MM". */
export const textLike = (form: RegExp, expected: string, about: TextAbout = {}) =>
  Schema.String.check(Schema.isPattern(form, { expected })).annotate({ ...about })

/** A fact that is a person's first or last name. */
export const personName = (about: TextAbout) =>
  textUpTo(60, 1)
    .check(
      Schema.isPattern(/^[^0-9<>{}[\]\\/]+$/u, {
        expected: "a name without digits, brackets or slashes",
        // "[" is escaped, because some regex engines reject it otherwise.
        toJsonSchema: () => ({ pattern: "^[^0-9<>{}\\[\\]\\\\/]+$" })
      })
    )
    .annotate({ ...about })

/** A fact that is a calendar date, `YYYY-MM-DD`. */
export const day = (about: TextAbout) =>
  Schema.String.check(
    Schema.makeFilter(isCalendarDay, {
      expected: "a calendar date, YYYY-MM-DD",
      toJsonSchema: () => ({ format: "date", pattern: "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$" })
    })
  ).annotate({ ...about })

/** A fact that is a calendar month, `YYYY-MM`. */
export const month = (about: TextAbout) => textLike(/^[0-9]{4}-(0[1-9]|1[0-2])$/u, "a month, YYYY-MM", about)

const address = /^[^\s@<>()",;:\\]+@[^\s@.<>()",;:\\]+(?:\.[^\s@.<>()",;:\\]+)+$/u

/** A fact that is an e-mail address. */
export const email = (about: TextAbout) =>
  textUpTo(254)
    .check(
      Schema.makeFilter((value) => address.test(value), {
        expected: "an e-mail address",
        toJsonSchema: () => ({ format: "email" })
      })
    )
    .annotate({ ...about })

/**
 * A list of facts with a minimum and a maximum length. If the list is too short, the first missing item is reported.
 */
export const listOf = <Item extends Schema.Top>(
  item: Item,
  items: { readonly min?: number; readonly max: number },
  about: About = {}
) => {
  const { min = 0, max } = items
  return Schema.Array(item)
    .check(
      Schema.makeFilter(
        (list) => {
          if (list.length > max) return `Must have at most ${max} items`
          return list.length < min ? { path: [0], issue: new SchemaIssue.MissingKey(undefined) } : undefined
        },
        { reads_keys: true, max_items: max, toJsonSchema: () => ({ ...(min > 0 && { minItems: min }), maxItems: max }) }
      )
    )
    .annotate({ ...about })
}

type Name<Facts> = keyof Facts & string

const missingFact = (name: string, because?: string) => ({
  path: [name],
  issue: new SchemaIssue.MissingKey(because === undefined ? undefined : { because })
})

/** Requires all facts in at least one of these groups. */
export const oneGroupOf = <Facts extends object>(...groups: ReadonlyArray<ReadonlyArray<Name<Facts>>>) => {
  const because = `Send ${groups.map(listed).join(", or ")}.`
  return Schema.makeFilter<Facts>(
    (facts) =>
      groups.some((group) => group.every((name) => facts[name] !== undefined))
        ? undefined
        : groups.flat().flatMap((name) => (facts[name] === undefined ? [missingFact(name, because)] : [])),
    {
      reads_keys: true,
      can_require: groups.flat(),
      toJsonSchema: () => ({ anyOf: groups.map((required) => ({ required })) })
    }
  )
}

/** Requires the other facts if the first fact is sent. */
export const requiresWith = <Facts extends object>(first: Name<Facts>, ...others: ReadonlyArray<Name<Facts>>) =>
  Schema.makeFilter<Facts>(
    (facts) =>
      facts[first] === undefined
        ? undefined
        : others.flatMap((name) =>
            facts[name] === undefined ? [missingFact(name, `It is required with ${first}.`)] : []
          ),
    { reads_keys: true, toJsonSchema: () => ({ dependentRequired: { [first]: others } }) }
  )

/** Requires another fact if all of these facts have one of their listed values. */
export const requiredWhen = <Facts extends object>(
  values: Readonly<Record<string, ReadonlyArray<unknown>>>,
  required: Name<Facts>
) => {
  const conditions = Object.entries(values)
  const member = (facts: object, name: string): unknown => Reflect.get(facts, name)
  return Schema.makeFilter<Facts>(
    (facts) =>
      facts[required] === undefined && conditions.every(([name, allowed]) => allowed.includes(member(facts, name)))
        ? missingFact(required)
        : undefined,
    {
      reads_keys: true,
      toJsonSchema: () => ({
        if: {
          properties: Object.fromEntries(
            conditions.map(([name, allowed]) => [
              name,
              allowed.length === 1 ? { const: allowed[0] } : { enum: allowed }
            ])
          ),
          required: conditions.map(([name]) => name)
        },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { required: [required] }
      })
    }
  )
}

/** Joins names as in "vin" or "model_year, make and model". */
const listed = (names: ReadonlyArray<string>): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} and ${names.slice(-1).join()}`

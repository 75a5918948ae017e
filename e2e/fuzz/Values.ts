import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import fc from "fast-check"
import { at, list, type Node, text } from "../../packages/http/src/documents/JsonNode.ts"

/** A mark in every refused string, so that a search finds every response that repeats a refused value. */
export const marker = "zq7marker"

const ajv = new Ajv2020({ strict: false })
addFormats.default(ajv)

/** Creates a check of whether a value matches a schema in the document. */
export const validatorOf = (document: Node, schema: Node): ValidateFunction =>
  ajv.compile({ ...schema, components: document.components })

/** Values that match a schema of the document. */
export const fitting = (document: Node, schema: Node): fc.Arbitrary<unknown> => {
  if ("$ref" in schema) return fitting(document, at(document, { schema }, "schema"))
  if ("const" in schema) return fc.constant(schema.const)
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  const any = [...list(document, schema, "anyOf"), ...list(document, schema, "oneOf")]
  if (any.length > 0) return fc.oneof(...any.map((one) => fitting(document, one)))
  switch (schema.type) {
    case "integer":
      return fc.integer({ min: number(schema.minimum, 0), max: number(schema.maximum, 1_000_000) })
    case "number":
      return fc.double({ noNaN: true, noDefaultInfinity: true })
    case "boolean":
      return fc.boolean()
    case "array":
      return fc.uniqueArray(fitting(document, at(document, schema, "items")), {
        minLength: number(schema.minItems, 1),
        maxLength: Math.min(number(schema.maxItems, 3), 3)
      })
    case "object":
      return objectOf(document, schema)
    default:
      return textOf(schema)
  }
}

const number = (value: unknown, otherwise: number): number => (typeof value === "number" ? value : otherwise)

const objectOf = (document: Node, schema: Node) => {
  const required = Array.isArray(schema.required) ? schema.required : []
  const members = Object.keys(at(document, schema, "properties"))
  return fc.record(
    Object.fromEntries(
      members.map((name) => [name, fitting(document, at(document, at(document, schema, "properties"), name))])
    ),
    { requiredKeys: members.filter((name) => required.includes(name)) }
  )
}

const textOf = (schema: Node): fc.Arbitrary<string> => {
  if (schema.format === "date-time") {
    return fc.constantFrom("2026-01-01T00:00:00Z", "2026-11-20T12:00:00.123+02:00", "2027-02-28T23:59:59-05:00")
  }
  if (text(schema, "pattern") !== "") return fc.stringMatching(new RegExp(text(schema, "pattern"), "u"))
  const maxLength = Math.min(number(schema.maxLength, 40), 40)
  return fc
    .array(fc.constantFrom("a", "Z", "ü", "東", "🦆", "-"), { minLength: number(schema.minLength, 1), maxLength: 8 })
    .map((parts) => parts.join("").slice(0, maxLength).toWellFormed())
}

/**
 * JSON text of values that do not match a schema: wrong types, wrong bounds, malformed and endless text, deep nesting.
 */
export const unfitting = (document: Node, schema: Node): fc.Arbitrary<string> => {
  const isFitting = validatorOf(document, schema)
  return fc
    .oneof(
      fc.constantFrom("null", "true", "false", "0", "-1", "1.5", "1e400", "-1e400", "1e-400", "9007199254740993"),
      fc.constantFrom("[]", "{}", `["${marker}"]`, `{"${marker}":1}`, `{"a":{"b":"${marker}"}}`, "[[[[]]]]", "[null]"),
      fc
        .constantFrom("", "\\t\\r\\n", "\\u202e", "<b>", "' OR 1=1 --", "../..", "{{7*7}}")
        .map((it) => `"${marker}${it}"`),
      fc.constantFrom(300, 3_000, 30_000).map((length) => `"${marker}${"x".repeat(length)}"`),
      fc.integer().map(String)
    )
    .filter((json) => isFitting(JSON.parse(json)) !== true)
}

/** JSON text that no field accepts, whatever its schema: text that no storage can hold, and endless nesting. */
export const unsafe: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom("\\u0000", "\\ud800", "\\udc00\\ud800").map((it) => `"${marker}${it}"`),
  fc.constantFrom(40, 400, 4_000).map((levels) => `${"[".repeat(levels)}${"]".repeat(levels)}`),
  fc.constantFrom(40, 400).map((levels) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`)
)

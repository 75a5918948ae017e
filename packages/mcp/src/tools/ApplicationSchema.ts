import type { Line, Lines } from "@quotewire/core"
import { type JsonSchema, Predicate } from "effect"

/*
 * The `application` argument as `tools/list` declares it: the facts of all insurance lines in one object. Client
 * programs convert declarations to what their model accepts. Many drop or refuse unions, but all keep the fields of an
 * object. The declaration is short, because models read it in every conversation. The service itself checks the facts
 * with the schema that `get_capabilities` returns.
 */

/** The JSON Schema of the `application` argument on a host with these insurance lines. */
export const of = (lines: Lines.LineSet): JsonSchema.JsonSchema => {
  const allLines = [...lines.values()]
  return {
    ...allLines.map(({ facts_schema }) => short(facts_schema)).reduce(merged, { type: "object" }),
    description: `The facts of one line, * required. ${namesOf(allLines)}. Dates: YYYY-MM-DD. Leave out what is unknown; null counts as left out.`
  }
}

/** Lists which top-level facts belong to which insurance line. Required facts are marked. */
const namesOf = (lines: ReadonlyArray<Line.Line>): string => {
  const named = lines.map(({ facts_schema, name }) => {
    const required = textsIn(facts_schema.required)
    const facts = Object.keys(membersOf(facts_schema)).map((fact) => `${fact}${required.includes(fact) ? "*" : ""}`)
    return { name, facts }
  })
  const [first, ...others] = named
  const shared =
    others.length === 0 || first === undefined
      ? []
      : first.facts.filter((fact) => others.every(({ facts }) => facts.includes(fact)))
  return [
    ...named.map(({ facts, name }) => `${name}: ${facts.filter((fact) => !shared.includes(fact)).join(", ")}`),
    ...(shared.length === 0 ? [] : [`All: ${shared.join(", ")}`])
  ].join(". ")
}

/**
 * The maximum number of strings in a list that models see. Longer lists are omitted, such as the 51 codes of states,
 * which every model knows.
 */
export const mostTexts = 20
const mostNumbers = 8

/**
 * Reduces a schema to names, types, short lists of values and descriptions. The service checks bounds and patterns
 * later. Formats are removed too, because some models refuse tools with unknown formats.
 */
const short = (schema: JsonSchema.JsonSchema): JsonSchema.JsonSchema => {
  const { items, type } = schema
  // Omits the description of a nullable fact. It explains what null means, but in arguments null is treated as omitted.
  const description = Array.isArray(schema.enum) && schema.enum.includes(null) ? undefined : schema.description
  const { description: allowed, ...values } = valuesOf(schema.enum)
  const notes = [description, allowed, alternativesOf(schema)].filter(Predicate.isString).join("; ")
  const members = Object.entries(membersOf(schema)).map(([name, member]) => [name, short(member)])
  const required = textsIn(schema.required)
  return {
    ...(typeof type === "string" && { type }),
    ...values,
    ...(notes !== "" && { description: notes }),
    ...(isSchema(items) && { items: short(items) }),
    ...(members.length > 0 && { properties: Object.fromEntries(members) }),
    ...(required.length > 0 && { required })
  }
}

/**
 * The allowed values. They become a list if all are strings, otherwise part of the description, because some models
 * accept only lists of strings. Null is left out, because it is treated as omitted.
 */
const valuesOf = (values: unknown): JsonSchema.JsonSchema => {
  if (!Array.isArray(values)) return {}
  const sendable = values.filter((value) => value !== null)
  if (sendable.every(Predicate.isString))
    return { type: "string", ...(sendable.length <= mostTexts && { enum: sendable }) }
  if (!sendable.every(Predicate.isNumber)) {
    return { anyOf: [{ type: "integer" }, { type: "string" }], description: sendable.join(", ") }
  }
  return { type: "integer", ...(sendable.length <= mostNumbers && { description: sendable.join(", ") }) }
}

/** Formats alternative groups of facts as text, such as "vin, or model_year and make and model". */
const alternativesOf = ({ anyOf }: JsonSchema.JsonSchema): string | null => {
  const groups = Array.isArray(anyOf) ? anyOf.filter(isSchema).map(({ required }) => textsIn(required)) : []
  if (groups.length === 0 || groups.some((group) => group.length === 0)) return null
  return `Needs ${groups.map((group) => group.join(" and ")).join(", or ")}`
}

/** Merges the schemas of a fact that two insurance lines have under the same name. */
const merged = (a: JsonSchema.JsonSchema, b: JsonSchema.JsonSchema): JsonSchema.JsonSchema => {
  if (JSON.stringify(a) === JSON.stringify(b)) return a
  if (a.type !== b.type) return { anyOf: [...choicesOf(a), ...choicesOf(b)] }
  const { description: _, enum: __, required: ___, ...both } = { ...a, ...b }
  const inOne = membersOf(a)
  const properties = { ...membersOf(b), ...inOne }
  for (const [name, member] of Object.entries(membersOf(b))) {
    const existing = inOne[name]
    if (existing !== undefined) properties[name] = merged(existing, member)
  }
  const required = textsIn(a.required).filter((name) => textsIn(b.required).includes(name))
  const values = [...new Set([...textsIn(a.enum), ...textsIn(b.enum)])]
  const notes = [...new Set([...textsIn([a.description]), ...textsIn([b.description])])].join("; ")
  return {
    ...both,
    ...(Array.isArray(a.enum) && Array.isArray(b.enum) && { enum: values }),
    ...(notes !== "" && { description: notes }),
    ...(isSchema(a.items) && isSchema(b.items) && { items: merged(a.items, b.items) }),
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required })
  }
}

const choicesOf = (schema: JsonSchema.JsonSchema): ReadonlyArray<unknown> =>
  Array.isArray(schema.anyOf) ? schema.anyOf : [schema]

const isSchema = (value: unknown): value is JsonSchema.JsonSchema => Predicate.isObject(value)

const membersOf = ({ properties }: JsonSchema.JsonSchema): Record<string, JsonSchema.JsonSchema> =>
  isSchema(properties)
    ? Object.fromEntries(
        Object.entries(properties).flatMap(([name, member]) => (isSchema(member) ? [[name, member] as const] : []))
      )
    : {}

const textsIn = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter(Predicate.isString) : []

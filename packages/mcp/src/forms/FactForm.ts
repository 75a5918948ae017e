import type { ApiError, Line } from "@quotewire/core"
import { type JsonSchema, Predicate } from "effect"
import { factOf, isIndex, starred } from "../answers/FactQuestions.ts"
import { words } from "../answers/phrases.ts"
import type { Form, FormField, Value } from "../protocol/Form.ts"
import type { Fields } from "../protocol/JsonRpc.ts"

/** The maximum number of fields in a form. If more facts are missing, the model asks for them in the conversation. */
const maxFields = 12

/** The maximum length of an answer, in characters. Longer answers are dropped, because no fact is that long. */
const maxCharacters = 500

/**
 * Creates a form that asks for the missing facts; null if a form cannot ask for all of them.
 *
 * MCP forms are flat, so they cannot ask for a list or an object. They also never ask for text that identifies a
 * person, such as a name or a document number. The model sends such facts in the arguments.
 */
export const of = (missingFields: ReadonlyArray<ApiError.FieldError>, line: Line.Line): Form | null => {
  const fields = missingFields.map(({ path }) => [factOf(path), fieldOf(path, line)] as const)
  if (fields.length === 0 || fields.length > maxFields) return null
  const askable = fields.flatMap(([path, field]) => (field === null ? [] : [[path, field] as const]))
  if (askable.length < fields.length) return null
  return {
    message: `To quote prices for ${line.insures}, the carriers need to know:`,
    requestedSchema: {
      type: "object",
      properties: Object.fromEntries(askable),
      // Facts that are alternatives, such as a birth month and an age, are not required, because one of them is enough.
      // The service checks the answer.
      required: askable.map(([path]) => path).filter((path) => !isAlternative(path, line))
    }
  }
}

const fieldOf = (path: string, line: Line.Line): FormField | null => {
  const schema = schemaAt(line.facts_schema, factOf(path).split("."))
  if (schema === null) return null
  const { description, enum: values, format, maximum, minimum, type } = schema
  const notes = {
    title: line.neededFact(starred(factOf(path))).label,
    ...(typeof description === "string" && { description })
  }
  if (Array.isArray(values)) {
    const texts = values.filter((value) => value !== null)
    if (!texts.every((value) => Predicate.isString(value) || Predicate.isNumber(value))) return null
    const choices = texts.map(String)
    return { type: "string", ...notes, enum: choices, enumNames: choices.map(words) }
  }
  if (type === "boolean") return { type, ...notes }
  if (type === "integer" || type === "number") {
    return {
      type,
      ...notes,
      ...(Predicate.isNumber(minimum) && { minimum }),
      ...(Predicate.isNumber(maximum) && { maximum })
    }
  }
  if (type !== "string") return null
  if (format === "date") return { type, ...notes, format }
  return schema["x-pii"] === "direct" ? null : { type, ...notes }
}

/** The schema of the fact at a path; null if the line has no such fact. */
const schemaAt = (
  schema: JsonSchema.JsonSchema,
  [name, ...rest]: ReadonlyArray<string>
): JsonSchema.JsonSchema | null => {
  if (name === undefined) return schema
  const members = Predicate.isObject(schema.properties) ? schema.properties : {}
  const member = isIndex(name) ? schema.items : Object.hasOwn(members, name) ? members[name] : undefined
  return isSchema(member) ? schemaAt(member, rest) : null
}

const isSchema = (value: unknown): value is JsonSchema.JsonSchema => Predicate.isObject(value)

/** Whether a fact is one of several alternatives: the schema then lists the fact in `anyOf`. */
const isAlternative = (path: string, line: Line.Line): boolean => {
  const names = path.split(".")
  const around = schemaAt(line.facts_schema, names.slice(0, -1))
  if (around === null || !Array.isArray(around.anyOf)) return false
  return around.anyOf.some(
    (group) => isSchema(group) && Array.isArray(group.required) && group.required.includes(names.at(-1))
  )
}

/**
 * Reads the facts from an accepted form, by path. `paths` lists the paths of the form's fields; other fields are
 * dropped.
 */
export const read = (
  content: Readonly<Record<string, Value>>,
  paths: ReadonlyArray<string>,
  line: Line.Line
): Readonly<Record<string, Value>> =>
  Object.fromEntries(
    paths.flatMap((path) => {
      const answer = Object.hasOwn(content, path) ? content[path] : undefined
      const value = answer === undefined ? null : valueOf(answer, schemaAt(line.facts_schema, path.split(".")))
      return value === null ? [] : [[path, value] as const]
    })
  )

/** Converts a value to the type that the insurance line expects, because forms offer a choice of numbers as text. */
const valueOf = (value: Value, schema: JsonSchema.JsonSchema | null): Value | null => {
  if (typeof value !== "string") return value
  if (value === "" || value.length > maxCharacters) return null
  const numbers = Array.isArray(schema?.enum) ? schema.enum.filter(Predicate.isNumber) : []
  return numbers.find((number) => String(number) === value) ?? value
}

/** Adds facts to an application, by path. A fact that the application already has stays as it is. */
export const merged = (application: unknown, facts: Readonly<Record<string, Value>>): unknown =>
  Object.entries(facts).reduce((partial, [path, value]) => withFact(partial, path.split("."), value), application)

const withFact = (whole: unknown, [name, ...rest]: ReadonlyArray<string>, value: Value): unknown => {
  if (name === undefined) return whole ?? value
  const inside = (member: unknown) => withFact(member, rest, value)
  if (isIndex(name) && (whole === undefined || Array.isArray(whole))) {
    const items: ReadonlyArray<unknown> = whole ?? []
    const index = Number(name)
    return index < items.length
      ? items.map((item, position) => (position === index ? inside(item) : item))
      : [...items, inside({})]
  }
  const members: Fields = Predicate.isObject(whole) ? whole : {}
  return { ...members, [name]: inside(members[name]) }
}

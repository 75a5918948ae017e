import { HostSchema, type Lines, type Operation } from "@quotewire/core"
import { type JsonSchema, Predicate, Schema } from "effect"

/** The JSON Schema of an object. MCP requires objects for arguments and results. */
export type ObjectSchema = { readonly type: "object"; readonly [key: string]: unknown }

/** The schemas of arguments by name, and the names of the required ones. */
export interface ArgumentSchemas {
  readonly properties: Readonly<Record<string, JsonSchema.JsonSchema>>
  readonly required: ReadonlyArray<string>
}

/** Derives the schemas of a tool's arguments from its operation's input, on a host with these insurance lines. */
export const argumentsOf = (operation: Pick<Operation.Operation, "input">, lines: Lines.LineSet): ArgumentSchemas => {
  const { schema, definitions } = Schema.toJsonSchemaDocument(HostSchema.forLines(operation.input, lines))
  return fieldsOf(schema, definitions)
}

const fieldsOf = (schema: JsonSchema.JsonSchema, definitions: JsonSchema.Definitions): ArgumentSchemas => {
  const { properties: members, required } = resolved(schema, definitions)
  const properties = Predicate.isObject(members) ? members : {}
  return {
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, Predicate.isObject(property) ? plain(property) : {}])
    ),
    required: Array.isArray(required) ? required.filter(Predicate.isString) : []
  }
}

/** The schema that a reference points to, or the schema itself if it is not a reference. */
const resolved = (schema: JsonSchema.JsonSchema, definitions: JsonSchema.Definitions): JsonSchema.JsonSchema =>
  typeof schema.$ref === "string"
    ? resolved(definitions[schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)] ?? {}, definitions)
    : schema

/**
 * The schema of every result, including refusals, because client programs validate results and refusals with the same
 * schema. It is short, because models read it in every conversation.
 */
export const result: ObjectSchema = { type: "object", properties: { summary: { type: "string" } } }

/**
 * Makes a schema as short as possible: removes constraints that the service checks later, and moves descriptions out of
 * `allOf`.
 */
const plain = (schema: JsonSchema.JsonSchema): JsonSchema.JsonSchema => {
  const parts = Array.isArray(schema.allOf) ? schema.allOf.filter(Predicate.isObject) : []
  const notes = parts.filter(isNote)
  const conditions = parts.filter((part) => !isNote(part))
  const { allOf: _, ...rest } = { ...Object.assign({}, ...notes), ...schema }
  return Object.fromEntries(
    Object.entries(conditions.length > 0 ? { ...rest, allOf: conditions } : rest)
      .filter(([key, value]) => !isTakenForGranted(key, value))
      .map(([key, value]) => [key, inside(value)])
  )
}

const inside = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inside)
  return Predicate.isObject(value) ? plain(value) : value
}

const isNote = (part: { readonly [key: PropertyKey]: unknown }): boolean =>
  Object.keys(part).every((key) => key === "description" || key === "title")

const isTakenForGranted = (key: string, value: unknown): boolean =>
  checkedLater.has(key) ||
  (key === "additionalProperties" && value === true) ||
  (key === "minimum" && value === Number.MIN_SAFE_INTEGER) ||
  (key === "maximum" && value === Number.MAX_SAFE_INTEGER)

/** Keywords that a model does not need, because the service checks them, and its refusal says what is allowed. */
const checkedLater: ReadonlySet<string> = new Set(["pattern", "minLength", "maxLength", "maxItems", "uniqueItems"])

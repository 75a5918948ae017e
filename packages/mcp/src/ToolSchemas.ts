import { ApiError, HostSchema, type Lines, type Operation } from "@quotewire/core"
import { type JsonSchema, Predicate, Schema } from "effect"

/** A JSON Schema of an object, as MCP requires for arguments and results. */
export type ObjectSchema = { readonly type: "object"; readonly [key: string]: unknown }

/** The arguments of an operation by name, and the names of the required ones. */
export interface Arguments {
  readonly properties: Readonly<Record<string, JsonSchema.JsonSchema>>
  readonly required: ReadonlyArray<string>
}

/** Derives the arguments of an operation from its input on a host with these lines. Alternatives are merged. */
export const argumentsOf = (operation: Pick<Operation.Operation, "input">, lines: Lines.LineSet): Arguments => {
  const { schema, definitions } = Schema.toJsonSchemaDocument(HostSchema.forLines(operation.input, lines))
  return fieldsOf(schema, definitions)
}

const fieldsOf = (schema: JsonSchema.JsonSchema, definitions: JsonSchema.Definitions): Arguments => {
  if (typeof schema.$ref === "string") {
    return fieldsOf(definitions[schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)] ?? {}, definitions)
  }
  const properties = Predicate.isObject(schema.properties) ? schema.properties : {}
  return {
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, Predicate.isObject(property) ? plain(property) : {}])
    ),
    required: Array.isArray(schema.required) ? schema.required.filter(Predicate.isString) : []
  }
}

/**
 * Derives the schema of a tool's results: the operation's answer or the error envelope, because clients validate both
 * with it.
 */
export const resultOf = (operation: Pick<Operation.Operation, "output">, lines: Lines.LineSet): ObjectSchema => {
  const result = Schema.Union([HostSchema.forLines(operation.output, lines), ApiError.ErrorEnvelope])
  const { schema, definitions } = Schema.toJsonSchemaDocument(result)
  const { anyOf } = plain(schema)
  return { type: "object", anyOf, $defs: mapped(definitions) }
}

const mapped = (schemas: Readonly<Record<string, JsonSchema.JsonSchema>>) =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, plain(schema)]))

/** A schema without redundant constraints, and with descriptions next to what they describe. */
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
  (key === "additionalProperties" && value === true) ||
  (key === "minimum" && value === Number.MIN_SAFE_INTEGER) ||
  (key === "maximum" && value === Number.MAX_SAFE_INTEGER)

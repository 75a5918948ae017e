import { ApiError, HostSchema, type Lines, type Operation } from "@quotewire/core"
import { JsonSchema, Predicate, Schema, SchemaRepresentation } from "effect"
import * as InputShape from "./InputShape.ts"
import * as OpenApiExamples from "./OpenApiExamples.ts"
import * as OpenApiFacts from "./OpenApiFacts.ts"
import * as OpenApiValues from "./OpenApiValues.ts"

/** The JSON Schemas of one operation. */
export interface OperationSchemas {
  readonly input: InputShape.InputShape
  /** The body; null if the operation has no body. */
  readonly body: { readonly schema: JsonSchema.JsonSchema; readonly isRequired: boolean } | null
  readonly output: JsonSchema.JsonSchema
}

/** The JSON Schemas of all operations. A schema with an identifier appears once, as a component. */
export interface Schemas {
  readonly operations: ReadonlyMap<string, OperationSchemas>
  readonly components: JsonSchema.Definitions
}

/** The parts of an operation that a document describes. */
export type DescribedOperation = Pick<
  Operation.Operation,
  "name" | "summary" | "description" | "tag" | "route" | "authority" | "idempotent" | "errors" | "input" | "output"
>

/** The parts of an operation that its JSON Schemas depend on. */
type SchemaSource = Pick<DescribedOperation, "name" | "route" | "input" | "output">

/**
 * Derives the JSON Schemas of operations on a host with these insurance lines. `extraConstraints` are additional
 * schemas that become components; each must have an identifier.
 *
 * A `jsonSchema` annotation on a field replaces the field's schema.
 */
export const of = (
  operations: ReadonlyArray<SchemaSource>,
  lines: Lines.LineSet,
  extraConstraints: ReadonlyArray<Schema.Constraint> = []
): Schemas => {
  const ast = (schema: Schema.Constraint) => Schema.toCodecJson(HostSchema.forLines(schema, lines)).ast
  const inputs = operations.map(({ input }) => ast(input))
  const outputs = operations.map(({ output }) => ast(output))
  const { schemas, definitions } = JsonSchema.toMultiDocumentOpenApi3_1(
    SchemaRepresentation.toJsonSchemaMultiDocument(
      SchemaRepresentation.toRepresentations([
        ast(ApiError.ErrorEnvelope),
        ...inputs,
        ...outputs,
        ...extraConstraints.map(ast)
      ]),
      { includeAnnotationKey: (key) => key === "jsonSchema" }
    )
  )
  const lists = OpenApiValues.of(lines)
  const shared = Object.fromEntries(
    Object.entries(definitions).map(([name, schema]) => [name, presented(schema, "open", lists)])
  )
  const ofOperation = (name: string, route: Operation.Route, index: number) => {
    const input = presented(schemas[1 + index] ?? {}, "closed", lists)
    const shape = InputShape.of(input, shared)
    const output = presented(schemas[1 + operations.length + index] ?? {}, "open", lists)
    const body = bodyOf(route, input, shape)
    const { schema, components } = OpenApiFacts.byLine(body?.schema ?? {}, OpenApiExamples.lineOf(name))
    return { components, described: { input: shape, body: body && { ...body, schema }, output } }
  }
  const ofOperations = operations.map(({ name, route }, index) => ({ name, ...ofOperation(name, route, index) }))
  return {
    components: Object.assign(
      {},
      OpenApiValues.components(lists),
      shared,
      ...ofOperations.map(({ components }) => components)
    ),
    operations: new Map(ofOperations.map(({ name, described }) => [name, described]))
  }
}

const bodyOf = (
  route: Operation.Route,
  input: JsonSchema.JsonSchema,
  shape: InputShape.InputShape
): OperationSchemas["body"] => {
  const names = InputShape.bodyFields(route, shape)
  if (names.length === 0 || route.method === "GET" || route.method === "DELETE") return null
  const required = names.filter((name) => shape.required.includes(name))
  const minProperties = leastOf(input) - (Object.keys(shape.properties).length - names.length)
  const isWholeInput = names.length === Object.keys(shape.properties).length
  const schema =
    isWholeInput && input.type !== "object"
      ? input
      : {
          type: "object",
          properties: Object.fromEntries(names.map((name) => [name, shape.properties[name]])),
          ...(required.length > 0 ? { required } : {}),
          ...(minProperties > 0 ? { minProperties } : {}),
          additionalProperties: false
        }
  return { schema, isRequired: required.length > 0 || minProperties > 0 }
}

/** The minimum number of fields in an input, including those outside the body. */
const leastOf = ({ minProperties }: JsonSchema.JsonSchema): number =>
  typeof minProperties === "number" ? minProperties : 0

/** Whether an object may have fields that its schema does not name. Responses may have them; inputs may not. */
type Openness = "open" | "closed"

/**
 * Prepares a schema for the document: `jsonSchema` annotations replace schemas, each description moves next to the
 * schema that it describes, and redundant constraints are removed.
 */
const presented = (
  schema: JsonSchema.JsonSchema,
  openness: Openness,
  lists: ReadonlyArray<OpenApiValues.Values>
): JsonSchema.JsonSchema => {
  const { conditions, notes } = sorted(schema.allOf)
  const { jsonSchema, allOf: _, ...rest } = { ...notes, ...schema }
  const whole = Predicate.isObject(jsonSchema)
    ? { ...OpenApiFacts.descriptionOf(rest), ...OpenApiFacts.readable(jsonSchema) }
    : rest
  const list = OpenApiValues.placeOf(lists, whole, openness === "open")
  if (list !== undefined || Predicate.isObject(jsonSchema)) return list ?? whole
  const members = Object.entries(conditions.length > 0 ? { ...rest, allOf: conditions } : rest)
  const show = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(show)
    return Predicate.isObject(value) ? presented(value, openness, lists) : value
  }
  const isClosed = openness === "closed" && schema.type === "object" && schema.additionalProperties === true
  const saysNothing = schema.type === "object" && !("properties" in schema) && !("additionalProperties" in schema)
  return Object.fromEntries([
    ...members.filter(([key, value]) => !isTakenForGranted(key, value)).map(([key, value]) => [key, show(value)]),
    ...(isClosed ? [["additionalProperties", false]] : []),
    // Generators treat an object schema without any keywords as an empty object, so allow all properties explicitly.
    ...(saysNothing ? [["additionalProperties", true]] : [])
  ])
}

const isTakenForGranted = (key: string, value: unknown): boolean =>
  (key === "additionalProperties" && value === true) ||
  (key === "minimum" && value === Number.MIN_SAFE_INTEGER) ||
  (key === "maximum" && value === Number.MAX_SAFE_INTEGER)

/** Separates the descriptions in an `allOf` from its conditions. */
const sorted = (allOf: unknown): { conditions: ReadonlyArray<unknown>; notes: JsonSchema.JsonSchema } => {
  const parts: ReadonlyArray<unknown> = Array.isArray(allOf) ? allOf : []
  const isNote = (part: unknown): part is JsonSchema.JsonSchema =>
    Predicate.isObject(part) && Object.keys(part).every((key) => noteKeywords.has(key))
  return { conditions: parts.filter((part) => !isNote(part)), notes: Object.assign({}, ...parts.filter(isNote)) }
}

const noteKeywords = new Set(["title", "description", "default", "examples", "jsonSchema"])

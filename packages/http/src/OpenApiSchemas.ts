import { ApiError, type Operation } from "@quotewire/core"
import { JsonSchema, Predicate, Schema, SchemaRepresentation } from "effect"
import * as InputShape from "./InputShape.ts"

/** The JSON Schemas of one operation. */
export interface OperationSchemas {
  readonly input: InputShape.InputShape
  /** What travels in the body; null where nothing does. */
  readonly body: { readonly schema: JsonSchema.JsonSchema; readonly isRequired: boolean } | null
  readonly output: JsonSchema.JsonSchema
}

/** The JSON Schemas of all operations: those with an identifier once, as components. */
export interface Schemas {
  readonly operations: ReadonlyMap<string, OperationSchemas>
  readonly components: JsonSchema.Definitions
}

type Described = Pick<Operation.Operation, "name" | "route" | "input" | "output">

/** Derives the JSON Schemas of operations; a field annotated with `jsonSchema` is shown as the annotation says. */
export const of = (operations: ReadonlyArray<Described>): Schemas => {
  const all = operations.flatMap(({ input, output }) => [input, output])
  const { schemas, definitions } = JsonSchema.toMultiDocumentOpenApi3_1(
    SchemaRepresentation.toJsonSchemaMultiDocument(
      SchemaRepresentation.toRepresentations([ast(ApiError.ErrorEnvelope), ...all.map(ast)]),
      { includeAnnotationKey: (key) => key === "jsonSchema" }
    )
  )
  const components = Object.fromEntries(Object.entries(definitions).map(([name, schema]) => [name, shown(schema)]))
  const [, ...shownSchemas] = schemas.map(shown)
  return {
    components,
    operations: new Map(
      operations.map((operation, index) => {
        const input = shownSchemas[2 * index] ?? {}
        const shape = InputShape.of(input, components)
        const output = shownSchemas[2 * index + 1] ?? {}
        return [operation.name, { input: shape, body: bodyOf(operation.route, input, shape), output }]
      })
    )
  }
}

const ast = (schema: Schema.Constraint) => Schema.toCodecJson(schema).ast

const bodyOf = (
  route: Operation.Route,
  input: JsonSchema.JsonSchema,
  shape: InputShape.InputShape
): OperationSchemas["body"] => {
  const names = InputShape.bodyFields(route, shape)
  if (names.length === 0 || route.method === "GET" || route.method === "DELETE") return null
  const required = names.filter((name) => shape.required.includes(name))
  const isWholeInput = names.length === Object.keys(shape.properties).length
  const schema =
    isWholeInput && input.type !== "object"
      ? input
      : {
          type: "object",
          properties: Object.fromEntries(names.map((name) => [name, shape.properties[name]])),
          ...(required.length > 0 ? { required } : {}),
          additionalProperties: false
        }
  return { schema, isRequired: required.length > 0 }
}

/** Puts what a `jsonSchema` annotation says in the place of its schema. */
const shown = (schema: JsonSchema.JsonSchema): JsonSchema.JsonSchema => {
  const said = schema.jsonSchema
  if (Predicate.isObject(said)) {
    return typeof schema.description === "string" ? { description: schema.description, ...said } : { ...said }
  }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, shownValue(value)]))
}

const shownValue = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shownValue)
  return Predicate.isObject(value) ? shown(value) : value
}

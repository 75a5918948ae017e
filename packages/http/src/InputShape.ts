import type { Operation } from "@quotewire/core"
import { type JsonSchema, Predicate, Schema } from "effect"

/** The fields of an operation's input as JSON Schemas, wherever in a call they travel. */
export interface InputShape {
  /** The schema of the input as one object. */
  readonly schema: JsonSchema.JsonSchema
  readonly properties: Readonly<Record<string, JsonSchema.JsonSchema>>
  /** The fields without which no input is complete. */
  readonly required: ReadonlyArray<string>
  readonly definitions: JsonSchema.Definitions
}

/** An operation, whatever it takes, answers and needs. */
export type AnyOperation = Pick<Operation.Operation, "name" | "input" | "route">

/** Derives the fields of an operation's input from its schema. */
export const of = (operation: AnyOperation): InputShape => {
  const { schema, definitions } = Schema.toJsonSchemaDocument(operation.input, {
    includeAnnotationKey: (key) => key === "jsonSchema"
  })
  return { schema, definitions, ...fieldsOf(schema, definitions) }
}

/** The fields that travel in the body: those in neither path nor query, by name. */
export const bodyFields = (operation: AnyOperation, shape: InputShape): ReadonlyArray<string> => {
  const inPath = pathFields(operation)
  return Object.keys(shape.properties).filter(
    (name) => !inPath.includes(name) && !Object.hasOwn(operation.route.query, name)
  )
}

/** The fields that travel in the path. */
export const pathFields = (operation: AnyOperation): ReadonlyArray<string> =>
  Array.from(operation.route.path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name)

type Fields = Pick<InputShape, "properties" | "required">

/** Fields of an object schema; alternatives are put together, and only what all of them require is required. */
const fieldsOf = (schema: JsonSchema.JsonSchema, definitions: JsonSchema.Definitions): Fields => {
  if (typeof schema["$ref"] === "string") {
    const target = definitions[schema["$ref"].replace("#/$defs/", "")]
    return target === undefined ? noFields : fieldsOf(target, definitions)
  }
  const own: Fields = {
    properties: Predicate.isObject(schema["properties"]) ? onlySchemas(schema["properties"]) : {},
    required: Array.isArray(schema["required"]) ? schema["required"].filter(Predicate.isString) : []
  }
  const all = schemasIn(schema["allOf"]).map((part) => fieldsOf(part, definitions))
  const any = [...schemasIn(schema["anyOf"]), ...schemasIn(schema["oneOf"])].map((part) => fieldsOf(part, definitions))
  const [first, ...rest] = any
  const inEach = first?.required.filter((name) => rest.every((one) => one.required.includes(name))) ?? []
  return {
    properties: Object.assign({}, own.properties, ...[...all, ...any].map((one) => one.properties)),
    required: [...own.required, ...all.flatMap((one) => one.required), ...inEach]
  }
}

const noFields: Fields = { properties: {}, required: [] }

const schemasIn = (value: unknown): ReadonlyArray<JsonSchema.JsonSchema> =>
  Array.isArray(value) ? value.filter(Predicate.isObject) : []

const onlySchemas = (value: object): Record<string, JsonSchema.JsonSchema> =>
  Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, JsonSchema.JsonSchema] => Predicate.isObject(entry[1]))
  )

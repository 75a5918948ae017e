import type { Operation } from "@quotewire/core"
import { type JsonSchema, Predicate } from "effect"

/** The JSON Schemas of the fields of an operation's input, and the names of the required fields. */
export interface InputShape {
  readonly properties: Readonly<Record<string, JsonSchema.JsonSchema>>
  readonly required: ReadonlyArray<string>
}

/**
 * Reads the fields of an input's schema, whether they are sent in the path, the query or the body.
 *
 * Merges alternative schemas: a field is required only if all alternatives require it.
 */
export const of = (schema: JsonSchema.JsonSchema, definitions: JsonSchema.Definitions): InputShape => {
  const reference = schema.$ref
  if (typeof reference === "string") {
    const target = definitions[reference.slice(reference.lastIndexOf("/") + 1)]
    return target === undefined ? noFields : of(target, definitions)
  }
  const ownShape: InputShape = {
    properties: Predicate.isObject(schema.properties) ? onlySchemas(schema.properties) : {},
    required: Array.isArray(schema.required) ? schema.required.filter(Predicate.isString) : []
  }
  const allOfShapes = schemasIn(schema.allOf).map((part) => of(part, definitions))
  const any = [...schemasIn(schema.anyOf), ...schemasIn(schema.oneOf)].map((part) => of(part, definitions))
  const [first, ...rest] = any
  const inEach = first?.required.filter((name) => rest.every((shape) => shape.required.includes(name))) ?? []
  return {
    properties: Object.assign({}, ownShape.properties, ...[...allOfShapes, ...any].map((shape) => shape.properties)),
    required: [...ownShape.required, ...allOfShapes.flatMap((shape) => shape.required), ...inEach]
  }
}

/** The fields that are sent in the path. */
export const pathFields = (route: Operation.Route): ReadonlyArray<string> =>
  Array.from(route.path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name)

/** The fields that are sent in the body: all except those in the path or the query. */
export const bodyFields = (route: Operation.Route, shape: InputShape): ReadonlyArray<string> => {
  const elsewhere = new Set([...pathFields(route), ...Object.keys(route.query)])
  return Object.keys(shape.properties).filter((name) => !elsewhere.has(name))
}

const noFields: InputShape = { properties: {}, required: [] }

const schemasIn = (value: unknown): ReadonlyArray<JsonSchema.JsonSchema> =>
  Array.isArray(value) ? value.filter(Predicate.isObject) : []

const onlySchemas = (value: object): Record<string, JsonSchema.JsonSchema> =>
  Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, JsonSchema.JsonSchema] => Predicate.isObject(entry[1]))
  )

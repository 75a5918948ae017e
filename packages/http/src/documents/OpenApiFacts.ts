import { type JsonSchema, Predicate } from "effect"

/*
 * Rewrites the schemas of applications (the facts of each insurance line), so that type generators understand them. The
 * same values stay valid.
 */

/** A body's schema, and the components that it refers to. */
export interface Body {
  readonly schema: JsonSchema.JsonSchema
  readonly components: JsonSchema.Definitions
}

/**
 * Splits a body whose `application` depends on its `line` into one component for each line. A generated client then
 * knows which facts belong to which line. Other bodies stay unchanged. `example` is the line that the body's example
 * uses.
 */
export const byLine = (body: JsonSchema.JsonSchema, example?: unknown): Body => {
  const { line, application, ...properties } = membersOf(body)
  const titled = listOf(application?.anyOf).filter(({ title }) => typeof title === "string")
  // The example's line comes first, so that a reader sees the fields of the example.
  const facts = [...titled.filter(({ title }) => title === example), ...titled.filter(({ title }) => title !== example)]
  if (line === undefined || application === undefined || facts.length === 0) return { schema: body, components: {} }
  const starts = facts.map(({ title, ...schema }) => {
    const named = String(title)
    const start = `${inPascalCase(named)}Start`
    const schemaName = `${inPascalCase(named)}Application`
    const { anyOf: _, ...about } = application
    const components: JsonSchema.Definitions = {
      [schemaName]: { ...about, ...described(schema) },
      [start]: {
        ...body,
        properties: {
          line: { ...descriptionOf(line), type: "string", enum: [named] },
          ...properties,
          application: { $ref: reference(schemaName) }
        }
      }
    }
    return { named, start, components }
  })
  return {
    schema: { $ref: reference(input) },
    components: {
      ...Object.assign({}, ...starts.map(({ components }) => components)),
      [input]: {
        oneOf: starts.map(({ start }) => ({ $ref: reference(start) })),
        discriminator: {
          propertyName: "line",
          mapping: Object.fromEntries(starts.map(({ named, start }) => [named, reference(start)]))
        }
      }
    }
  }
}

/** Moves the titles of facts into their descriptions, because generators would name a type after each title. */
const described = (schema: JsonSchema.JsonSchema): JsonSchema.JsonSchema => {
  const { title, ...rest } = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, dataKeywords.has(key) ? value : describedIn(value)])
  )
  const texts = [title, rest.description].filter(Predicate.isString)
  // If `title` is an object, it is the schema of a fact that is called `title`, so keep it.
  return {
    ...(Predicate.isObject(title) && { title }),
    ...rest,
    ...(texts.length > 0 && { description: texts.join(". ") })
  }
}

const describedIn = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(describedIn)
  return Predicate.isObject(value) ? described(value) : value
}

/** Returns a schema's description, for use on the schema that replaces it. */
export const descriptionOf = ({ description }: JsonSchema.JsonSchema): JsonSchema.JsonSchema =>
  typeof description === "string" ? { description } : {}

/** Keywords whose values are data, not schemas. */
const dataKeywords = new Set(["enum", "const", "default", "examples"])

/** The component for the input of `start_quote_request`: the union of the inputs for all lines. */
const input = "StartInput"

const reference = (component: string): string => `#/components/schemas/${component}`

const inPascalCase = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("")

/**
 * Rewrites JSON Schema constructs that tools misread, without changing which values are valid:
 *
 * - Fields that a condition requires also become its properties.
 * - Alternatives that only require fields move into `allOf`. Next to `properties`, they would hide the object's type.
 * - An enum that includes null gets a type. Otherwise tools drop the null.
 */
export const readable = (schema: object): JsonSchema.JsonSchema => {
  const { anyOf, ...rest }: JsonSchema.JsonSchema = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, readableIn(key, value)])
  )
  const only = listOf(anyOf)
  const whole = anyOf === undefined ? rest : { ...rest, anyOf }
  if ("properties" in rest && only.length > 0 && only.every((part) => Object.keys(part).join() === "required"))
    return { ...rest, allOf: [...listOf(rest.allOf), { anyOf: only }] }
  return "type" in rest ? whole : { ...nullableType(rest.enum), ...whole }
}

const readableIn = (key: string, value: unknown): unknown => {
  if (key === "enum") return value
  if (Array.isArray(value)) return value.map((item) => readableIn("", item))
  if (!Predicate.isObject(value)) return value
  const inner = readable(value)
  return key === "then" ? { properties: anything(inner.required), ...inner } : inner
}

const anything = (names: unknown) =>
  Object.fromEntries(Array.isArray(names) ? names.map((name): [string, object] => [String(name), {}]) : [])

const nullableType = (values: unknown): JsonSchema.JsonSchema => {
  if (!Array.isArray(values) || !values.includes(null)) return {}
  const types = new Set(values.filter((value) => value !== null).map((value) => typeof value))
  // Naming several types would make generators list every value twice, so an enum of several types gets no type.
  return types.size === 1 ? { type: [...types, "null"] } : {}
}

const listOf = (value: unknown): ReadonlyArray<JsonSchema.JsonSchema> =>
  Array.isArray(value) ? value.filter(Predicate.isObject) : []

const membersOf = ({ properties }: JsonSchema.JsonSchema): Readonly<Record<string, JsonSchema.JsonSchema>> =>
  Predicate.isObject(properties)
    ? Object.fromEntries(
        Object.entries(properties).filter((entry): entry is [string, JsonSchema.JsonSchema] =>
          Predicate.isObject(entry[1])
        )
      )
    : {}

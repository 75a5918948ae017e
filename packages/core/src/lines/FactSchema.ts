import { Function, type JsonSchema, Predicate, Schema, SchemaAST } from "effect"

/*
 * Derives the served JSON Schema and several lists of facts from a schema of facts. Paths are relative to
 * `application`, with `*` for every item of a list.
 */

/** A fact that is required to get a price. */
export interface RequiredFact {
  /** The fact's path, with 0 for the first item of a list, such as `drivers.0.date_of_birth`. */
  readonly path: string
  /** The text with which a person is asked for the fact. */
  readonly label: string
  readonly tier: string
  /**
   * `direct` if the fact identifies a person by itself, `indirect` if it does so together with other facts; null
   * otherwise.
   */
  readonly pii: string | null
}

/** A fact in a line, as the schema describes it. */
export interface Fact {
  readonly path: string
  readonly label: string | null
  readonly tier: string | null
  readonly pii: string | null
  /** The assumed value in the schema; undefined if the schema states no assumed value. */
  readonly assumed: unknown
  /**
   * Whether the fact is required to get a price. This is false for a fact that is required only inside an optional
   * object.
   */
  readonly required: boolean
}

/** All facts of a schema, in schema order. */
export const factsOf = (facts: Schema.Top): ReadonlyArray<Fact> => factsAt(facts.ast, [], true)

const factsAt = (ast: SchemaAST.AST, path: ReadonlyArray<string>, isRequired: boolean): ReadonlyArray<Fact> => {
  if (ast._tag === "Arrays") return ast.rest.flatMap((item) => factsAt(item, [...path, "*"], isRequired))
  if (ast._tag === "Objects") {
    const oneOf = new Set((ast.checks ?? []).flatMap(({ annotations }) => annotations?.can_require ?? []))
    return ast.propertySignatures.flatMap(({ name, type }) =>
      factsAt(type, [...path, String(name)], isRequired && (!SchemaAST.isOptional(type) || oneOf.has(name)))
    )
  }
  const notes = SchemaAST.resolve(ast)
  const [label, tier, pii] = [notes?.label, notes?.["x-tier"], notes?.["x-pii"]].map(textOrNull)
  const assumed = Predicate.hasProperty(notes?.["x-assume"], "value") ? notes["x-assume"].value : undefined
  return [
    { path: path.join("."), label: label ?? null, tier: tier ?? null, pii: pii ?? null, assumed, required: isRequired }
  ]
}

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null)

/** A path with every `*` replaced by 0. */
export const firstOf = (path: string): string => path.replaceAll("*", "0")

/** A fact as capabilities list it. `fallback` is the tier to use if the schema states no tier. */
export const asRequired = (
  { path, label, tier, pii }: Pick<Fact, "path" | "label" | "tier" | "pii">,
  fallback: "price" | "offer"
): RequiredFact => ({
  path: firstOf(path),
  label: label ?? firstOf(path),
  tier: tier ?? fallback,
  pii
})

/** The served JSON Schema (2020-12) of facts. It is made when it is first needed. */
export const jsonSchemaOf = Function.memoize(
  (facts: Schema.Top): JsonSchema.JsonSchema =>
    plain(
      Schema.toJsonSchemaDocument(facts, {
        onExcessProperty: "error",
        includeAnnotationKey: (key) => key.startsWith("x-")
      }).schema
    )
)

/**
 * Simplifies a schema: merges the parts of `allOf` into the object that they extend, and merges choices into one list.
 * Every object gets a `required` list, even if the list is empty.
 */
const plain = (schema: JsonSchema.JsonSchema): JsonSchema.JsonSchema => {
  const { allOf, anyOf, ...rest } = mapped(schema)
  const choices = choicesOf(anyOf)
  const whole: JsonSchema.JsonSchema = {
    ...(rest.type === "object" && { required: [] }),
    ...rest,
    ...(choices !== null ? { enum: choices } : anyOf !== undefined && { anyOf })
  }
  const apart = schemasIn(allOf).filter((part) => {
    const isMergeable = !("if" in part) && Object.keys(part).every((key) => !Object.hasOwn(whole, key))
    if (isMergeable) Object.assign(whole, part)
    return !isMergeable
  })
  return apart.length === 0 ? whole : { ...whole, allOf: apart }
}

const mapped = (schema: JsonSchema.JsonSchema): JsonSchema.JsonSchema =>
  Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key === "properties" && Predicate.isObject(value)) {
        return [key, Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainIn(member)]))]
      }
      return [key, key === "items" || key === "allOf" ? plainIn(value) : value]
    })
  )

const plainIn = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plainIn)
  return isSchema(value) ? plain(value) : value
}

const isSchema = (value: unknown): value is JsonSchema.JsonSchema => Predicate.isObject(value)

const schemasIn = (value: unknown): ReadonlyArray<JsonSchema.JsonSchema> =>
  Array.isArray(value) ? value.filter(isSchema) : []

const choicesOf = (anyOf: unknown): ReadonlyArray<unknown> | null => {
  const choices = schemasIn(anyOf).map((alternative): ReadonlyArray<unknown> | null =>
    Array.isArray(alternative.enum) ? alternative.enum : alternative.type === "null" ? [null] : null
  )
  const listed = choices.filter((choice) => choice !== null)
  return listed.length > 0 && listed.length === choices.length ? listed.flat() : null
}

/** A JSON Schema in which these facts are also required. */
export const requiring = (schema: JsonSchema.JsonSchema, paths: ReadonlyArray<string>): JsonSchema.JsonSchema =>
  paths.reduce((whole, path) => requireAt(whole, path.split(".")), schema)

const requireAt = (schema: JsonSchema.JsonSchema, [name, ...rest]: ReadonlyArray<string>): JsonSchema.JsonSchema => {
  if (name === undefined) return schema
  if (name === "*") return isSchema(schema.items) ? { ...schema, items: requireAt(schema.items, rest) } : schema
  const properties = isSchema(schema.properties) ? schema.properties : {}
  const member = properties[name]
  if (!isSchema(member)) return schema
  const required = Array.isArray(schema.required) ? schema.required : []
  return {
    ...schema,
    properties: { ...properties, [name]: requireAt(member, rest) },
    required: [...new Set([...required, name])]
  }
}

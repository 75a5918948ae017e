import { Predicate, Result, Schema, type SchemaAST } from "effect"
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "effect/StandardSchema"
import { type BrokenRule, fromFieldError } from "../../wire/BrokenRule.ts"
import { isForeignSchema, otherCopy } from "../../wire/EffectCopy.ts"
import * as Input from "../../wire/Input.ts"
import { CarrierHttpMistake } from "./CarrierHttpError.ts"

/**
 * A schema that checks the body of a carrier's response and gives it a type: an Effect schema, or a [Standard
 * Schema](https://standardschema.dev), which Zod, Valibot and ArkType support. The schema must check synchronously.
 */
export type AnswerSchema<A> = Schema.Decoder<A> | StandardSchemaV1<unknown, A>

/** Checks a value. Fails with the rules that the value breaks; their messages never contain values. */
export type Check = (value: unknown) => Result.Result<unknown, ReadonlyArray<BrokenRule>>

/**
 * Makes the check for a schema that was passed to `json` or `xml`. Throws a `CarrierHttpMistake` if the schema cannot
 * be used.
 */
export const checkOf = (schema: AnswerSchema<unknown>, method: "json" | "xml"): Check => {
  const mistake = (problem: string) =>
    new CarrierHttpMistake({ message: `${method}(schema): ${problem}`, in_answer: true })
  if (isForeignSchema(schema)) throw mistake(otherCopy)
  if (Schema.isSchema(schema)) {
    const decode = Input.valueDecoder(schema)
    return (value) => Result.mapError(decode(value), (fieldErrors) => fieldErrors.map(fromFieldError))
  }
  if (!isStandard(schema)) throw mistake("Pass an Effect schema or a Standard Schema, such as a Zod schema.")
  return (value) => {
    const result = schema["~standard"].validate(value)
    if (Predicate.isPromiseLike(result)) {
      result.then(undefined, () => {})
      throw mistake("The schema has asynchronous rules. Use a synchronous schema.")
    }
    return result.issues === undefined ? Result.succeed(result.value) : Result.fail(result.issues.map(ruleOf))
  }
}

const isStandard = (schema: unknown): schema is StandardSchemaV1<unknown, unknown> =>
  Predicate.hasProperty(schema, "~standard") &&
  Predicate.hasProperty(schema["~standard"], "validate") &&
  typeof schema["~standard"].validate === "function"

/** Messages from other libraries can repeat values, so only the paths are kept. */
const ruleOf = ({ path = [] }: StandardSchemaV1.Issue): BrokenRule => ({
  path: path.map((part) => String(Predicate.isObject(part) ? part.key : part)).join("."),
  message: "Does not match the schema."
})

/**
 * The shape that a schema gives a value. The shape decides which XML elements become lists. If the schema has no known
 * shape, returns undefined, and only repeated elements become lists.
 */
export const shapeOf = (schema: AnswerSchema<unknown>): SchemaAST.AST | undefined => {
  if (Schema.isSchema(schema)) return schema.ast
  if (!shapes.has(schema)) shapes.set(schema, standardShapeOf(schema))
  return shapes.get(schema)
}

/** Caches the shape of each Standard Schema. */
const shapes = new WeakMap<object, SchemaAST.AST | undefined>()

const standardShapeOf = (schema: unknown): SchemaAST.AST | undefined => {
  if (!hasJsonSchema(schema)) return undefined
  try {
    // Zod has no JSON Schema for some types, such as dates. In XML their values are text anyway.
    const json = schema["~standard"].jsonSchema.input({
      target: "draft-2020-12",
      libraryOptions: { unrepresentable: "any" }
    })
    return shapeIn(json, json).ast
  } catch {
    return undefined
  }
}

const hasJsonSchema = (schema: unknown): schema is StandardJSONSchemaV1 =>
  Predicate.hasProperty(schema, "~standard") && Predicate.hasProperty(schema["~standard"], "jsonSchema")

/**
 * Makes an Effect schema with the shape of a JSON Schema: its objects, lists and unions. Null stays null, values of
 * other types become strings, and values without a type accept anything.
 */
const shapeIn = (json: unknown, root: unknown): Schema.Codec<unknown> => {
  if (!Predicate.isObject(json)) return Schema.Unknown
  if (typeof json.$ref === "string") return Schema.suspend(() => shapeIn(target(root, json.$ref), root))
  const options = Array.isArray(json.anyOf) ? json.anyOf : json.oneOf
  if (Array.isArray(options)) return Schema.Union(options.map((option) => shapeIn(option, root)))
  if (json.type === "array") return Schema.Array(shapeIn(json.items, root))
  if (Predicate.isObject(json.properties)) {
    const required = Array.isArray(json.required) ? json.required : []
    const fields = Object.entries(json.properties).map(([name, member]) => {
      const shape = shapeIn(member, root)
      return [name, required.includes(name) ? shape : Schema.optionalKey(shape)] as const
    })
    return Schema.Struct(Object.fromEntries(fields))
  }
  return json.type === "null" ? Schema.Null : json.type === undefined ? Schema.Unknown : Schema.String
}

/** Resolves a reference such as `#/$defs/Driver`. */
const target = (root: unknown, reference: unknown): unknown =>
  String(reference)
    .split("/")
    .slice(1)
    .reduce<unknown>((value, name) => (Predicate.hasProperty(value, name) ? value[name] : undefined), root)

import { type JsonSchema, Predicate } from "effect"
import recorded from "./data/examples.json" with { type: "json" }
import { at, list, type Node } from "./JsonNode.ts"

/** A recorded call of an operation: its input and its response. */
export interface Example {
  readonly input: Readonly<Record<string, unknown>>
  readonly answer: unknown
}

/** Examples by operation name. */
export type Examples = Readonly<Record<string, Example>>

/** The base address in the recorded examples. */
export const recordedAt = "https://api.quotewire.example"

/** The examples recorded from a real sandbox (by `npm run docs:reference`), with this host's address. */
export const atAddress = (baseUrl: string): Examples =>
  JSON.parse(JSON.stringify(recorded).replaceAll(recordedAt, baseUrl))

/**
 * Samples of calling an operation with the TypeScript client, for documentation pages; empty if the operation has no
 * recorded example.
 */
export const samples = (name: string, baseUrl: string, example: Example | undefined): Node =>
  example === undefined
    ? {}
    : {
        "x-codeSamples": [
          {
            lang: "TypeScript",
            label: "@quotewire/http/client",
            source: [
              'import { connect } from "@quotewire/http/client"',
              "",
              `const quotewire = connect({ base_url: ${JSON.stringify(baseUrl)}, key: "sandbox_server_…" })`,
              `const answer = await quotewire.${name}(${JSON.stringify(example.input, null, 2)})`
            ].join("\n")
          }
        ]
      }

const examples: Examples = recorded

/** The insurance line in an operation's recorded input; undefined if the input names no line. */
export const lineOf = (name: string): unknown => examples[name]?.input.line

/** Creates an example from a schema, without its optional fields, for an operation that has no recorded example. */
export const made = (schema: JsonSchema.JsonSchema, components: JsonSchema.Definitions): unknown =>
  valueOf(schema, { components: { schemas: components } })

const valueOf = (schema: Node, root: Node): unknown => {
  if (typeof schema.$ref === "string") return valueOf(at(root, { schema }, "schema"), root)
  if ("const" in schema) return schema.const
  if ("default" in schema) return schema.default
  for (const key of ["examples", "enum"]) if (Array.isArray(schema[key])) return schema[key][0]
  const [part] = ["anyOf", "oneOf", "allOf"].flatMap((key) => list(root, schema, key))
  if (part !== undefined) return valueOf({ ...part, ...withoutCombinators(schema) }, root)
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case "object":
      return objectOf(schema, root)
    case "array":
      return [valueOf(at(root, schema, "items"), root)]
    case "integer":
    case "number":
      return schema.minimum ?? 1
    case "boolean":
      return true
    case "string":
      return textOf(schema)
    default:
      return null
  }
}

const withoutCombinators = ({ anyOf: _any, oneOf: _one, allOf: _all, ...rest }: Node): Node => rest

const objectOf = (schema: Node, root: Node): unknown => {
  const required = Array.isArray(schema.required) ? schema.required.filter(Predicate.isString) : []
  const properties = at(root, schema, "properties")
  return Object.fromEntries(required.map((name) => [name, valueOf(at(root, properties, name), root)]))
}

const textOf = ({ format, pattern, minLength }: Node): string => {
  if (format === "date-time") return "2026-11-20T12:00:00.000Z"
  const [, prefix] = /^\^([a-z]+_)\[/.exec(typeof pattern === "string" ? pattern : "") ?? []
  if (prefix !== undefined) return `${prefix}01kafzsj000000000000000000`
  return "text".padEnd(typeof minLength === "number" ? minLength : 0, "-")
}

import { ApiError, Caller, type Operation } from "@quotewire/core"
import type { JsonSchema } from "effect"
import * as InputShape from "./InputShape.ts"
import type { Node as JsonNode } from "./JsonNode.ts"
import type { Example } from "./OpenApiExamples.ts"
import * as OpenApiExamples from "./OpenApiExamples.ts"
import * as OpenApiParts from "./OpenApiParts.ts"
import type { DescribedOperation, OperationSchemas, Schemas } from "./OpenApiSchemas.ts"

/**
 * Creates an operation's OpenAPI Operation Object. It contains the recorded example or, without a recording, an example
 * made from the schemas.
 */
export const of = (operation: DescribedOperation, schemas: Schemas, recorded?: Example): JsonNode => {
  const { input, body, output } = schemasOf(operation, schemas)
  const { status, location } = operation.route
  const exampleOf = (schema: JsonSchema.JsonSchema) => OpenApiExamples.made(schema, schemas.components)
  const exampleBody = () => pick(recorded?.input ?? {}, InputShape.bodyFields(operation.route, input))
  return {
    operationId: operation.name,
    summary: operation.summary,
    description: operation.description,
    tags: [operation.tag],
    ...(operation.authority.by_handle && { security: [{ bearer: [] }, { bearer: [], read_handle: [] }] }),
    parameters: [...parametersOf(operation, input, recorded?.input ?? {}), ...headerParameters(operation)],
    ...(body !== null && {
      requestBody: {
        required: body.isRequired,
        content: json(body.schema, recorded === undefined ? exampleOf(body.schema) : exampleBody())
      }
    }),
    responses: {
      [status]: {
        description: operation.summary,
        headers: OpenApiParts.headerReferences([
          "Request-Id",
          "Service-Version",
          ...(location === undefined ? [] : ["Location"]),
          ...(operation.idempotent ? ["Idempotent-Replayed"] : [])
        ]),
        content: json(output, recorded === undefined ? exampleOf(output) : recorded.answer)
      },
      ...Object.fromEntries(
        Array.from(refusals(operation), ([refused, codes]) => [
          refused,
          { $ref: `#/components/responses/${OpenApiParts.refusalName(codes)}` }
        ])
      )
    }
  }
}

const json = (schema: JsonSchema.JsonSchema, value: unknown) => ({
  "application/json": { schema, examples: { example: { value } } }
})

const pick = (fields: Example["input"], names: ReadonlyArray<string>) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)))

/** The error codes that every operation can return. */
const always: ReadonlyArray<ApiError.ErrorCode> = [
  "invalid_version",
  "authentication_failed",
  "invalid_input",
  "rate_limited",
  "internal_error",
  "service_unavailable"
]

/** The additional error codes of operations that read a body. */
const withBody: ReadonlyArray<ApiError.ErrorCode> = ["invalid_json", "request_too_large"]

/** Groups an operation's error codes by HTTP status, in the order of the error table. */
export const refusals = (operation: DescribedOperation): ReadonlyMap<number, ReadonlyArray<ApiError.ErrorCode>> => {
  const readsBody = operation.route.method === "POST" || operation.route.method === "PATCH"
  const codes = new Set([
    ...always,
    ...(isForEveryKey(operation.authority) ? [] : (["forbidden"] as const)),
    ...(readsBody ? withBody : []),
    ...(operation.idempotent ? (["conflict"] as const) : []),
    ...operation.errors
  ])
  return Map.groupBy(
    ApiError.codes.filter((code) => codes.has(code)),
    (code) => ApiError.definitions[code].status
  )
}

/** Whether every kind of key may call the operation. Ignores the read handle that some callers also need. */
const isForEveryKey = ({ callers, environment, by_handle }: Operation.Authority): boolean =>
  environment === undefined && by_handle !== true && Caller.KeyKind.literals.every((kind) => callers.includes(kind))

/** Returns the JSON Schemas of an operation. */
export const schemasOf = (operation: Pick<DescribedOperation, "name">, schemas: Schemas): OperationSchemas =>
  schemas.operations.get(operation.name) ?? { input: { properties: {}, required: [] }, body: null, output: {} }

/** Lists the path and query parameters. `recorded` contains an example value for each parameter. */
export const parametersOf = (
  operation: Pick<DescribedOperation, "route">,
  input: InputShape.InputShape,
  recorded: Example["input"]
) => {
  const inPath = InputShape.pathFields(operation.route)
  const parameter = (name: string, place: "path" | "query") => {
    const { description, ...schema }: JsonSchema.JsonSchema = input.properties[name] ?? { type: "string" }
    return {
      name,
      in: place,
      required: place === "path" || input.required.includes(name),
      ...(typeof description === "string" ? { description } : {}),
      ...(name in recorded ? { example: recorded[name] } : {}),
      schema
    }
  }
  return [
    ...inPath.map((name) => parameter(name, "path")),
    ...Object.keys(operation.route.query).map((name) => parameter(name, "query"))
  ]
}

const headerParameters = (operation: DescribedOperation) =>
  [
    "Service-Version",
    ...(operation.idempotent ? ["Idempotency-Key"] : []),
    ...(operation.authority.by_handle ? ["Read-Handle"] : [])
  ].map((name) => ({ $ref: `#/components/parameters/${name}` }))

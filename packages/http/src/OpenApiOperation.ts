import { ApiError, type Operation } from "@quotewire/core"
import type { JsonSchema } from "effect"
import * as InputShape from "./InputShape.ts"
import * as OpenApiParts from "./OpenApiParts.ts"
import type { OperationSchemas, Schemas } from "./OpenApiSchemas.ts"

type Described = Omit<Operation.Operation, "execute">

/** The Operation Object of an operation. */
export const of = (operation: Described, schemas: Schemas): { readonly [key: string]: unknown } => {
  const { input, body, output } = schemasOf(operation, schemas)
  const { status, location } = operation.route
  return {
    operationId: operation.name,
    summary: operation.summary,
    description: operation.description,
    tags: [operation.tag],
    parameters: [...parametersOf(operation, input), ...headerParameters(operation)],
    ...(body === null
      ? {}
      : { requestBody: { required: body.isRequired, content: { "application/json": { schema: body.schema } } } }),
    responses: {
      [status]: {
        description: operation.summary,
        headers: OpenApiParts.headerReferences([
          "Request-Id",
          "Service-Version",
          ...(location === undefined ? [] : ["Location"]),
          ...(operation.idempotent ? ["Idempotent-Replayed"] : [])
        ]),
        content: { "application/json": { schema: output } }
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

/** What every operation can refuse with. */
const always: ReadonlyArray<ApiError.ErrorCode> = [
  "invalid_version",
  "authentication_failed",
  "forbidden",
  "invalid_input",
  "rate_limited",
  "internal_error",
  "service_unavailable"
]

/** What an operation that reads a body can refuse with beyond that. */
const withBody: ReadonlyArray<ApiError.ErrorCode> = ["invalid_json", "request_too_large"]

/** The refusals of an operation by HTTP status, in the order of the table of errors. */
export const refusals = (operation: Described): ReadonlyMap<number, ReadonlyArray<ApiError.ErrorCode>> => {
  const readsBody = operation.route.method === "POST" || operation.route.method === "PATCH"
  const given = new Set([
    ...always,
    ...(readsBody ? withBody : []),
    ...(operation.idempotent ? (["conflict"] as const) : []),
    ...operation.errors
  ])
  return Map.groupBy(
    ApiError.codes.filter((code) => given.has(code)),
    (code) => ApiError.definitions[code].status
  )
}

const schemasOf = (operation: Described, schemas: Schemas): OperationSchemas =>
  schemas.operations.get(operation.name) ?? { input: { properties: {}, required: [] }, body: null, output: {} }

const parametersOf = (operation: Described, input: InputShape.InputShape) => {
  const inPath = InputShape.pathFields(operation.route)
  const parameter = (name: string, place: "path" | "query") => {
    const { description, ...schema }: JsonSchema.JsonSchema = input.properties[name] ?? { type: "string" }
    return {
      name,
      in: place,
      required: place === "path" || input.required.includes(name),
      ...(typeof description === "string" ? { description } : {}),
      schema
    }
  }
  return [
    ...inPath.map((name) => parameter(name, "path")),
    ...Object.keys(operation.route.query).map((name) => parameter(name, "query"))
  ]
}

const headerParameters = (operation: Described) => {
  const byHandle = operation.authority.callers.includes("platform") && operation.route.path.includes("{")
  return [
    "Service-Version",
    ...(operation.idempotent ? ["Idempotency-Key"] : []),
    ...(byHandle ? ["Read-Handle"] : [])
  ].map((name) => ({ $ref: `#/components/parameters/${name}` }))
}

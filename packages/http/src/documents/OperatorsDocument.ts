import { ApiError, Lines, type OperatorOperation, Revision } from "@quotewire/core"
import type { JsonSchema } from "effect"
import type { Node } from "./JsonNode.ts"
import * as OpenApiExamples from "./OpenApiExamples.ts"
import * as OpenApiOperation from "./OpenApiOperation.ts"
import * as OpenApiParts from "./OpenApiParts.ts"
import * as OpenApiSchemas from "./OpenApiSchemas.ts"

type DescribedOperatorOperation = Omit<OperatorOperation.OperatorOperation, "prepare">

/** Creates the OpenAPI document of the operators' API for a host with the address `baseUrl`. */
export const document = (operations: ReadonlyArray<DescribedOperatorOperation>, baseUrl: string): Node => {
  const schemas = OpenApiSchemas.of(operations, Lines.standard)
  const byPath = Map.groupBy(operations, ({ route }) => route.path)
  const refused = operations.flatMap((operation) => Array.from(refusals(operation).values()))
  return {
    openapi: "3.1.0",
    info: {
      title: "Quotewire for operators",
      version: "1",
      summary: "What people who run the service can see and do.",
      description:
        "Support without a database password: organizations and keys, quote requests of all organizations, carriers, events, and the audit log. It needs an operator's token, which quotewire operators create-token makes. Fields can be added: readers ignore those that they do not know.",
      contact: { name: "Quotewire", url: baseUrl },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" }
    },
    servers: [{ url: baseUrl }],
    security: [{ operator: [] }],
    tags: OpenApiParts.tags(operations.map(({ tag }) => tag)),
    paths: Object.fromEntries(
      Array.from(byPath, ([path, pathOperations]) => [
        path,
        Object.fromEntries(
          pathOperations.map((operation) => [operation.route.method.toLowerCase(), callOf(operation, schemas)])
        )
      ])
    ),
    components: {
      schemas: schemas.components,
      responses: Object.fromEntries(
        refused.map((codes) => [
          OpenApiParts.refusalName(codes),
          OpenApiParts.refusal(codes, Revision.served, `${baseUrl}/docs`)
        ])
      ),
      headers: usedHeaders,
      securitySchemes: {
        operator: {
          type: "http",
          scheme: "bearer",
          description: "An operator's token, `operator_…`; never an API key."
        }
      }
    }
  }
}

const { Location: _location, "Idempotent-Replayed": _replayed, ...usedHeaders } = OpenApiParts.headers(Revision.served)

/** The error codes that every operation can return. */
const always: ReadonlyArray<ApiError.ErrorCode> = [
  "authentication_failed",
  "forbidden",
  "invalid_input",
  "rate_limited",
  "internal_error",
  "service_unavailable"
]

const withBody: ReadonlyArray<ApiError.ErrorCode> = ["invalid_json", "request_too_large"]

/** Groups an operation's error codes by HTTP status. */
const refusals = ({
  errors,
  route
}: DescribedOperatorOperation): ReadonlyMap<number, ReadonlyArray<ApiError.ErrorCode>> => {
  const codes = new Set([...always, ...errors, ...(route.method === "GET" ? [] : withBody)])
  return Map.groupBy(
    ApiError.codes.filter((code) => codes.has(code)),
    (code) => ApiError.definitions[code].status
  )
}

const callOf = (operation: DescribedOperatorOperation, schemas: OpenApiSchemas.Schemas): Node => {
  const { body, input, output } = OpenApiOperation.schemasOf(operation, schemas)
  const { status } = operation.route
  const content = (schema: JsonSchema.JsonSchema) => ({
    "application/json": {
      schema,
      examples: { example: { value: OpenApiExamples.made(schema, schemas.components) } }
    }
  })
  return {
    operationId: operation.name,
    summary: operation.summary,
    description: `${operation.description} Needs the \`${operation.scope}\` scope${operation.reach === "deployment" ? ", and a token for all organizations" : ""}.`,
    tags: [operation.tag],
    parameters: OpenApiOperation.parametersOf(operation, input, {}),
    ...(body !== null && { requestBody: { required: body.isRequired, content: content(body.schema) } }),
    responses: {
      [status]: {
        description: operation.summary,
        headers: OpenApiParts.headerReferences(["Request-Id"]),
        content: content(output)
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

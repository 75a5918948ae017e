import { Lines, Revision, Signature } from "@quotewire/core"
import * as Route from "../host/Route.ts"
import * as Asset from "./Asset.ts"
import type { Node } from "./JsonNode.ts"
import * as OpenApiExamples from "./OpenApiExamples.ts"
import * as OpenApiOperation from "./OpenApiOperation.ts"
import * as OpenApiParts from "./OpenApiParts.ts"
import * as OpenApiSchemas from "./OpenApiSchemas.ts"
import * as OpenApiWebhooks from "./OpenApiWebhooks.ts"

/** An OpenAPI 3.1 document. */
export type Document = Node

export { type Example, type Examples, recordedAt as recorded_at } from "./OpenApiExamples.ts"

/** The parts of a document that depend on its host. */
export interface Options {
  /** The address of the error pages; `{base_url}/docs` by default. */
  readonly docs_url?: string
  /** The prefix of the provider's own webhook headers, which repeat the `webhook-` headers; `quotewire-` by default. */
  readonly webhook_header_prefix?: string
  /** The API revisions that the host serves, newest first. The document describes the newest revision. */
  readonly served?: Revision.Served
  /** The host's insurance lines; the standard lines by default. */
  readonly lines?: Lines.LineSet
  /** Examples by operation name; by default the recorded examples. */
  readonly examples?: OpenApiExamples.Examples
}

/**
 * Creates the OpenAPI document of operations (api.md, Operations) for a host with the address `baseUrl`.
 *
 * It is derived from the running code: the schemas of inputs and responses, the routes, and the error table.
 */
export const document = (
  operations: ReadonlyArray<OpenApiSchemas.DescribedOperation>,
  baseUrl: string,
  options: Options = {}
): Document => {
  const docsUrl = options.docs_url ?? `${baseUrl}/docs`
  const headerPrefix = options.webhook_header_prefix ?? Signature.defaultHeaderPrefix
  const served = options.served ?? Revision.served
  const examples = options.examples ?? OpenApiExamples.atAddress(baseUrl)
  const lines = options.lines ?? Lines.standard
  const schemas = OpenApiSchemas.of(operations, lines, OpenApiWebhooks.schemas)
  const byPath = Map.groupBy(operations, (operation) => operation.route.path)
  const refusals = operations.flatMap((operation) => Array.from(OpenApiOperation.refusals(operation).values()))
  return {
    openapi: "3.1.0",
    info: info(baseUrl, served[0].date),
    servers: [{ url: baseUrl }],
    security: [{ bearer: [] }],
    tags: [...OpenApiParts.tags(operations.map((operation) => operation.tag)), OpenApiWebhooks.tag],
    paths: Object.fromEntries(
      Array.from(byPath, ([path, pathOperations]) => [
        path,
        Object.fromEntries(
          pathOperations.map((operation) => [
            operation.route.method.toLowerCase(),
            {
              ...OpenApiOperation.of(operation, schemas, examples[operation.name]),
              ...OpenApiExamples.samples(operation.name, baseUrl, examples[operation.name])
            }
          ])
        )
      ])
    ),
    webhooks: OpenApiWebhooks.webhooks(headerPrefix, served[0].date, lines),
    components: {
      schemas: schemas.components,
      responses: Object.fromEntries(
        refusals.map((codes) => [OpenApiParts.refusalName(codes), OpenApiParts.refusal(codes, served, docsUrl)])
      ),
      parameters: { ...OpenApiParts.parameters(served), ...OpenApiWebhooks.parameters(headerPrefix) },
      headers: OpenApiParts.headers(served),
      securitySchemes: OpenApiParts.securitySchemes
    }
  }
}

const info = (baseUrl: string, version: string) => ({
  title: "Quotewire",
  version,
  summary: "Insurance quotes from several carriers.",
  description:
    "A caller sends facts about one person for one insurance line; carriers answer with offers. A quote is an offer of a price and not coverage. Unknown values are null. Readers ignore fields that they do not know.",
  contact: { name: "Quotewire", url: baseUrl },
  license: { name: "Apache-2.0", identifier: "Apache-2.0" }
})

/** `GET /openapi.json`. */
export const route = (readDocument: () => Document): Route.Route => {
  const asset = Asset.make({
    type: "application/json",
    cache: "no-cache",
    read: async () => JSON.stringify(readDocument())
  })
  return Route.make("GET", "/openapi.json", ({ header }) => asset(header))
}

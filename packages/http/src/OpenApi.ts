import { type Operation, Revision, ServedRevisions } from "@quotewire/core"
import { Effect } from "effect"
import * as OpenApiOperation from "./OpenApiOperation.ts"
import * as OpenApiParts from "./OpenApiParts.ts"
import * as OpenApiSchemas from "./OpenApiSchemas.ts"
import * as Route from "./Route.ts"

/** An OpenAPI 3.1 document. */
export type Document = { readonly [key: string]: unknown }

/** An operation, whatever it needs to run. */
export type AnyOperation = Omit<Operation.Operation, "execute">

/**
 * Writes the OpenAPI document of operations (api.md, Endpoints).
 *
 * It is made from what runs: the schemas that read inputs and write answers, the routes, and the table of errors. It
 * describes the newest revision, and names those that are served.
 */
export const document = (
  operations: ReadonlyArray<AnyOperation>,
  base_url: string,
  served: Revision.Served = Revision.served
): Document => {
  const schemas = OpenApiSchemas.of(operations)
  const byPath = Map.groupBy(operations, (operation) => operation.route.path)
  const refusals = operations.flatMap((operation) => Array.from(OpenApiOperation.refusals(operation).values()))
  return {
    openapi: "3.1.0",
    info: {
      title: "Quotewire",
      version: served[0].date,
      summary: "Insurance quotes from several carriers.",
      description: "A caller sends facts about one person for one insurance line; carriers answer with offers.",
      contact: { name: "Quotewire", url: base_url },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" }
    },
    servers: [{ url: base_url }],
    security: [{ bearer: [] }],
    tags: [...new Set(operations.map((operation) => operation.tag))].map((name) => ({ name, description: `${name}.` })),
    paths: Object.fromEntries(
      Array.from(byPath, ([path, all]) => [
        path,
        Object.fromEntries(
          all.map((operation) => [operation.route.method.toLowerCase(), OpenApiOperation.of(operation, schemas)])
        )
      ])
    ),
    components: {
      schemas: schemas.components,
      responses: Object.fromEntries(
        refusals.map((codes) => [OpenApiParts.refusalName(codes), OpenApiParts.refusal(codes, served)])
      ),
      parameters: OpenApiParts.parameters(served),
      headers: OpenApiParts.headers(served),
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An API key; its prefix selects the environment." }
      }
    }
  }
}

/** `GET /openapi.json`; the document is made when it is first asked for. */
export const route = (operations: ReadonlyArray<AnyOperation>, base_url: string): Route.Route => {
  let text: string | undefined
  return Route.make("GET", "/openapi.json", () =>
    Effect.map(ServedRevisions.ServedRevisions, (served) => {
      text ??= JSON.stringify(document(operations, base_url, served))
      return { status: 200, headers: { "content-type": "application/json", "cache-control": "no-cache" }, body: text }
    })
  )
}

import type { Operation } from "@quotewire/core"
import { Effect } from "effect"
import { type Html, html, page } from "./Page.ts"
import * as Route from "./Route.ts"

/** `GET /docs`: the operations at a glance, with the way to the OpenAPI document and the error codes. */
export const route = (operations: ReadonlyArray<Described>): Route.Route => {
  const tags = [...new Set(operations.map((operation) => operation.tag))]
  const answer = page(
    200,
    "API reference",
    html`<p>The whole contract is in the <a href="/openapi.json">OpenAPI document</a>; what can go wrong is in the
<a href="/docs/v1/errors">error codes</a>.</p>
${tags.map((tag) =>
  section(
    tag,
    operations.filter((operation) => operation.tag === tag)
  )
)}`
  )
  return Route.make("GET", "/docs", () => Effect.succeed(answer))
}

type Described = Pick<Operation.Operation, "name" | "summary" | "description" | "tag" | "route">

const section = (tag: string, operations: ReadonlyArray<Described>): Html =>
  html`<h2>${tag}</h2>
<table>
${operations.map(
  ({ name, summary, description, route: { method, path } }) =>
    html`<tr id="${name}"><td><code>${method} ${path}</code></td><td><strong>${summary}</strong><br>${description}</td></tr>`
)}
</table>`

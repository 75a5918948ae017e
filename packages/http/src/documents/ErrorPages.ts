import { ApiError, type Revision } from "@quotewire/core"
import { Effect } from "effect"
import * as Route from "../host/Route.ts"
import * as OpenApiOperation from "./OpenApiOperation.ts"
import * as OpenApiParts from "./OpenApiParts.ts"
import type { DescribedOperation } from "./OpenApiSchemas.ts"
import { html, page } from "./Page.ts"

/** The host's settings that the error pages use. */
export interface Settings {
  readonly operations: ReadonlyArray<DescribedOperation>
  readonly served: Revision.Served
  /** The address of the documentation, without a trailing slash. */
  readonly docs_url: string
}

/** The pages that `doc_url` links to: one page for each error code, and a list of all codes (api.md, Error codes). */
export const routes = (settings: Settings): ReadonlyArray<Route.Route> => [
  Route.make("GET", "/docs/v1/errors", () => Effect.succeed(index)),
  // Redirects people who leave out `/docs` from an error page's address.
  Route.make("GET", "/v1/errors/{code}", ({ params, public_path }) =>
    Effect.succeed({
      status: 302,
      headers: { location: `${public_path}/docs/v1/errors/${encodeURIComponent(params.code ?? "")}` },
      body: null
    })
  ),
  Route.make("GET", "/docs/v1/errors/{code}", ({ params }) => Effect.succeed(pageOf(params.code ?? "", settings)))
]

const pageOf = (code: string, settings: Settings) => {
  const errorCode = ApiError.codes.find((candidate) => candidate === code)
  if (errorCode === undefined) {
    return page(
      404,
      "Unknown error code",
      html`<p>This error code does not exist. <a href="../errors">See all error codes</a></p>`
    )
  }
  const { status, meaning, retry_action } = describe(errorCode)
  return page(
    200,
    errorCode,
    html`<p>${meaning}</p>
<table>
<tr><th>HTTP status</th><td>${status}</td></tr>
<tr><th>Usual retry action</th><td><code>${retry_action.type}</code>: ${retry_action.summary}</td></tr>
<tr><th>Returned by</th><td>${returnedBy(errorCode, settings.operations)}</td></tr>
</table>
<h2>An example</h2>
<pre tabindex="0">${JSON.stringify(OpenApiParts.example(errorCode, settings.served, settings.docs_url), null, 2)}</pre>
<p>In your code, branch on <code>error.code</code> and <code>error.retry_action.type</code>; the message is for people. When you
ask for help, include the <code>request_id</code>.</p>
<p><a href="../errors">See all error codes</a></p>`
  )
}

/** The operations that can return an error code. */
const returnedBy = (code: ApiError.ErrorCode, operations: ReadonlyArray<DescribedOperation>) => {
  const refusing = operations.filter((operation) =>
    [...OpenApiOperation.refusals(operation).values()].some((codes) => codes.includes(code))
  )
  if (refusing.length === 0) return html`No operation returns it.`
  if (refusing.length === operations.length) return html`Every operation.`
  return html`${refusing.map(({ name }) => html`<code>${name}</code> `)}`
}

const describe = (code: ApiError.ErrorCode) => ({
  ...ApiError.definitions[code],
  retry_action: ApiError.envelope(ApiError.make(code), "", "").error.retry_action
})

const index = page(
  200,
  "Error codes",
  html`<table>
<tr><th>Code</th><th>Status</th><th>Meaning</th></tr>
${ApiError.codes.map((code) => {
  const { status, meaning } = ApiError.definitions[code]
  return html`<tr><td><a href="errors/${code}"><code>${code}</code></a></td><td>${status}</td><td>${meaning}</td></tr>`
})}
</table>`
)

import { ApiError } from "@quotewire/core"
import { Effect } from "effect"
import * as Route from "../host/Route.ts"
import { html, page } from "./Page.ts"

/** The pages that `doc_url` links to: one for each error code, and a list of all (api.md, Error codes). */
export const routes: ReadonlyArray<Route.Route> = [
  Route.make("GET", "/docs/v1/errors", () => Effect.succeed(index)),
  Route.make("GET", "/docs/v1/errors/{code}", ({ params }) => Effect.succeed(pageOf(params.code ?? "")))
]

const pageOf = (code: string) => {
  const known = ApiError.codes.find((one) => one === code)
  if (known === undefined) {
    return page(
      404,
      "Unknown error code",
      html`<p>This error code does not exist. <a href="../errors">See all error codes</a></p>`
    )
  }
  const { status, meaning, retry_action } = describe(known)
  return page(
    200,
    known,
    html`<p>${meaning}</p>
<table>
<tr><th>HTTP status</th><td>${status}</td></tr>
<tr><th>Usual retry action</th><td><code>${retry_action.type}</code>: ${retry_action.summary}</td></tr>
</table>
<p>In your code, branch on <code>error.code</code> and <code>error.retry_action.type</code>; the message is for people. When you
ask for help, include the <code>request_id</code>.</p>
<p><a href="../errors">See all error codes</a></p>`
  )
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

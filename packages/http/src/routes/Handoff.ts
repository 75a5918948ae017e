import type { Quotewire } from "@quotewire/core"
import { Effect } from "effect"
import { html, page } from "../documents/Page.ts"
import type { Answer } from "../host/Answer.ts"
import * as Route from "../host/Route.ts"

/**
 * `GET /go/{token}`: redirects a person to the carrier's site, or shows a small page that says why the link no longer
 * works.
 */
export const route = <R>(
  destination: (token: string) => Effect.Effect<Quotewire.Destination, never, R>
): Route.Route<R> =>
  Route.make("GET", "/go/{token}", ({ params }) => Effect.map(destination(params.token ?? ""), answerOf))

const answerOf = (destination: Quotewire.Destination): Answer => {
  if (destination._tag === "page")
    return page(destination.status, destination.title, html`<p>${destination.message}</p>`)
  return {
    status: 302,
    headers: { location: new URL(destination.url).href, "cache-control": "no-store", "referrer-policy": "no-referrer" },
    body: null
  }
}

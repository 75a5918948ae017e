import type { Lines } from "@quotewire/core"
import { Effect } from "effect"
import type { Answer } from "../host/Answer.ts"
import * as Route from "../host/Route.ts"
import * as FirstCall from "./FirstCall.ts"
import { html, page } from "./Page.ts"

/** The optional parts of the host that the page at `/` describes. */
export interface Settings {
  /** Whether the host serves the REST API. */
  readonly rest: boolean
  /** The path of the agent endpoint; null if the host does not serve agents. */
  readonly mcp_path: string | null
  /**
   * How the page treats the console: `linked` links to it, `first` redirects browsers to it, and `none` omits it
   * (default).
   */
  readonly console?: "none" | "linked" | "first"
}

/** `GET /`: says what the host serves and where to go next, as a page for browsers and as text for other programs. */
export const route = (baseUrl: string, lines: Lines.LineSet, settings: Settings): Route.Route =>
  Route.make("GET", "/", ({ header, public_path }) =>
    Effect.sync(() => {
      const isForBrowser = (header("accept") ?? "").includes("text/html")
      const answer = isForBrowser ? forBrowser(public_path, baseUrl, lines, settings) : textOf(baseUrl, lines, settings)
      return { ...answer, headers: { ...answer.headers, vary: "Accept" } }
    })
  )

const summary = "Insurance quotes from several carriers, over one API."

const placesOf = ({ console: pages = "none", mcp_path }: Settings): ReadonlyArray<readonly [string, string]> => [
  ...(pages !== "none" ? [["Console", "/console"] as const] : []),
  ["API reference", "/docs"],
  ["OpenAPI document", "/openapi.json"],
  ["Error codes", "/docs/v1/errors"],
  ["Health", "/health/ready"],
  ...(mcp_path === null ? [] : [["Agents (MCP)", mcp_path] as const])
]

const key = "$QUOTEWIRE_API_KEY"

const firstCall = (baseUrl: string, lines: Lines.LineSet): string => FirstCall.text(baseUrl, key, lines)

const forBrowser = (publicPath: string, baseUrl: string, lines: Lines.LineSet, settings: Settings): Answer =>
  settings.console === "first"
    ? { status: 302, headers: { location: `${publicPath}/console`, "cache-control": "no-store" }, body: null }
    : pageOf(publicPath, baseUrl, lines, settings)

const pageOf = (publicPath: string, baseUrl: string, lines: Lines.LineSet, settings: Settings): Answer =>
  page(
    200,
    "Quotewire",
    html`<p>${summary}</p>
<table>
${placesOf(settings).map(
  ([name, path]) => html`<tr><td>${name}</td><td><a href="${publicPath}${path}"><code>${path}</code></a></td></tr>`
)}
</table>
${settings.rest ? html`<h2>Start a quote request</h2><pre tabindex="0">${firstCall(baseUrl, lines)}</pre>` : html``}`
  )

const textOf = (baseUrl: string, lines: Lines.LineSet, settings: Settings): Answer => ({
  status: 200,
  headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
  body: [
    "Quotewire",
    summary,
    "",
    ...placesOf(settings).map(([name, path]) => `${`${name}:`.padEnd(18)}${baseUrl}${path}`),
    ...(settings.rest ? ["", "Start a quote request:", "", firstCall(baseUrl, lines)] : []),
    ""
  ].join("\n")
})

import { Effect } from "effect"
import * as Asset from "../documents/Asset.ts"
import * as Page from "../documents/Page.ts"
import type { Answer } from "../host/Answer.ts"
import * as Route from "../host/Route.ts"
import * as ConsoleFiles from "./ConsoleFiles.ts"
import type { ConsoleLink } from "./ConsoleLink.ts"
import * as ConsoleSession from "./ConsoleSession.ts"

/** Settings of the console. */
export interface Settings {
  /** The folder with a copy of the console's files; by default the folder in this package. */
  readonly folder?: string | URL
  /** A one-time link to sign in; none by default. */
  readonly link?: ConsoleLink
  /** Whether `/` redirects browsers to the console; false by default. */
  readonly at_root?: boolean
}

/** The settings that the host passes to the page. */
export interface Host {
  /** Whether the host serves the operators' API. */
  readonly has_operators: boolean
}

/**
 * `GET /console` and every path below it: a single-page application, in which the path selects the view.
 *
 * The page loads its files only from this host, and calls the API with a key, like every other client.
 */
export const routes = ({ folder, link }: Settings, host: Host): ReadonlyArray<Route.Route> => {
  const files = ConsoleFiles.find(folder)
  const answer = files === null ? () => missingPage : (publicPath: string) => shell(publicPath, host)
  const page = (path: string) => Route.make("GET", path, ({ public_path }) => Effect.sync(() => answer(public_path)))
  return [
    page("/console"),
    page("/console/{path...}"),
    ...(link === undefined ? [] : [ConsoleSession.route(link)]),
    ...(files === null ? [] : ConsoleFiles.fileNames.map((name) => fileRoute(files, name)))
  ]
}

const types: Readonly<Record<ConsoleFiles.FileName, string>> = {
  "console.js": "text/javascript; charset=utf-8",
  "console.css": "text/css; charset=utf-8"
}

const fileRoute = (files: ConsoleFiles.ConsoleFiles, name: ConsoleFiles.FileName): Route.Route => {
  const file = Asset.make({
    type: types[name],
    cache: "no-cache",
    headers: { "referrer-policy": "no-referrer" },
    read: () => files.read(name),
    brotli: files.brotli
  })
  return Route.make("GET", `/console/${name}`, ({ header }) => file(header))
}

/** The content security policy: only files from this host and calls to this host; no forms and no frames. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'"
].join("; ")

const shell = (publicPath: string, host: Host): Answer => ({
  status: 200,
  headers: {
    "content-type": Page.type,
    "cache-control": "no-store",
    "content-security-policy": policy,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff"
  },
  body: Page.html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="quotewire-base-path" content="${publicPath}">
<meta name="quotewire-operators" content="${String(host.has_operators)}">
<title>Quotewire console</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${publicPath}/console/console.css">
<script type="module" src="${publicPath}/console/console.js"></script>
</head>
<body>
<div id="console"></div>
<noscript><p>The console needs JavaScript.</p></noscript>
</body>
</html>
`.html
})

const missingPage = Page.page(
  503,
  "The console is missing",
  Page.html`<p>This host serves the console, but cannot find its files. If the program is bundled, copy the folder
<code>node_modules/@quotewire/http/dist/console</code> next to the program, and set <code>folder</code> in the <code>console</code> option to the copy.</p>`
)

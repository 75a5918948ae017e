import * as Route from "../host/Route.ts"
import * as Asset from "./Asset.ts"
import type { Node } from "./JsonNode.ts"
import * as Page from "./Page.ts"
import * as ReferencePage from "./ReferencePage.ts"
import * as Scalar from "./Scalar.ts"

/**
 * `GET /docs`: the API reference, rendered in the browser by Scalar. Without Scalar's script it is a static page.
 *
 * The page loads everything from this host. Its links are relative, so that it works wherever the host is mounted.
 */
export const routes = (document: () => Node, scalar: Scalar.Scalar | null): ReadonlyArray<Route.Route> => {
  if (scalar === null) {
    const plain = Asset.make({
      type: Page.type,
      cache: "no-cache",
      headers: Page.headers,
      read: async () => Page.document("API reference", ReferencePage.content(document())).html
    })
    return [Route.make("GET", "/docs", ({ header }) => plain(header))]
  }
  const reference = Asset.make({
    type: Page.type,
    cache: "no-cache",
    headers: { "content-security-policy": Scalar.policy, "referrer-policy": "no-referrer" },
    read: async () => drawnBy(scalar.version).html
  })
  const script = Asset.make({
    type: "text/javascript; charset=utf-8",
    // The path contains Scalar's version, so the content at this path never changes.
    cache: "public, max-age=31536000, immutable",
    read: scalar.read,
    brotli: scalar.brotli
  })
  const fillIn = Asset.make({
    type: "text/javascript; charset=utf-8",
    cache: "no-cache",
    read: async () => Scalar.fillIn
  })
  return [
    Route.make("GET", "/docs", ({ header }) => reference(header)),
    Route.make("GET", fillInPath, ({ header }) => fillIn(header)),
    Route.make("GET", scriptPath(scalar.version), ({ header }) => script(header))
  ]
}

const scriptPath = (version: string): string => `/docs/scalar/${version}/standalone.js`

const fillInPath = "/docs/scalar/key.js"

const drawnBy = (version: string) => Page.html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference</title>
<link rel="icon" href="data:,">
</head>
<body>
<noscript><p>The reference needs JavaScript. Without it, read the <a href="openapi.json">OpenAPI document</a> and the
<a href="docs/v1/errors">error codes</a>.</p></noscript>
<script id="api-reference" data-url="openapi.json" data-configuration="${JSON.stringify(Scalar.configuration)}"></script>
<script src="${fillInPath.slice(1)}"></script>
<script src="${scriptPath(version).slice(1)}"></script>
</body>
</html>
`

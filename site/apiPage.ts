import { configuration } from "../packages/http/src/documents/Scalar.ts"

// Here no host answers, so nothing can be tried out.
const settings = { ...configuration, hideTestRequestButton: true }

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;")

/** The page of the HTTP API, as a host shows it at `/docs`. */
export const apiPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>HTTP API | Quotewire</title>
<link rel="icon" href="data:,">
</head>
<body>
<noscript><p>This page needs JavaScript. Without it, read <a href="../reference/api">the contract in words</a>.</p></noscript>
<script id="api-reference" data-url="../reference/openapi.json" data-configuration="${escaped(JSON.stringify(settings))}"></script>
<script src="standalone.js"></script>
</body>
</html>
`

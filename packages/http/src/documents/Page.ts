import type { Answer } from "../host/Answer.ts"

/** Safe HTML. Only the `html` tag creates it, and the tag escapes every value. */
export interface Html {
  readonly html: string
}

/** Creates HTML from a template. Escapes every value in the template except `Html`. */
export const html = (
  parts: TemplateStringsArray,
  ...values: ReadonlyArray<string | number | Html | ReadonlyArray<Html>>
): Html => ({ html: parts.map((part, index) => part + written(values[index] ?? "")).join("") })

const written = (value: string | number | Html | ReadonlyArray<Html>): string => {
  if (typeof value === "string" || typeof value === "number") return escape(String(value))
  return "html" in value ? value.html : value.map((item) => item.html).join("")
}

const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const style = `:root{color-scheme:light dark;font:16px/1.6 system-ui,sans-serif}
body{margin:0;background:light-dark(#f6f7f9,#0e1115);color:light-dark(#14181d,#e9edf1)}
main{max-width:46rem;margin:0 auto;padding:3rem 1.25rem}
h1{font-size:1.6rem;line-height:1.25}h2{font-size:1.15rem;margin-top:2.25rem}
code{font-family:ui-monospace,monospace;font-size:.92em}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.4rem .75rem .4rem 0}
tr{border-top:1px solid #8884}
h3{margin:2rem 0 .5rem}section{padding-bottom:.5rem}nav li{margin:.25rem 0}a{color:#2563eb}
summary{cursor:pointer;font-weight:600;margin:.5rem 0}
pre{overflow:auto;max-height:28rem;padding:.75rem;border-radius:.4rem;background:#8881;font-size:.85rem;line-height:1.45;white-space:pre-wrap;overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){a{color:#93b4ff}}`

/** The SHA-256 hash of the style sheet. If it is wrong, browsers ignore the style sheet, and a test fails. */
const styleHash = "lk8m2BbbvNw0ugBG1W+uDkvunh+kqVy2147T1JNqwmk="

/** The content security policy of a page: only its own style sheet, no scripts and no other resources. */
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${styleHash}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

/** A page's headers, besides its content type and `cache-control`. */
export const headers = {
  "content-security-policy": policy,
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff"
}

/** The media type of a page. */
export const type = "text/html; charset=utf-8"

/** Responds with a self-contained page that is not cached. */
export const page = (status: number, title: string, content: Html): Answer => ({
  status,
  headers: { ...headers, "content-type": type, "cache-control": "no-store" },
  body: document(title, content).html
})

/** The HTML of a self-contained page. */
export const document = (title: string, content: Html): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${{ html: style }}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`

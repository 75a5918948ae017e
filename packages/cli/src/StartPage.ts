import type { Line } from "@quotewire/core"

/** What `quotewire dev` prints when it is ready. */
export interface Ready {
  readonly base_url: string
  readonly organization_id: string
  readonly keys: { readonly server: string; readonly widget: string; readonly platform: string }
  /** The lines of the host; the first call is for the first one. */
  readonly lines: ReadonlyArray<Line.Line>
}

/** One line of JSON, for programs. */
export const line = (ready: Ready): string =>
  JSON.stringify({ base_url: ready.base_url, organization_id: ready.organization_id, keys: ready.keys })

const firstCall = (ready: Ready): string => {
  const [first] = ready.lines
  const body = {
    line: first?.name,
    consent_receipt_id: "receipt-0001",
    request_key: "my-first-request",
    application: first?.example
  }
  return [
    `curl -s ${ready.base_url}/v1/quote-requests \\`,
    `  -H 'Authorization: Bearer ${ready.keys.server}' \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d '${JSON.stringify(body)}'`
  ].join("\n")
}

/** A page for people: the address, the carriers, the keys, and a first call to paste. `paint` makes text bold. */
export const page = (ready: Ready, carriers: string, paint: (text: string) => string): string =>
  `
${paint("Quotewire")} is ready at ${paint(ready.base_url)}

  Everything is in memory. Carriers whose ids begin with sbx_ are fictional, and so are their prices.

${paint("Carriers")}
${carriers.replace(/^/gm, "  ")}

${paint("Sandbox keys")}
  server     ${ready.keys.server}
  widget     ${ready.keys.widget}
  platform   ${ready.keys.platform}

${paint("Start a quote request")}
${firstCall(ready)}

${paint("Read its quotes as they arrive")} (replace qreq_… with the id from the answer)
curl -s '${ready.base_url}/v1/quote-requests/qreq_…' -H 'Authorization: Bearer ${ready.keys.server}'

  API reference:   ${ready.base_url}/docs
  OpenAPI:         ${ready.base_url}/openapi.json
  Agents (MCP):    ${ready.base_url}/v1/mcp, with or without a key

  Press Ctrl-C to stop.
`

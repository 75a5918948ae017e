import type { Lines } from "@quotewire/core"
import { FirstCall } from "@quotewire/http"

/** What `quotewire dev` prints when it is ready. */
export interface ReadyHost {
  readonly base_url: string
  readonly organization_id: string
  readonly keys: { readonly server: string; readonly widget: string; readonly platform: string }
  /** A token for the operators' API, with every scope. */
  readonly operator_token: string
  /** The URL that opens the console and signs in. It works once. */
  readonly console_url: string
  /** The folder that stores all data; null if all data is in memory. */
  readonly data: string | null
  /** The host's insurance lines. The example call uses the first one. */
  readonly lines: Lines.LineSet
}

/** Formats the startup information as one line of JSON, for programs. */
export const line = (ready: ReadyHost): string =>
  JSON.stringify({
    base_url: ready.base_url,
    organization_id: ready.organization_id,
    keys: ready.keys,
    operator_token: ready.operator_token,
    console_url: ready.console_url,
    ...(ready.data !== null && { data: ready.data })
  })

/** Describes where all data is stored. */
const placeOf = (folder: string | null): string =>
  folder === null
    ? "All data is in memory, and is lost when you stop. To keep the data: quotewire dev --data <folder>"
    : `All data is in ${folder}, including the keys. To start over, stop and remove that folder.`

/**
 * Formats a page for people: the address, the carriers, the keys, and a first call to paste. `paint` makes text bold.
 */
export const page = (ready: ReadyHost, carriers: string, paint: (text: string) => string): string =>
  `
${paint("Quotewire")} is ready at ${paint(ready.base_url)}

  Console: ${paint(ready.console_url)}
  The link signs in once, within ten minutes. After that, enter the server key.

  ${placeOf(ready.data)}
  Carriers whose ids begin with sbx_ are fictional, and so are their prices.

${paint("Carriers")}
${carriers.replace(/^/gm, "  ")}

${paint("Sandbox keys")}
  server     ${ready.keys.server}
  widget     ${ready.keys.widget}
  platform   ${ready.keys.platform}

${paint("Operator's token")}
  ${ready.operator_token}

${paint("1. Start a quote request")}
export QUOTEWIRE=${ready.base_url} KEY=${ready.keys.server}
${FirstCall.text("$QUOTEWIRE", "$KEY", ready.lines)}

${paint("2. Advance the sandbox's clock")}, so that the carriers answer immediately
curl -s $QUOTEWIRE/v1/sandbox/time -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' -H 'Idempotency-Key: one-minute' \\
  -d '{"seconds":60}'

${paint("3. Read its quotes")}: replace qreq_… with the id from the first response
curl -s $QUOTEWIRE/v1/quote-requests/qreq_… -H "Authorization: Bearer $KEY"

  API reference:   ${ready.base_url}/docs
  OpenAPI:         ${ready.base_url}/openapi.json
  For operators:   ${ready.base_url}/operator/openapi.json
  Agents (MCP):    ${ready.base_url}/v1/mcp, with or without a key

  Press Ctrl-C to stop.
`

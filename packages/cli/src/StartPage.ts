/** What a host says when it is ready. */
export interface Ready {
  readonly base_url: string
  readonly organization_id: string
  readonly keys: { readonly server: string; readonly widget: string; readonly platform: string }
}

/** The one line that programs read. */
export const line = (ready: Ready): string =>
  JSON.stringify({ base_url: ready.base_url, organization_id: ready.organization_id, keys: ready.keys })

const application = {
  garaging_address: { state: "TX", zip: "75201" },
  drivers: [{ relationship: "self", date_of_birth: "1991-04-12", license_status: "valid" }],
  vehicles: [{ model_year: 2019, make: "Honda", model: "Civic" }]
}

const firstCall = (ready: Ready): string => {
  const body = {
    line: "personal_auto",
    consent_receipt_id: "receipt-0001",
    request_key: "my-first-request",
    application
  }
  return [
    `curl -s ${ready.base_url}/v1/quote-requests \\`,
    `  -H 'Authorization: Bearer ${ready.keys.server}' \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d '${JSON.stringify(body)}'`
  ].join("\n")
}

/** The page that a person reads: where it is, the keys, and a first call to paste. `paint` puts a text in bold. */
export const page = (ready: Ready, paint: (text: string) => string): string =>
  `
${paint("Quotewire")} is ready at ${paint(ready.base_url)}

  Everything is kept in memory, carriers and prices are fictional.

${paint("Keys of this sandbox")}
  server     ${ready.keys.server}
  widget     ${ready.keys.widget}
  platform   ${ready.keys.platform}

${paint("A first quote request, to paste")}
${firstCall(ready)}

${paint("Its quotes, as they arrive")} (put the id of the answer in place of qreq_…)
curl -s '${ready.base_url}/v1/quote-requests/qreq_…' -H 'Authorization: Bearer ${ready.keys.server}'

  For agents (MCP), with a key or without one: ${ready.base_url}/v1/mcp
  The description of every operation: ${ready.base_url}/openapi.json
  Stop with Ctrl-C.
`

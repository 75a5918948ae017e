import type { Lines } from "@quotewire/core"

/** A call to paste into a shell: it starts a quote request for the first line of the host. */
export const text = (baseUrl: string, key: string, lines: Lines.LineSet): string => {
  const [first] = lines.values()
  const body = {
    line: first?.name,
    consent_receipt_id: "receipt-0001",
    request_key: "my-first-request",
    application: first?.example
  }
  return [
    `curl -s ${baseUrl}/v1/quote-requests \\`,
    // In double quotes, so that the shell can insert a key.
    `  -H "Authorization: Bearer ${key}" \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d '${JSON.stringify(body)}'`
  ].join("\n")
}

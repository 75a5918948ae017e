import type { Lines } from "@quotewire/core"

/** Formats fields as indented lines of JSON. */
const fields = (body: object, indent: string): string =>
  Object.entries(body)
    .map(([name, value]) => `${indent}${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(",\n")

/** A command to paste into a shell. It starts a quote request for the host's first insurance line. */
export const text = (baseUrl: string, key: string, lines: Lines.LineSet): string => {
  const [first] = lines.values()
  const body = {
    line: first?.name,
    request_key: "my-first-quote",
    consent_receipt_id: "receipt-0001",
    ...(first?.has_credit_disclosure === true && { credit_disclosure_receipt_id: "receipt-0002" })
  }
  return [
    `curl -s ${baseUrl}/v1/quote-requests \\`,
    // The header is in double quotes, so that the shell expands a variable in place of the key.
    `  -H "Authorization: Bearer ${key}" \\`,
    "  -H 'Content-Type: application/json' -d '{",
    `${fields(body, "  ")},`,
    '  "application": {',
    fields(first?.example ?? {}, "    "),
    "  }",
    "}'"
  ].join("\n")
}

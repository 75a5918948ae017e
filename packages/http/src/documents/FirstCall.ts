import { type Lines, standardLines } from "@quotewire/core"

/** The facts of the first call in personal auto: with a choice of billing, and enough for five quotes. */
const auto = {
  garaging_address: { state: "TX", zip: "75201" },
  drivers: [{ relationship: "self", date_of_birth: "1991-04-12", license_status: "valid" }],
  vehicles: [{ model_year: 2019, make: "Honda", model: "Accord", annual_miles: 12_000 }],
  prior_insurance: { status: "insured", months_continuous: 24 },
  billing_preference: "monthly"
}

const isAuto = (line: unknown): boolean => line === standardLines.find(({ name }) => name === "personal_auto")

/** Fields as indented lines of JSON. */
const fields = (of: object, indent: string): string =>
  Object.entries(of)
    .map(([name, value]) => `${indent}${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(",\n")

/** A call to paste into a shell: it starts a quote request for the first line of the host. */
export const text = (baseUrl: string, key: string, lines: Lines.LineSet): string => {
  const [first] = lines.values()
  const body = {
    line: first?.name,
    request_key: "my-first-quote",
    consent_receipt_id: "receipt-0001",
    ...(isAuto(first) && { credit_disclosure_receipt_id: "receipt-0002" })
  }
  return [
    `curl -s ${baseUrl}/v1/quote-requests \\`,
    // In double quotes, so that the shell can insert a key.
    `  -H "Authorization: Bearer ${key}" \\`,
    "  -H 'Content-Type: application/json' -d '{",
    `${fields(body, "  ")},`,
    '  "application": {',
    fields(isAuto(first) ? auto : (first?.example ?? {}), "    "),
    "  }",
    "}'"
  ].join("\n")
}

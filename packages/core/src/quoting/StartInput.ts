import { Schema } from "effect"
import type { Line } from "../lines/Line.ts"
import { LineName, standardLines } from "../lines/standard.ts"
import { Timestamp } from "../wire/Timestamp.ts"
import * as Consent from "./Consent.ts"
import { QuoteRequest } from "./QuoteRequest.ts"

/** A reference to the schema of a line's facts, for use inside another document. */
const factsSchema = (line: Line) => {
  const { $schema: _dialect, $id: _id, ...schema } = line.facts_schema
  return { title: line.name, ...schema }
}

/** The input of a start (api.md, start_quote_request). Consents and facts have their own checks. */
export const StartInput = Schema.Struct({
  line: LineName,
  ...Consent.fields,
  scenario: Schema.optionalKey(Schema.String).annotateKey({ description: "Sandbox only: the named outcome to play." }),
  request_key: Schema.String.check(
    Schema.isPattern(/^[\x21-\x7e]{1,200}$/u, { expected: "1 to 200 visible ASCII characters" })
  ).annotateKey({
    description: "The caller's own ID of this start: the same key and input give the same request."
  }),
  application: Schema.Unknown.annotateKey({
    description: "The facts, shaped by required_facts_schema of the line's capabilities.",
    checked_later: true,
    jsonSchema: { anyOf: standardLines.map(factsSchema) }
  })
})
export type StartInput = typeof StartInput.Type

/** A started request, with a read handle if the caller needs one, and with the consent recorded for a keyless caller. */
export const StartedQuoteRequest = Schema.Struct({
  ...QuoteRequest.fields,
  read_handle: Schema.optionalKey(Schema.String),
  read_handle_expires_at: Schema.optionalKey(Timestamp),
  quote_consent: Schema.optionalKey(Consent.QuoteConsent)
}).annotate({ identifier: "StartedQuoteRequest" })
export type StartedQuoteRequest = typeof StartedQuoteRequest.Type

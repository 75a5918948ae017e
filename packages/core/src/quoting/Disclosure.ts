import { Schema } from "effect"
import type { Environment } from "../access/Caller.ts"
import type { Line } from "../lines/Line.ts"

/** The key and version of a text that a person is shown. The texts themselves are versioned data. */
export interface DisclosureKey {
  readonly key: string
  readonly version: string
}

/** The version of all disclosure texts. */
export const version = "2026-09-26"

const byEnvironment: { readonly [E in Environment]: ReadonlyArray<string> } = {
  sandbox: ["sandbox_notice"],
  live: ["license_and_producer", "ca_privacy_notice", "glba_privacy_notice"]
}

/** The disclosures that belong to a line. */
export const keysOf = (line: Line, environment: Environment): ReadonlyArray<DisclosureKey> =>
  [
    "quote_not_coverage",
    "not_market_comparison",
    "who_receives_facts",
    "premium_whole_term",
    ...line.disclosures,
    ...byEnvironment[environment]
  ].map((key) => ({ key, version }))

/** The text that a person must agree to when the caller has no key (api.md, Authentication 4). */
export const QuoteDisclosure = Schema.Struct({
  version: Schema.String,
  text: Schema.String,
  text_sha256: Schema.String,
  locale: Schema.String,
  covers: Schema.Array(Schema.Literal("quote_request"))
}).annotate({ identifier: "QuoteDisclosure" })
export type QuoteDisclosure = typeof QuoteDisclosure.Type

/** The key of the text that the person agrees to. */
export const quote_disclosure_key = "who_receives_facts"

/** The text that the person agrees to, in the current version. */
export const quote_disclosure_text =
  "The facts you give are sent to the insurance carriers that serve your state, so that they can offer you a price. " +
  "A quote is an offer of a price and not coverage; the carrier sets the final price after its review. " +
  "Not every carrier is asked, and nothing here ranks or recommends one. " +
  "You agree to this use for quoting only: nobody may contact you because of it."

/** The quote disclosure, given the SHA-256 of its text in hex. */
export const quoteDisclosure = (text_sha256: string): QuoteDisclosure => ({
  version,
  text: quote_disclosure_text,
  text_sha256,
  locale: "en-US",
  covers: ["quote_request"]
})

import { type DisclosureKey, disclosureVersion, quoteDisclosureKey, quoteDisclosureText } from "./Consent.ts"

/** The standard lines' disclosure texts in the version `Consent.disclosureVersion`. */
const texts: Readonly<Record<string, string>> = {
  quote_not_coverage:
    "A quote is an offer of a price, not coverage. The carrier sets the final price after its review.",
  not_market_comparison: "Not every carrier is asked, and nothing here ranks or recommends one.",
  [quoteDisclosureKey]: quoteDisclosureText,
  premium_whole_term: "The premium is for the whole term, however it is billed.",
  renters_not_flood_quake: "Renters insurance usually does not cover flood or earthquake damage.",
  auto_state_minimum: "Each state sets minimum liability limits; they may not be enough to cover a serious accident.",
  credit_information_use:
    "Where the law allows it, a carrier may obtain credit information to set a price, if the person has read the credit disclosure.",
  credit_not_used: "In states that prohibit it, credit information is not used to set a price.",
  pet_preexisting: "Pet insurance usually excludes conditions that existed before the policy or its waiting period.",
  pet_waiting_period: "Illnesses may be covered only after a waiting period of the policy.",
  pet_wellness_not_insurance: "A wellness plan pays for routine care; it is not insurance.",
  pet_free_look: "A new policy can be returned within a period that the carrier states.",
  sandbox_notice: "This is a sandbox: carriers and prices are fictional."
}

/**
 * The text of a disclosure, by its key in capabilities.
 *
 * Null if the operator must supply the text, as for notices about the operator and disclosures of your own lines.
 */
export const disclosureText = (key: string): string | null => (Object.hasOwn(texts, key) ? (texts[key] ?? null) : null)

/**
 * The quote disclosure in its current version: the text that a person must agree to before a caller without a key
 * starts a request.
 */
export const quoteDisclosure: DisclosureKey & { readonly text: string } = {
  key: quoteDisclosureKey,
  version: disclosureVersion,
  text: quoteDisclosureText
}

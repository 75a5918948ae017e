import { type Caller, disclosureText, type Line } from "@quotewire/core"

/** What the quote card shows in addition to the response. */
export interface CardExtras {
  /** The insurance line's disclosures, word for word. */
  readonly notices: ReadonlyArray<string>
  /** Whether prices include their fees; null if that is unknown. */
  readonly premium_includes_fees: true | null
}

/** The disclosures that accompany every price. */
const always = ["quote_not_coverage", "not_market_comparison", "premium_whole_term"]

/** The extra data for quotes of a line. `line` is undefined if the response does not name the line. */
export const of = (environment: Caller.Caller["environment"], line: Line.Line | undefined): CardExtras => ({
  // Leaves out disclosures whose text this service does not have. The operator must show those.
  notices: [...(environment === "sandbox" ? ["sandbox_notice"] : []), ...always, ...(line?.disclosures ?? [])].flatMap(
    (key) => disclosureText(key) ?? []
  ),
  premium_includes_fees: line?.premium_includes_fees === true ? true : null
})

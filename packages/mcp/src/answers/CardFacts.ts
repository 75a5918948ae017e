import { type Caller, disclosureText, type Line } from "@quotewire/core"

/** What the quote card shows the person in addition to the answer. */
export interface CardFacts {
  /** The disclosures of the line, word for word. */
  readonly notices: ReadonlyArray<string>
  /** Whether prices include their fees; null if that is unknown. */
  readonly premium_includes_fees: true | null
}

/** Disclosures that belong to every price. */
const always = ["quote_not_coverage", "not_market_comparison", "premium_whole_term"]

/** The facts for the card of a line's quotes. `line` is undefined if the answer does not name the line. */
export const of = (environment: Caller.Caller["environment"], line: Line.Line | undefined): CardFacts => ({
  // The texts of an operator's own disclosures are the operator's to show.
  notices: [...(environment === "sandbox" ? ["sandbox_notice"] : []), ...always, ...(line?.disclosures ?? [])].flatMap(
    (key) => disclosureText(key) ?? []
  ),
  premium_includes_fees: line?.premium_includes_fees === true ? true : null
})

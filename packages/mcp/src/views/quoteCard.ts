import type { View } from "../protocol/View.ts"
import { html } from "./quoteCard.generated.ts"

/**
 * The page that shows a request's quotes side by side, in the order of the response, never ranked. Its sources are in
 * `card/`.
 */
export const quoteCard: View = {
  uri: "ui://quotewire/quotes",
  name: "quotes",
  title: "Quotes side by side",
  description:
    "Prices, coverages and assumptions of quotes in the order of the response, and the carriers without a quote.",
  html
}

import { type AnswerOf, type Client, type InputOf, isApiError } from "@quotewire/core/client"

/*
 * The checkout of a site that rents out flats and offers insurance for them. Its caller passes the client, so the same
 * code runs in tests and in production.
 */

/** The person's order. */
export interface Order {
  readonly number: string
  /** The facts about the apartment that the site knows. */
  readonly application: Extract<InputOf<"start_quote_request">, { readonly line: "renters" }>["application"]
  readonly consent_receipt_id: string
}

type Quote = AnswerOf<"get_quote_request">["quotes"][number]

/** The page that the site shows next. */
export type Page =
  | { readonly shows: "questions"; readonly about: ReadonlyArray<string> }
  | { readonly shows: "no_offer" }
  | { readonly shows: "new_price"; readonly cents: number | null }
  | { readonly shows: "link"; readonly carrier: string; readonly cents: number | null; readonly path: string }

/**
 * Offers insurance for an order. `choose` shows the quotes to the person, and returns the quote that the person picks.
 */
export const checkOut = async (
  client: Client,
  { application, consent_receipt_id, number }: Order,
  choose: (quotes: ReadonlyArray<Quote>) => Promise<Quote | undefined>
): Promise<Page> => {
  try {
    const { id } = await client.start_quote_request({
      line: "renters",
      request_key: number,
      consent_receipt_id,
      application
    })
    const { quotes } = await client.wait_for_quotes(id)
    const chosen = await choose(quotes)
    return chosen === undefined ? { shows: "no_offer" } : await linkTo(client, chosen)
  } catch (error) {
    if (!isApiError(error, "needs_information")) throw error
    return { shows: "questions", about: (error.field_errors ?? []).map(({ path }) => path) }
  }
}

/** Links to the carrier's site, unless the quote changed or ended while the person was deciding. */
const linkTo = async (client: Client, chosen: Quote): Promise<Page> => {
  const quote = await client.get_quote({ id: chosen.id })
  const cents = quote.price.premium?.amount_minor ?? null
  if (quote.version !== chosen.version && quote.status === "active") return { shows: "new_price", cents }
  const link = quote.next_actions.find(({ type }) => type === "continue_on_carrier_site")
  if (typeof link?.redirect_path !== "string") return { shows: "no_offer" }
  return { shows: "link", carrier: quote.source.carrier.name, cents, path: link.redirect_path }
}

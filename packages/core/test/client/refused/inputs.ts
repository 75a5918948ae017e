import type { bicycle } from "../../../../../examples/line.ts"
import { type AnswerOf, type Client, defineConfig, isApiError } from "../../../src/index.ts"

/*
 * What programs must not be able to write. The compiler must refuse exactly the lines below "refused:".
 */

const consent_receipt_id = "receipt-0001"
const credit_disclosure_receipt_id = "receipt-0002"
const address = { state: "NY", zip: "10001" } as const
const keys = { request_key: "first", consent_receipt_id } as const

export const starts = (client: Client) => [
  // refused: a misspelled fact, for dwelling
  client.start_quote_request({ line: "renters", ...keys, application: { dwellling: { type: "condo" } } }),
  // refused: a misspelled fact in a list, for breed
  client.start_quote_request({ line: "pet", ...keys, application: { pets: [{ breeed: "mixed" }] } }),
  // refused: not a type of dwelling
  client.start_quote_request({ line: "renters", ...keys, application: { dwelling: { type: "castle" } } }),
  // refused: a fact of another line
  client.start_quote_request({ line: "renters", ...keys, application: { pets: [] } }),
  // refused: not a line
  client.start_quote_request({ line: "rentals", ...keys, application: {} }),
  // refused: a whole application of another line
  client.start_quote_request({ line: "pet", ...keys, application: { dwelling: { address, type: "condo" } } }),
  // refused: a receipt of the person's consent is required
  client.start_quote_request({ line: "renters", request_key: "first", application: {} }),
  // refused: renters have no credit disclosure
  client.start_quote_request({ line: "renters", ...keys, credit_disclosure_receipt_id, application: {} }),
  // refused: agreement without a receipt is for callers without a key
  client.start_quote_request({ line: "renters", ...keys, quote_disclosure_accepted: true, application: {} }),
  // refused: request_key is required
  client.start_quote_request({ line: "renters", consent_receipt_id, application: {} })
]

export const startsOfOwnLines = (client: Client<typeof bicycle>) => [
  // refused: a misspelled fact, for electric
  client.start_quote_request({ line: "bicycle", ...keys, application: { bicycle: { electrical: true } } }),
  // refused: bicycles have no credit disclosure
  client.start_quote_request({ line: "bicycle", ...keys, credit_disclosure_receipt_id, application: {} }),
  // refused: a line that this program does not offer
  client.start_quote_request({ line: "renters", ...keys, application: {} })
]

export const commands = (client: Client) => [
  // refused: a misspelled option
  client.advance_time({ seconds: 60 }, { idempotencyKey: "advance 1" }),
  // refused: a misspelled field of the input
  client.advance_time({ second: 60 })
]

export const isLost = ({ type }: AnswerOf<"list_events">["events"][number]): boolean => {
  switch (type) {
    // refused: not a type of event
    case "quote.lost":
      return true
    default:
      return false
  }
}

export const isRefusal = (error: unknown): boolean => {
  // refused: not a code
  if (isApiError(error, "needs_informations")) return true
  // refused: not a code
  return isApiError(error) && error.code === "rate_limit"
}

// refused: a misspelled option, for carriers
export const config = defineConfig({ carrierz: [] })

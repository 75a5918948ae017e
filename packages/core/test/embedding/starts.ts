import type { InputOf } from "../../src/client/Client.ts"
import { smallest } from "../support/world.ts"

/** The smallest start for renters insurance, as a program writes it. */
export const startOf = (request_key = "first"): InputOf<"start_quote_request"> => ({
  line: "renters",
  request_key,
  consent_receipt_id: "receipt-0001",
  application: smallest.renters
})

import { Schema } from "effect"
import type { StoredRecord } from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import { QuoteRequestId } from "../../wire/Ids.ts"

/** Marks that an attempt to ask a carrier has begun. */
export const kind = Kind.make({
  name: "begun_ask",
  schema: Schema.Struct({ quote_request_id: QuoteRequestId }),
  listing: ({ quote_request_id }) => ({ parent: quote_request_id })
})

/** The stored mark. It can be written only once, so only one host makes the ask. */
export const toStored = (
  quote_request_id: QuoteRequestId,
  carrierId: string,
  attempt: number,
  now: number
): StoredRecord =>
  kind.record(
    { quote_request_id },
    { id: `${quote_request_id} ${carrierId} ${attempt}`, version: 1, created_at: now, updated_at: now }
  )

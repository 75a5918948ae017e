import { Schema } from "effect"
import { wholeNumber } from "./Input.ts"

/** How many items a page holds (api.md, Limits). */
export const pageFields = {
  limit: Schema.optionalKey(wholeNumber(1, 100)).annotateKey({
    description: "Items on a page, 1 to 100; 10 by default"
  }),
  cursor: Schema.optionalKey(Schema.String).annotateKey({ description: "The next_cursor of the page before" })
}

/** The page size where none is asked for. */
export const default_limit = 10

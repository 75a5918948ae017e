import { Schema } from "effect"
import { wholeNumber } from "./Input.ts"

/** The input fields of every paged list (api.md, Lists). */
export const pageFields = {
  limit: Schema.optionalKey(wholeNumber(1, 100)).annotateKey({
    description: "Items on a page, 1 to 100; 10 by default"
  }),
  cursor: Schema.optionalKey(Schema.String).annotateKey({ description: "The next_cursor of the previous page" })
}

/** The default page size. */
export const defaultLimit = 10

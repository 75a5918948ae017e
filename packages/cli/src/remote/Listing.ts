import { Ids } from "@quotewire/core/program"
import { Schema } from "effect"
import { Flag } from "effect/cli"

/*
 * The flags that list commands share: a limit and filters. The filters' values are checked by the host.
 */

/** How many items to print, newest first. */
export const limit = Flag.Int("limit").pipe(
  Flag.filter(
    (count) => count >= 1 && count <= 100,
    () => "--limit must be a whole number from 1 to 100"
  ),
  Flag.withDefault(10),
  Flag.withDescription("How many to print, newest first, 100 at most; 10 by default")
)

/** A filter that takes a quote request's ID. */
export const quoteRequest = Flag.String("quote-request").pipe(
  Flag.filterMap(
    Schema.decodeUnknownOption(Ids.QuoteRequestId),
    () => "--quote-request must be the id of a quote request, such as qreq_01…"
  ),
  Flag.optional,
  Flag.withDescription("Only entries about this quote request, qreq_…, or its quotes")
)

/** A filter that takes any text. */
export const text = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.optional, Flag.withDescription(description))

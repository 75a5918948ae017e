import type { Resource } from "@quotewire/core"

/** What changed in a quote request since a version that the caller has read. */
export interface Changes {
  /** The version that the caller has read. */
  readonly version: number
  readonly carriers: ReadonlyArray<Resource.QuoteRequest["carriers"][number]>
  readonly quotes: ReadonlyArray<Resource.Quote>
  /** Whether the caller has read the results of any carriers. */
  readonly has_read_carriers: boolean
  /** The quotes that the caller has read and that have not changed. */
  readonly read_quotes: ReadonlyArray<Resource.Quote>
}

/** Version 1 of a request does not mention carriers. Version 2 lists the carriers that are asked. */
const askedVersion = 2

/**
 * Finds what changed since a version. The service does not record what callers have read, so the result may contain too
 * much, but never too little.
 *
 * Every version adds the answer of at most one carrier, and `quote_ids` is in the order of the answers. So the answers
 * in the last n versions belong to the last n carriers that quoted. Other answers are short, so they are always listed.
 * Quotes that changed after they were created are always listed too.
 */
export const since = ({ quote_request, quotes }: Resource.QuoteRequestWithQuotes, version: number): Changes => {
  const { carriers, quote_ids } = quote_request
  const quoted = carriers
    .filter(({ outcome }) => outcome === "quoted")
    .toSorted((a, b) => firstOf(a.quote_ids, quote_ids) - firstOf(b.quote_ids, quote_ids))
  const steps = Math.max(0, quote_request.version - version)
  const recent = new Set(quoted.slice(Math.max(0, quoted.length - steps)))
  // If the version does not exist yet, the caller cannot have read it.
  const hasReadNone = version < askedVersion || version > quote_request.version
  const isNew = (carrier: (typeof carriers)[number]): boolean => {
    if (hasReadNone || recent.has(carrier)) return true
    return carrier.outcome === "declined" || carrier.outcome === "needs_information" || carrier.outcome === "no_answer"
  }
  const changed = carriers.filter(isNew)
  const ids = new Set(changed.flatMap((carrier) => carrier.quote_ids))
  const isChanged = (quote: Resource.Quote) => ids.has(quote.id) || quote.version > 1 || quote.status === "inactive"
  return {
    version,
    carriers: changed,
    quotes: quotes.filter(isChanged),
    has_read_carriers: changed.length < carriers.length,
    read_quotes: quotes.filter((quote) => !isChanged(quote))
  }
}

const firstOf = (ids: ReadonlyArray<string>, allIds: ReadonlyArray<string>): number =>
  Math.min(...ids.map((id) => allIds.indexOf(id)))

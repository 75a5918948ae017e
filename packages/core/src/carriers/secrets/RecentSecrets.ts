import { Context } from "effect"

/** How many credentials of a carrier are remembered. */
const maxRecent = 32

/**
 * The credentials that this process last sent to each carrier. A callback, or an answer to a later request, can repeat them.
 *
 * They are in memory only, in one list for each carrier of the program.
 */
export interface RecentlySent {
  /** Adds credentials that were sent to a carrier, and returns them together with the earlier ones. */
  readonly remember: (carrier_id: string, secrets: ReadonlyArray<string>) => ReadonlyArray<string>
}

const make = (): RecentlySent => {
  const byCarrier = new Map<string, ReadonlyArray<string>>()
  return {
    remember: (carrierId, secrets) => {
      const known = [...new Set([...secrets, ...(byCarrier.get(carrierId) ?? [])])]
      byCarrier.set(carrierId, known.slice(0, maxRecent))
      return known
    }
  }
}

/** The credentials that were sent most recently: one store for the process, unless another is provided. */
export const RecentSecrets: Context.Reference<RecentlySent> = Context.Reference("@quotewire/core/RecentSecrets", {
  defaultValue: make
})

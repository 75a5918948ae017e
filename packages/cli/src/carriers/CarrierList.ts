import { Effect } from "effect"

/** The IDs of the carriers that a host can ask, by environment. */
export interface CarrierIds {
  readonly sandbox: ReadonlyArray<string>
  readonly live: ReadonlyArray<string>
}

/** The maximum number of carriers listed for each environment. The others are only counted. */
const maxNamed = 20

/** Formats two lines for people: how many carriers each environment has, and their IDs. */
export const text = ({ live, sandbox }: CarrierIds): string => `sandbox: ${listed(sandbox)}\nlive: ${listed(live)}`

/** Logs the IDs of the carriers in each environment. */
export const log = ({ live, sandbox }: CarrierIds): Effect.Effect<void> =>
  Effect.logInfo("The carriers of this host").pipe(
    Effect.annotateLogs({ sandbox: listed(sandbox), live: listed(live) })
  )

const listed = (ids: ReadonlyArray<string>): string => {
  if (ids.length === 0) return "no carriers"
  const moreCount = ids.length - maxNamed
  const named = ids.slice(0, maxNamed).join(", ")
  return `${ids.length} ${ids.length === 1 ? "carrier" : "carriers"} (${named}${moreCount > 0 ? `, and ${moreCount} more` : ""})`
}

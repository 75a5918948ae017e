import { startsPerMinute } from "./Hosts.ts"
import type * as Ledger from "./Ledger.ts"
import { narrowRate } from "./SimulatedCarriers.ts"
import type { Story } from "./Story.ts"
import { environmentOf } from "./World.ts"

/*
 * What must hold in a story with limits, where hosts and storage do not fail.
 */

const minuteMs = 60_000
/** The longest time from counting a call until it reaches its carrier, or until its response reaches the caller. */
const travelMs = 5_000

/** Everything that exceeded a limit, in sentences. */
export const findings = ({ hosts }: Story, { accepted, asks }: Ledger.Ledger): ReadonlyArray<string> => {
  const narrow = asks.filter(({ carrier_id }) => carrier_id === "naic:90007")
  const crowded = [...Map.groupBy(narrow, ({ line }) => line)].flatMap(([line, own]) => {
    const most = mostWithin(
      own.map(({ at }) => at),
      minuteMs - travelMs
    )
    return most > narrowRate ? [`A carrier was asked ${most} times in a minute for ${line}`] : []
  })
  // Limits of callers apply to clock minutes, so a period of a minute spans two of them. Counts from other hosts are up
  // to a second old.
  const allowed = 2 * startsPerMinute * hosts
  const organizationOf = ({ workspace }: Ledger.Accepted) => `${workspace.split(" ")[0]} ${environmentOf(workspace)}`
  const started = [...Map.groupBy(accepted, organizationOf)].flatMap(([name, own]) => {
    const most = mostWithin(
      own.map(({ answered }) => answered.at),
      minuteMs - travelMs
    )
    return most > allowed ? [`${name} made ${most} start calls in a minute`] : []
  })
  return [...crowded, ...started]
}

/** The maximum number of these times within a period. */
const mostWithin = (times: ReadonlyArray<number>, periodMs: number): number =>
  Math.max(0, ...times.map((from) => times.filter((at) => from <= at && at < from + periodMs).length))

import { type CarrierStatus, Circuits } from "@quotewire/core"

/**
 * Formats a carrier's status as lines for people: its ID, insurance line and environment, then its circuit breaker, its
 * load and its latest outcomes.
 */
export const linesOf = (status: CarrierStatus): ReadonlyArray<string> => {
  const { carrier_id, environment, line, organization_id } = status
  const { in_flight, max_concurrent, rate_left, rate_per_minute } = status
  return [
    [carrier_id, line, environment, ...(organization_id === null ? [] : [organization_id])].join("  "),
    `  ${circuitOf(status)}`,
    `  ${in_flight} of ${max_concurrent} calls in progress, ${rate_left} of ${rate_per_minute} left in this minute`,
    `  ${outcomesOf(status)}`
  ]
}

const states: { readonly [Circuit in CarrierStatus["circuit"]]: string } = {
  closed: "closed",
  open: "open",
  half_open: "half open, the next ask tries the carrier,"
}

const circuitOf = ({ circuit, since, until, why }: CarrierStatus): string =>
  [
    `circuit ${states[circuit]}`,
    ...(since === null ? [] : [`since ${since}`]),
    ...(until === null || circuit !== "open" ? [] : [`until ${until}`])
  ].join(" ") + (why === null ? "" : `: ${why}`)

const outcomesOf = ({ outcomes }: CarrierStatus): string =>
  outcomes.length === 0 ? "no outcomes yet" : `last ${outcomes.length} asks: ${Circuits.tally(outcomes)}`

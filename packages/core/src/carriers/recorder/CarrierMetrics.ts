import { Effect, Metric } from "effect"
import { second_ms } from "../../wire/Timestamp.ts"
import type { CarrierExchange } from "./CarrierExchange.ts"

const exchanges = Metric.counter("quotewire_carrier_exchanges_total", {
  description: "Exchanges with carriers, by what they were for, carrier, line, environment, outcome and reason.",
  incremental: true
})

const durations = Metric.histogram("quotewire_carrier_exchange_duration_seconds", {
  description: "How long carriers took, by what the exchange was for, carrier and line.",
  boundaries: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120]
})

const openCircuits = Metric.gauge("quotewire_carrier_circuits_open", {
  description: "Circuits of carriers that are open, as this host sees them."
})

/** Counts and times an exchange that has ended. */
export const measure = ({
  carrier_id: carrier,
  duration_ms,
  environment,
  exchange,
  line,
  outcome,
  reason
}: CarrierExchange): Effect.Effect<void> => {
  const labels = { exchange, carrier, line: line ?? "" }
  const counted = { ...labels, environment: environment ?? "", outcome, reason: reason ?? "" }
  return Effect.andThen(
    Metric.update(Metric.withAttributes(exchanges, counted), 1),
    Metric.update(Metric.withAttributes(durations, labels), duration_ms / second_ms)
  )
}

/** Sets how many circuits are open in this process. */
export const setOpenCircuits = (count: number): Effect.Effect<void> => Metric.update(openCircuits, count)

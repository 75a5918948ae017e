import { Effect, Metric } from "effect"

/** The metrics, as `name label=value` with its number. The core has no histograms. */
export const measured = Effect.map(Metric.snapshot, (metrics) =>
  metrics.flatMap(({ id, attributes, type, state }) => {
    const labels = Object.entries(attributes ?? {}).map(([name, amount]) => ` ${name}=${amount}`)
    const value = type === "Counter" ? Number(state.count) : type === "Gauge" ? Number(state.value) : null
    return value === null ? [] : [`${id}${labels.join("")}: ${value}`]
  })
)

/** Runs a body with its own metrics registry. */
export const apart = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.provideService(body, Metric.MetricRegistry, new Map())

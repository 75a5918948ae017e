import { Effect, Metric } from "effect"

/** What is measured, as `name label=value` with its number; histograms are none of the core's. */
export const measured = Effect.map(Metric.snapshot, (metrics) =>
  metrics.flatMap(({ id, attributes, type, state }) => {
    const labels = Object.entries(attributes ?? {}).map(([name, value]) => ` ${name}=${value}`)
    const value = type === "Counter" ? Number(state.count) : type === "Gauge" ? Number(state.value) : null
    return value === null ? [] : [`${id}${labels.join("")}: ${value}`]
  })
)

/** Measures a body apart from all others. */
export const apart = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.provideService(body, Metric.MetricRegistry, new Map())

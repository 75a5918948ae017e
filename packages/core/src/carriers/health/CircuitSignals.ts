import { Clock, Effect, Metric } from "effect"
import type { Environment } from "../../access/Caller.ts"
import { BoundedMap } from "../../concurrency/BoundedMap.ts"
import { secondMs } from "../../wire/Timestamp.ts"
import type { CircuitChange } from "../recorder/Draft.ts"
import type { CarrierHealth } from "./CarrierHealth.ts"

/*
 * What operators see of circuits: metrics and the log.
 */

/** Which carrier a circuit belongs to. */
interface OfCarrier {
  readonly carrier_id: string
  readonly line: string
  readonly environment: Environment
}

const openCircuits = Metric.gauge("quotewire_carrier_circuits_open", {
  description: "Circuits that are open, as this process sees them, by carrier, line and environment."
})

const changes = Metric.counter("quotewire_carrier_circuit_changes_total", {
  description: "Circuits that this process has opened, kept open or closed, by carrier, line, environment and change.",
  incremental: true
})

const labelsOf = ({ carrier_id: carrier, environment, line }: OfCarrier) => ({ carrier, line, environment })

const messages: { readonly [To in CircuitChange["to"]]: string } = {
  opened: "A carrier's circuit opened; the carrier is not asked",
  stays_open: "The circuit of a carrier stays open: the carrier is not asked",
  closed: "A carrier's circuit closed; the carrier is asked again"
}

/** Logs and counts a change of a circuit. */
export const report = (of: OfCarrier, change: CircuitChange): Effect.Effect<void> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const seconds =
      change.until === null
        ? { was_open_seconds: secondsOf(now - change.since) }
        : { open_for_seconds: secondsOf(change.until - now) }
    const log = change.to === "closed" ? Effect.logInfo : Effect.logWarning
    const { carrier_id, environment, line } = of
    yield* Effect.annotateLogs(log(messages[change.to]), {
      carrier_id,
      line,
      environment,
      why: change.why,
      ...seconds
    })
    yield* Metric.update(Metric.withAttributes(changes, { ...labelsOf(of), change: change.to }), 1)
  })

const secondsOf = (ms: number): number => Math.round(ms / secondMs)

/** The maximum number of open circuits counted for the metric. */
const maxOpen = 10_000

/** Exposes the number of open circuits that this process has seen as a metric. */
export const make = () => {
  const open = new BoundedMap<string, OfCarrier>(maxOpen)
  const isOfSame = (one: OfCarrier, other: OfCarrier) =>
    one.carrier_id === other.carrier_id && one.line === other.line && one.environment === other.environment
  return {
    /** Notes a health that was read or written; `key` identifies it. */
    seen: (key: string, of: OfCarrier, health: CarrierHealth): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (open.has(key) === (health.open !== null)) return Effect.void
        if (health.open === null) open.delete(key)
        else open.set(key, of)
        const count = Array.from(open.values()).filter((other) => isOfSame(of, other)).length
        return Metric.update(Metric.withAttributes(openCircuits, labelsOf(of)), count)
      })
  }
}

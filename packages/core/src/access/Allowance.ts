import { Clock, Context, Effect, Layer, Metric } from "effect"
import { directory, Storage } from "../storage/Storage.ts"
import { type ApiError, make } from "../wire/ApiError.ts"
import { day_ms, minute_ms, second_ms } from "../wire/Timestamp.ts"
import type { Caller } from "./Caller.ts"
import { type Cost, costKinds, type Limit, type Limits, standardLimits } from "./Limits.ts"
import * as SharedCounts from "./SharedCounts.ts"

export * from "./Limits.ts"

/** The rate limits of this host. */
export const AllowanceLimits = Context.Reference<Limits>("@quotewire/core/AllowanceLimits", {
  defaultValue: () => standardLimits
})

/**
 * Rate limits in minutes and days of real time, shared by all hosts on one storage. Refuses with `rate_limited` (api.md,
 * Limits).
 *
 * A refused call does not count. `Retry-After` is the time until every reached limit has ended, so that the call will
 * pass. A call that costs more than a whole limit passes as the first call of a window.
 */
export class Allowance extends Context.Service<
  Allowance,
  {
    /** Spends the cost of a call from the limits of its key and organization, or of its address. */
    readonly spend: (caller: Caller, cost: Cost, address: string) => Effect.Effect<void, ApiError<"rate_limited">>
    /** Refuses an address that has reached its limit of refused keys, as far as this host knows. Counts nothing. */
    readonly mayAuthenticate: (address: string) => Effect.Effect<void, ApiError<"rate_limited">>
    /** Counts a refused key against its address. */
    readonly failedAuthentication: (address: string) => Effect.Effect<void, ApiError<"rate_limited">>
    /** Runs a test or a replay within its limit. It counts only if it succeeds. */
    readonly handingOver: <A, E, R>(
      caller: Caller,
      handOver: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | ApiError<"rate_limited">, R>
  }
>()("@quotewire/core/Allowance") {
  static readonly layer: Layer.Layer<Allowance, never, Storage> = Layer.effect(
    Allowance,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const counts = yield* SharedCounts.make(yield* Storage)
      const gauges = gaugesOf(yield* AllowanceLimits, counts)

      const take = (demands: ReadonlyArray<Demand>, now: number): Effect.Effect<void, ApiError<"rate_limited">> => {
        if (demands.some(isTooMuch)) return refuse(demands.filter(isTooMuch), now)
        for (const { count, units } of demands) counts.add(count, units)
        return Effect.void
      }

      /** Spends all demanded units, or none. */
      const admit = (demands: ReadonlyArray<Demand>, now: number): Effect.Effect<void, ApiError<"rate_limited">> => {
        const stale = demands.filter(({ count }) => count.fresh_until <= now).map(({ count }) => count)
        return stale.length === 0 ? take(demands, now) : Effect.flatMap(counts.refresh(stale), () => take(demands, now))
      }

      const spend = (caller: Caller, cost: Cost, address: string) =>
        Effect.suspend(() => {
          const now = clock.currentTimeMillisUnsafe()
          return admit(demandsOf(gauges, caller, cost, address, now), now)
        })

      const failing = (address: string, now: number) =>
        gauges.failed_authentication.map((gauge) => demand(gauge, now, directory, address, 1))

      const mayAuthenticate = (address: string) =>
        Effect.suspend(() => {
          const now = clock.currentTimeMillisUnsafe()
          const reached = failing(address, now).filter(isTooMuch)
          return reached.length === 0 ? Effect.void : refuse(reached, now)
        })

      const failedAuthentication = (address: string) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => admit(failing(address, now), now))

      const handingOver = Effect.fnUntraced(function* <A, E, R>(caller: Caller, handOver: Effect.Effect<A, E, R>) {
        const now = yield* Clock.currentTimeMillis
        const { organization_id } = caller
        const demands = gauges.tests_and_replays.map((gauge) => demand(gauge, now, directory, organization_id, 1))
        yield* admit(demands, now)
        const giveBack = Effect.sync(() => {
          for (const { count, units } of demands) counts.add(count, -units)
        })
        return yield* Effect.onError(handOver, () => giveBack)
      })

      return Allowance.of({ spend, mayAuthenticate, failedAuthentication, handingOver })
    })
  )
}

/** One limit and its counts. */
interface Gauge {
  readonly counter: SharedCounts.Counter
  readonly limit: number
  readonly message: string
  readonly refusals: Metric.Counter<number>
}

/** The units that a call needs of one gauge. */
interface Demand {
  readonly gauge: Gauge
  readonly count: SharedCounts.Count
  readonly units: number
}

const demand = (
  gauge: Gauge,
  now: number,
  workspace_id: Caller["workspace_id"],
  who: string,
  units: number
): Demand => ({ gauge, count: gauge.counter.at(now, workspace_id, who), units })

const isTooMuch = ({ gauge, count, units }: Demand): boolean => {
  const used = count.total + count.added
  return used > 0 && used + units > gauge.limit
}

/** Refuses with the limit that ends last. Before that the call would be refused again. */
const refuse = (reached: ReadonlyArray<Demand>, now: number): Effect.Effect<never, ApiError<"rate_limited">> => {
  const longest = reached.reduce((first, second) => (endOf(second) > endOf(first) ? second : first))
  const retry_after_seconds = Math.max(1, Math.ceil((endOf(longest) - now) / second_ms))
  return Effect.andThen(
    Metric.update(longest.gauge.refusals, 1),
    Effect.fail(make("rate_limited", { message: longest.gauge.message, retry_after_seconds }))
  )
}

const endOf = ({ count: { tally } }: Demand): number => tally.window_start + tally.window_ms

type Gauges = ReturnType<typeof gaugesOf>

const gaugesOf = (limits: Limits, counts: SharedCounts.SharedCounts) => {
  const gauges = (name: string, what: string, { per_minute, per_day }: Limit): ReadonlyArray<Gauge> => [
    ...(per_minute === null ? [] : [gaugeOf(counts.counter(name, minute_ms), per_minute, `${what} a minute`)]),
    ...(per_day === null ? [] : [gaugeOf(counts.counter(name, day_ms), per_day, `${what} a day`)])
  ]
  const each = (name: string, what: string, of: Limits["keyless"]) => ({
    start: gauges(`${name} start`, `quote request starts of ${what}`, of.start),
    read: gauges(`${name} read`, `reads of ${what}`, of.read),
    other: gauges(`${name} other`, `other calls of ${what}`, of.other)
  })
  const ofEnvironment = (of: Limits["keyless"]) => ({
    key: each("key", "a key", of),
    organization: each("organization", "an organization", times(limits.organization_factor, of))
  })
  return {
    live: ofEnvironment(limits.keys.live),
    sandbox: ofEnvironment(limits.keys.sandbox),
    keyless: each("address", "an address without a key", limits.keyless),
    failed_authentication: gauges("failed", "failed authentications of an address", limits.failed_authentication),
    tests_and_replays: gauges("tests", "tests and replays of an integration", limits.tests_and_replays)
  }
}

const times = (factor: number, { start, read, other }: Limits["keyless"]): Limits["keyless"] => {
  const more = ({ per_minute, per_day }: Limit): Limit => ({
    per_minute: per_minute === null ? null : per_minute * factor,
    per_day: per_day === null ? null : per_day * factor
  })
  return { start: more(start), read: more(read), other: more(other) }
}

const gaugeOf = (counter: SharedCounts.Counter, limit: number, what: string): Gauge => ({
  counter,
  limit,
  message: `The limit of ${limit} ${what} was reached.`,
  refusals: Metric.withAttributes(refusals, { limit: what })
})

const refusals = Metric.counter("quotewire_rate_limited_total", {
  description: "Calls that were refused, by the limit that was reached.",
  incremental: true
})

const demandsOf = (
  gauges: Gauges,
  { environment, key_id, workspace_id }: Caller,
  cost: Cost,
  address: string,
  now: number
): ReadonlyArray<Demand> => {
  const demands: Array<Demand> = []
  for (const kind of costKinds) {
    const units = cost[kind]
    if (units === undefined) continue
    if (key_id === null) {
      for (const gauge of gauges.keyless[kind]) demands.push(demand(gauge, now, directory, address, units))
    } else {
      const { key, organization } = gauges[environment]
      for (const gauge of key[kind]) demands.push(demand(gauge, now, workspace_id, key_id, units))
      for (const gauge of organization[kind]) demands.push(demand(gauge, now, workspace_id, workspace_id, units))
    }
  }
  return demands
}

import { Clock, Context, Effect, Layer, Metric } from "effect"
import { directoryWorkspace, Storage } from "../../storage/Storage.ts"
import { type ApiError, make } from "../../wire/ApiError.ts"
import type { OperatorTokenId } from "../../wire/Ids.ts"
import { dayMs, minuteMs, secondMs } from "../../wire/Timestamp.ts"
import type { Caller } from "../Caller.ts"
import { type Cost, costKinds, type Limit, type Limits, operatorLimit, standardLimits } from "./Limits.ts"
import { type Count, type Counter, makeSharedCounts, type SharedCounts } from "./SharedCounts.ts"

export * from "./Limits.ts"

/** The rate limits of this host. */
export const AllowanceLimits = Context.Reference<Limits>("@quotewire/core/AllowanceLimits", {
  defaultValue: () => standardLimits
})

/**
 * Rate limits per minute and per day of real time, shared by all hosts on one storage backend. Refuses with
 * `rate_limited` (api.md, Rate limits).
 *
 * A refused call is not counted. `Retry-After` is the time until every exhausted limit resets, so a retry after that
 * time succeeds. A call that costs more than an entire limit is allowed if it is the first in its window.
 */
export class Allowance extends Context.Service<
  Allowance,
  {
    /** Charges a call's cost to the limits of its key and organization or, without a key, of its address. */
    readonly spend: (caller: Caller, cost: Cost, address: string) => Effect.Effect<void, ApiError<"rate_limited">>
    /** Counts an operator's call against the limit of the operator's token. */
    readonly spendAsOperator: (token_id: OperatorTokenId) => Effect.Effect<void, ApiError<"rate_limited">>
    /**
     * Refuses an address that has reached its limit of refused keys, as far as this host knows. Does not count
     * anything.
     */
    readonly mayAuthenticate: (address: string) => Effect.Effect<void, ApiError<"rate_limited">>
    /** Counts a refused key against the limit of the client's address. */
    readonly failedAuthentication: (address: string) => Effect.Effect<void, ApiError<"rate_limited">>
    /**
     * Runs a webhook test or a replay, unless the limit on them has been reached. Only tests and replays that succeed
     * count.
     */
    readonly chargeOnSuccess: <A, E, R>(
      caller: Caller,
      run: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | ApiError<"rate_limited">, R>
  }
>()("@quotewire/core/Allowance") {
  static readonly layer: Layer.Layer<Allowance, never, Storage> = Layer.effect(
    Allowance,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const counts = yield* makeSharedCounts(yield* Storage)
      const limitCounters = limitCountersOf(yield* AllowanceLimits, counts)

      const spendFresh = (
        charges: ReadonlyArray<Charge>,
        now: number
      ): Effect.Effect<void, ApiError<"rate_limited">> => {
        if (charges.some(isTooMuch)) return refuse(charges.filter(isTooMuch), now)
        for (const { count, units } of charges) counts.add(count, units)
        return Effect.void
      }

      const spendAll = (charges: ReadonlyArray<Charge>, now: number): Effect.Effect<void, ApiError<"rate_limited">> => {
        const stale = charges.filter(({ count }) => count.fresh_until <= now)
        return stale.length === 0
          ? spendFresh(charges, now)
          : Effect.flatMap(counts.refresh(stale.map(({ count }) => count)), () => spendFresh(charges, now))
      }

      const spend = (caller: Caller, cost: Cost, address: string) =>
        Effect.suspend(() => {
          const now = clock.currentTimeMillisUnsafe()
          return spendAll(chargesOf(limitCounters, caller, { cost, address, now }), now)
        })

      const spendAsOperator = (token_id: OperatorTokenId) =>
        Effect.suspend(() => {
          const now = clock.currentTimeMillisUnsafe()
          return spendAll(chargesFor(limitCounters.operator, payerOutside(token_id), 1, now), now)
        })

      const failing = (address: string, now: number) =>
        chargesFor(limitCounters.failed_authentication, payerOutside(address), 1, now)

      const mayAuthenticate = (address: string) =>
        Effect.suspend(() => {
          const now = clock.currentTimeMillisUnsafe()
          const reached = failing(address, now).filter(isTooMuch)
          return reached.length === 0 ? Effect.void : refuse(reached, now)
        })

      const failedAuthentication = (address: string) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => spendAll(failing(address, now), now))

      const chargeOnSuccess = Effect.fnUntraced(function* <A, E, R>(caller: Caller, run: Effect.Effect<A, E, R>) {
        const now = yield* Clock.currentTimeMillis
        const charges = chargesFor(limitCounters.tests_and_replays, payerOutside(caller.organization_id), 1, now)
        yield* spendAll(charges, now)
        const refund = Effect.sync(() => {
          for (const { count, units } of charges) counts.add(count, -units)
        })
        return yield* Effect.onError(run, () => refund)
      })

      return Allowance.of({ spend, spendAsOperator, mayAuthenticate, failedAuthentication, chargeOnSuccess })
    })
  )
}

/**
 * The allowance for calls by the embedding program itself. These calls are free, except that webhook tests and replays
 * are charged, to protect webhook receivers.
 */
const freeOfCharge = (allowance: Allowance["Service"]): Allowance["Service"] => ({
  ...allowance,
  spend: () => Effect.void,
  spendAsOperator: () => Effect.void,
  mayAuthenticate: () => Effect.void,
  failedAuthentication: () => Effect.void
})

/**
 * Runs a call by the embedding program itself without limits, because that program is trusted. The service's limits
 * still apply to callers that arrive through a host.
 */
export const withoutLimits = <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Allowance> =>
  Allowance.use((allowance) => Effect.provideService(call, Allowance, freeOfCharge(allowance)))

/** One limit and its counts. */
interface LimitCounter {
  readonly counter: Counter
  readonly limit: number
  readonly message: string
  readonly refusals: Metric.Counter<number>
}

/** How many units of a limit a call uses. */
interface Charge {
  readonly limitCounter: LimitCounter
  readonly count: Count
  readonly units: number
}

/** To whom a call is charged, and the workspace that keeps the count. */
interface Payer {
  readonly workspace_id: Caller["workspace_id"]
  readonly subject: string
}

/** The charge for a call against each of these limits. */
const chargesFor = (
  limitCounters: ReadonlyArray<LimitCounter>,
  { subject, workspace_id }: Payer,
  units: number,
  now: number
): ReadonlyArray<Charge> =>
  limitCounters.map((limitCounter) => ({
    limitCounter,
    count: limitCounter.counter.at(now, workspace_id, subject),
    units
  }))

/** A payer outside any workspace. The directory keeps its counts. */
const payerOutside = (subject: string): Payer => ({ workspace_id: directoryWorkspace, subject })

const isTooMuch = ({ limitCounter, count, units }: Charge): boolean => {
  const used = count.total + count.added
  return used > 0 && used + units > limitCounter.limit
}

/**
 * Refuses the call. `Retry-After` is the time until the last of the exhausted limits resets, because an earlier retry
 * would also be refused.
 */
const refuse = (charges: ReadonlyArray<Charge>, now: number): Effect.Effect<never, ApiError<"rate_limited">> => {
  const longest = charges.reduce((a, b) => (endOf(b) > endOf(a) ? b : a))
  const retry_after_seconds = Math.max(1, Math.ceil((endOf(longest) - now) / secondMs))
  return Effect.andThen(
    Metric.update(longest.limitCounter.refusals, 1),
    Effect.fail(make("rate_limited", { message: longest.limitCounter.message, retry_after_seconds }))
  )
}

const endOf = ({ count: { addition } }: Charge): number => addition.window_start + addition.window_ms

type LimitCounters = ReturnType<typeof limitCountersOf>

/** How messages, and the metric's `limit` label, describe what is limited. The labels must never change. */
interface LimitedCaller {
  readonly calls: string
  readonly per: string
  readonly label: string
}

const limitCountersOf = (limits: Limits, counts: SharedCounts) => {
  const limitCounters = (
    name: string,
    { calls, label, per }: LimitedCaller,
    { per_minute, per_day }: Limit
  ): ReadonlyArray<LimitCounter> => {
    const counterOf = (
      limit: number | null,
      window_ms: number,
      unit: "minute" | "day"
    ): ReadonlyArray<LimitCounter> => {
      if (limit === null) return []
      const counter = counts.counter(name, window_ms)
      const message = `The limit of ${limit} ${calls} per ${per} per ${unit} was reached.`
      return [
        {
          counter,
          limit,
          message,
          refusals: Metric.withAttributes(refusals, { limit: `${calls} of ${label} a ${unit}` })
        }
      ]
    }
    return [...counterOf(per_minute, minuteMs, "minute"), ...counterOf(per_day, dayMs, "day")]
  }
  const countersOf = (name: string, payer: Omit<LimitedCaller, "calls">, callerLimits: Limits["keyless"]) => ({
    start: limitCounters(`${name} start`, { calls: "quote request starts", ...payer }, callerLimits.start),
    read: limitCounters(`${name} read`, { calls: "reads", ...payer }, callerLimits.read),
    other: limitCounters(`${name} other`, { calls: "other calls", ...payer }, callerLimits.other)
  })
  const ofEnvironment = (callerLimits: Limits["keyless"]) => ({
    key: countersOf("key", { per: "key", label: "a key" }, callerLimits),
    organization: countersOf(
      "organization",
      { per: "organization", label: "an organization" },
      times(limits.organization_factor, callerLimits)
    )
  })
  return {
    live: ofEnvironment(limits.keys.live),
    sandbox: ofEnvironment(limits.keys.sandbox),
    keyless: countersOf(
      "address",
      { per: "unauthenticated address", label: "an address without a key" },
      limits.keyless
    ),
    failed_authentication: limitCounters(
      "failed",
      { calls: "failed authentications", per: "address", label: "an address" },
      limits.failed_authentication
    ),
    operator: limitCounters(
      "operator",
      { calls: "calls", per: "operator's token", label: "an operator's token" },
      limits.operator ?? operatorLimit
    ),
    tests_and_replays: limitCounters(
      "tests",
      { calls: "tests and replays", per: "integration", label: "an integration" },
      limits.tests_and_replays
    )
  }
}

const times = (factor: number, { start, read, other }: Limits["keyless"]): Limits["keyless"] => {
  const scale = ({ per_minute, per_day }: Limit): Limit => ({
    per_minute: per_minute === null ? null : per_minute * factor,
    per_day: per_day === null ? null : per_day * factor
  })
  return { start: scale(start), read: scale(read), other: scale(other) }
}

const refusals = Metric.counter("quotewire_rate_limited_total", {
  description: "Calls that were refused, by the limit that was reached.",
  incremental: true
})

/** The services and settings for charging a call. */
interface Spending {
  readonly cost: Cost
  readonly address: string
  readonly now: number
}

const chargesOf = (
  limitCounters: LimitCounters,
  { environment, key_id, workspace_id }: Caller,
  { address, cost, now }: Spending
): ReadonlyArray<Charge> => {
  const charges: Array<Charge> = []
  const add = (counters: ReadonlyArray<LimitCounter>, payer: Payer, units: number) =>
    void charges.push(...chargesFor(counters, payer, units, now))
  for (const kind of costKinds) {
    const units = cost[kind]
    if (units === undefined) continue
    if (key_id === null) {
      add(limitCounters.keyless[kind], payerOutside(address), units)
      continue
    }
    const { key, organization } = limitCounters[environment]
    add(key[kind], { workspace_id, subject: key_id }, units)
    add(organization[kind], { workspace_id, subject: workspace_id }, units)
  }
  return charges
}

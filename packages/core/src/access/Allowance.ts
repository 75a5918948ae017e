import { Clock, Context, Effect, Layer } from "effect"
import { type ApiError, make } from "../ApiError.ts"
import type { Caller, Environment } from "./Caller.ts"

/** What a call counts as (api.md, Limits). `none` is free. */
export type Cost = "start" | "read" | "other" | "none"

/** Calls per minute and per day; null where there is no limit. */
export interface Limit {
  readonly per_minute: number | null
  readonly per_day: number | null
}

/** The limits of a host. An organization has five times what a key has. */
export interface Limits {
  readonly keys: { readonly [E in Environment]: { readonly [C in Exclude<Cost, "none">]: Limit } }
  readonly organization_factor: number
  /** Each address that calls without a key. */
  readonly keyless: { readonly [C in Exclude<Cost, "none">]: Limit }
  /** Each address whose key was refused. */
  readonly failed_authentication: Limit
  /** Tests and replays that an organization hands to delivery, in both environments together. */
  readonly tests_and_replays: Limit
}

const perMinute = (per_minute: number, per_day: number | null = null): Limit => ({ per_minute, per_day })

/** The limits that the contract names. */
export const standardLimits: Limits = {
  keys: {
    live: { start: perMinute(60), read: perMinute(600), other: perMinute(120) },
    sandbox: { start: perMinute(60, 2_000), read: perMinute(600, 50_000), other: perMinute(120, 10_000) }
  },
  organization_factor: 5,
  keyless: { start: perMinute(10), read: perMinute(120), other: perMinute(120) },
  failed_authentication: perMinute(60),
  tests_and_replays: perMinute(60)
}

const unlimited: Limit = { per_minute: null, per_day: null }

/** No limits at all: for load tests, and for embedding behind a gateway that has limits of its own. */
export const noLimits: Limits = {
  keys: {
    live: { start: unlimited, read: unlimited, other: unlimited },
    sandbox: { start: unlimited, read: unlimited, other: unlimited }
  },
  organization_factor: 1,
  keyless: { start: unlimited, read: unlimited, other: unlimited },
  failed_authentication: unlimited,
  tests_and_replays: unlimited
}

/** The limits in force. */
export const AllowanceLimits = Context.Reference<Limits>("@quotewire/core/AllowanceLimits", {
  defaultValue: () => standardLimits
})

/**
 * Counts calls in windows of real time, and refuses those over a limit with `rate_limited`.
 *
 * A refused call does not count. `Retry-After` is the time until the window ends, when the call would pass.
 */
export class Allowance extends Context.Service<
  Allowance,
  {
    readonly spend: (caller: Caller, cost: Cost, address: string) => Effect.Effect<void, ApiError<"rate_limited">>
    /** Counts a refused key against its address. */
    readonly failedAuthentication: (address: string) => Effect.Effect<void, ApiError<"rate_limited">>
    /** Hands a test or a replay to delivery; it counts only where that succeeds. */
    readonly handingOver: <A, E, R>(
      caller: Caller,
      handOver: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | ApiError<"rate_limited">, R>
  }
>()("@quotewire/core/Allowance") {
  static readonly layer: Layer.Layer<Allowance> = Layer.effect(
    Allowance,
    Effect.gen(function* () {
      const limits = yield* AllowanceLimits
      const counters = { start: counter(), read: counter(), other: counter(), failed: counter(), handed: counter() }

      const spend = (caller: Caller, cost: Cost, address: string) =>
        cost === "none"
          ? Effect.void
          : Effect.flatMap(Clock.currentTimeMillis, (now) =>
              count(counters[cost], now, claimsOf(limits, caller, cost, address))
            )

      const failedAuthentication = (address: string) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          count(counters.failed, now, [
            { who: address, what: "failed authentications of an address", limit: limits.failed_authentication }
          ])
        )

      const handingOver = Effect.fnUntraced(function* <A, E, R>(caller: Caller, handOver: Effect.Effect<A, E, R>) {
        const now = yield* Clock.currentTimeMillis
        const claims: ReadonlyArray<Claim> = [
          { who: caller.organization_id, what: "tests and replays of an integration", limit: limits.tests_and_replays }
        ]
        yield* count(counters.handed, now, claims)
        return yield* Effect.onError(handOver, () => Effect.sync(() => giveBack(counters.handed, now, claims)))
      })

      return Allowance.of({ spend, failedAuthentication, handingOver })
    })
  )
}

interface Claim {
  readonly who: string
  readonly what: string
  readonly limit: Limit
}

/** The counts of one kind of call, by who calls. */
const counter = () => ({ minutes: windows(60_000), days: windows(86_400_000) })

const count = (
  { minutes, days }: ReturnType<typeof counter>,
  now: number,
  claims: ReadonlyArray<Claim>
): Effect.Effect<void, ApiError<"rate_limited">> => {
  const reached =
    claims.find((claim) => days.isFull(now, claim.who, claim.limit.per_day)) ??
    claims.find((claim) => minutes.isFull(now, claim.who, claim.limit.per_minute))
  if (reached === undefined) {
    for (const claim of claims) {
      if (claim.limit.per_minute !== null) minutes.add(now, claim.who)
      if (claim.limit.per_day !== null) days.add(now, claim.who)
    }
    return Effect.void
  }
  // A full day first: what waited for the next minute would be refused again.
  const day = days.isFull(now, reached.who, reached.limit.per_day)
  const allowed = day ? reached.limit.per_day : reached.limit.per_minute
  return Effect.fail(
    make("rate_limited", {
      message: `The limit of ${allowed} ${reached.what} a ${day ? "day" : "minute"} was reached.`,
      retry_after_seconds: Math.max(1, Math.ceil((day ? days : minutes).left(now) / 1_000))
    })
  )
}

/** Takes back what was counted at a moment. */
const giveBack = ({ minutes, days }: ReturnType<typeof counter>, at: number, claims: ReadonlyArray<Claim>): void => {
  for (const claim of claims) {
    if (claim.limit.per_minute !== null) minutes.remove(at, claim.who)
    if (claim.limit.per_day !== null) days.remove(at, claim.who)
  }
}

const nouns = { start: "quote request starts", read: "reads", other: "other calls" } as const

const claimsOf = (
  limits: Limits,
  caller: Caller,
  cost: Exclude<Cost, "none">,
  address: string
): ReadonlyArray<Claim> => {
  const noun = nouns[cost]
  if (caller.key_id === null) {
    return [{ who: address, what: `${noun} of an address without a key`, limit: limits.keyless[cost] }]
  }
  const limit = limits.keys[caller.environment][cost]
  const times = (value: number | null) => (value === null ? null : value * limits.organization_factor)
  return [
    { who: caller.key_id, what: `${noun} of a key`, limit },
    {
      who: caller.workspace_id,
      what: `${noun} of an organization`,
      limit: { per_minute: times(limit.per_minute), per_day: times(limit.per_day) }
    }
  ]
}

/** Counts by name in windows of one length; all counts of a window are dropped when it has ended. */
const windows = (length_ms: number) => {
  let started = Number.NEGATIVE_INFINITY
  let counts = new Map<string, number>()
  const roll = (now: number): void => {
    const start = now - (now % length_ms)
    if (start === started) return
    started = start
    counts = new Map()
  }
  return {
    isFull: (now: number, who: string, limit: number | null): boolean => {
      roll(now)
      return limit !== null && (counts.get(who) ?? 0) >= limit
    },
    add: (now: number, who: string): void => {
      roll(now)
      counts.set(who, (counts.get(who) ?? 0) + 1)
    },
    /** Counts one less, unless the window of that moment has ended. */
    remove: (at: number, who: string): void => {
      if (at - (at % length_ms) === started) counts.set(who, Math.max(0, (counts.get(who) ?? 0) - 1))
    },
    left: (now: number): number => length_ms - (now % length_ms)
  }
}

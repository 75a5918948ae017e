import { Array, Clock, Context, Deferred, Effect, Latch, Layer, Metric, type Scope } from "effect"
import { directoryWorkspace, Storage, type Tally } from "../storage/Storage.ts"
import { type ApiError, make } from "../wire/ApiError.ts"
import type { OperatorTokenId, WorkspaceId } from "../wire/Ids.ts"
import { dayMs, minuteMs, secondMs } from "../wire/Timestamp.ts"
import type { Caller } from "./Caller.ts"
import { type Cost, costKinds, type Limit, type Limits, standardLimits } from "./Limits.ts"

export * from "./Limits.ts"

/** The rate limits of this host. */
export const AllowanceLimits = Context.Reference<Limits>("@quotewire/core/AllowanceLimits", {
  defaultValue: () => standardLimits
})

/**
 * Rate limits per minute and per day of real time, shared by all hosts on one storage. Refuses with `rate_limited`
 * (api.md, Rate limits).
 *
 * A refused call does not count. `Retry-After` is the time until every exhausted limit resets, so that the retry
 * passes. A call that costs more than an entire limit passes if it is the first of its window.
 */
export class Allowance extends Context.Service<
  Allowance,
  {
    /** Spends the cost of a call from the limits of its key and organization, or of its address. */
    readonly spend: (caller: Caller, cost: Cost, address: string) => Effect.Effect<void, ApiError<"rate_limited">>
    /** Counts a call of an operator against the limit of its token. */
    readonly spendAsOperator: (token_id: OperatorTokenId) => Effect.Effect<void, ApiError<"rate_limited">>
    /** Refuses an address that has reached its limit of refused keys, as far as this host knows. Counts nothing. */
    readonly mayAuthenticate: (address: string) => Effect.Effect<void, ApiError<"rate_limited">>
    /** Counts a refused key against its address. */
    readonly failedAuthentication: (address: string) => Effect.Effect<void, ApiError<"rate_limited">>
    /** Runs a test or a replay within its limit. It counts only if it succeeds. */
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

      /** Spends all charges, or none. */
      const spendAll = (charges: ReadonlyArray<Charge>, now: number): Effect.Effect<void, ApiError<"rate_limited">> => {
        const stale = charges.filter(({ count }) => count.fresh_until <= now).map(({ count }) => count)
        return stale.length === 0
          ? spendFresh(charges, now)
          : Effect.flatMap(counts.refresh(stale), () => spendFresh(charges, now))
      }

      const spend = (caller: Caller, cost: Cost, address: string) =>
        Effect.suspend(() => {
          const now = clock.currentTimeMillisUnsafe()
          return spendAll(chargesOf(limitCounters, caller, cost, address, now), now)
        })

      const spendAsOperator = (token_id: OperatorTokenId) =>
        Effect.suspend(() => {
          const now = clock.currentTimeMillisUnsafe()
          const charges = limitCounters.operator.map((limitCounter) =>
            charge(limitCounter, now, directoryWorkspace, token_id, 1)
          )
          return spendAll(charges, now)
        })

      const failing = (address: string, now: number) =>
        limitCounters.failed_authentication.map((limitCounter) =>
          charge(limitCounter, now, directoryWorkspace, address, 1)
        )

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
        const { organization_id } = caller
        const charges = limitCounters.tests_and_replays.map((limitCounter) =>
          charge(limitCounter, now, directoryWorkspace, organization_id, 1)
        )
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
 * The allowance for the program's own calls, which cost nothing. Only tests and replays are charged, to protect webhook
 * receivers.
 */
const freeOfCharge = (allowance: Allowance["Service"]): Allowance["Service"] => ({
  ...allowance,
  spend: () => Effect.void,
  spendAsOperator: () => Effect.void,
  mayAuthenticate: () => Effect.void,
  failedAuthentication: () => Effect.void
})

/**
 * Runs a call of the program itself without limits, because it is trusted. Callers of hosts on the same service have
 * limits.
 */
export const withoutLimits = <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Allowance> =>
  Effect.flatMap(Allowance, (allowance) => Effect.provideService(call, Allowance, freeOfCharge(allowance)))

/** One limit and its counts. */
interface LimitCounter {
  readonly counter: Counter
  readonly limit: number
  readonly message: string
  readonly refusals: Metric.Counter<number>
}

/** How many units of one limit a call needs. */
interface Charge {
  readonly limitCounter: LimitCounter
  readonly count: Count
  readonly units: number
}

const charge = (
  limitCounter: LimitCounter,
  now: number,
  workspaceId: Caller["workspace_id"],
  subject: string,
  units: number
): Charge => ({ limitCounter, count: limitCounter.counter.at(now, workspaceId, subject), units })

const isTooMuch = ({ limitCounter, count, units }: Charge): boolean => {
  const used = count.total + count.added
  return used > 0 && used + units > limitCounter.limit
}

/** Refuses with the limit that resets last: until then a retry would be refused as well. */
const refuse = (reached: ReadonlyArray<Charge>, now: number): Effect.Effect<never, ApiError<"rate_limited">> => {
  const longest = reached.reduce((first, second) => (endOf(second) > endOf(first) ? second : first))
  const retry_after_seconds = Math.max(1, Math.ceil((endOf(longest) - now) / secondMs))
  return Effect.andThen(
    Metric.update(longest.limitCounter.refusals, 1),
    Effect.fail(make("rate_limited", { message: longest.limitCounter.message, retry_after_seconds }))
  )
}

const endOf = ({ count: { tally } }: Charge): number => tally.window_start + tally.window_ms

type LimitCounters = ReturnType<typeof limitCountersOf>

const limitCountersOf = (limits: Limits, counts: SharedCounts) => {
  const limitCounters = (name: string, what: string, { per_minute, per_day }: Limit): ReadonlyArray<LimitCounter> => [
    ...(per_minute === null ? [] : [limitCounterOf(counts.counter(name, minuteMs), per_minute, `${what} a minute`)]),
    ...(per_day === null ? [] : [limitCounterOf(counts.counter(name, dayMs), per_day, `${what} a day`)])
  ]
  const each = (name: string, what: string, of: Limits["keyless"]) => ({
    start: limitCounters(`${name} start`, `quote request starts of ${what}`, of.start),
    read: limitCounters(`${name} read`, `reads of ${what}`, of.read),
    other: limitCounters(`${name} other`, `other calls of ${what}`, of.other)
  })
  const ofEnvironment = (of: Limits["keyless"]) => ({
    key: each("key", "a key", of),
    organization: each("organization", "an organization", times(limits.organization_factor, of))
  })
  return {
    live: ofEnvironment(limits.keys.live),
    sandbox: ofEnvironment(limits.keys.sandbox),
    keyless: each("address", "an address without a key", limits.keyless),
    failed_authentication: limitCounters(
      "failed",
      "failed authentications of an address",
      limits.failed_authentication
    ),
    operator: limitCounters("operator", "calls of an operator's token", limits.operator),
    tests_and_replays: limitCounters("tests", "tests and replays of an integration", limits.tests_and_replays)
  }
}

const times = (factor: number, { start, read, other }: Limits["keyless"]): Limits["keyless"] => {
  const more = ({ per_minute, per_day }: Limit): Limit => ({
    per_minute: per_minute === null ? null : per_minute * factor,
    per_day: per_day === null ? null : per_day * factor
  })
  return { start: more(start), read: more(read), other: more(other) }
}

const limitCounterOf = (counter: Counter, limit: number, what: string): LimitCounter => ({
  counter,
  limit,
  message: `The limit of ${limit} ${what} was reached.`,
  refusals: Metric.withAttributes(refusals, { limit: what })
})

const refusals = Metric.counter("quotewire_rate_limited_total", {
  description: "Calls that were refused, by the limit that was reached.",
  incremental: true
})

const chargesOf = (
  limitCounters: LimitCounters,
  { environment, key_id, workspace_id }: Caller,
  cost: Cost,
  address: string,
  now: number
): ReadonlyArray<Charge> => {
  const charges: Array<Charge> = []
  for (const kind of costKinds) {
    const units = cost[kind]
    if (units === undefined) continue
    if (key_id === null) {
      for (const limitCounter of limitCounters.keyless[kind])
        charges.push(charge(limitCounter, now, directoryWorkspace, address, units))
    } else {
      const { key, organization } = limitCounters[environment]
      for (const limitCounter of key[kind]) charges.push(charge(limitCounter, now, workspace_id, key_id, units))
      for (const limitCounter of organization[kind])
        charges.push(charge(limitCounter, now, workspace_id, workspace_id, units))
    }
  }
  return charges
}

/** How often counts are sent to storage, for the other hosts. */
const intervalMs = secondMs / 4
/** How long a total from storage is used. After that it is read again before any decision. */
const freshMs = secondMs - intervalMs
/** The longest that a call waits for that read. After it, the call is decided with what this host knows. */
const maxWaitMs = 250
/** How much the clocks of hosts may differ: no window ends in storage while a slow clock still counts in it. */
const skewMs = minuteMs
/** How many counts are sent at once. */
const maxBatch = 500
/**
 * How many counts of one kind are kept. Beyond that the oldest is dropped, and read from storage when it is needed
 * again.
 */
const maxCounts = 100_000
/** How long a stop waits until the last counts are sent. */
const flushMs = secondMs

/** The count of one window of real time, as this host knows it. */
interface Count {
  readonly tally: Omit<Tally, "added">
  /** The total of all hosts when storage was last read. */
  total: number
  /** What this host has added since. */
  added: number
  /** When `total` must be read again, in milliseconds of real time. */
  fresh_until: number
}

/** Counts of one kind, by name. */
interface Counter {
  /** The count of the current window. Windows begin at whole minutes and days, the same on all hosts. */
  readonly at: (now: number, workspace_id: WorkspaceId, subject: string) => Count
}

/**
 * Counts that all hosts on one storage share.
 *
 * A host counts in memory and sends its counts to storage in the background; calls do not wait for that. Decisions use
 * a total that is at most a second old: if it is older, the call waits for one read, which all waiting calls share.
 * While storage is unavailable, a host decides with what it knows and sends its counts later. If the response to a send
 * is lost, its counts may be added twice.
 */
interface SharedCounts {
  readonly counter: (name: string, window_ms: number) => Counter
  /** Adds units, or subtracts them. */
  readonly add: (count: Count, units: number) => void
  /** Waits until these counts are fresh. */
  readonly refresh: (counts: ReadonlyArray<Count>) => Effect.Effect<void>
}

/** Shared counts on a storage. Unsent counts are sent when the scope closes. */
const makeSharedCounts = Effect.fnUntraced(function* (
  storage: Storage["Service"]
): Effect.fn.Return<SharedCounts, never, Scope.Scope> {
  const unsent = new Set<Count>()
  const begun = Latch.makeUnsafe()
  const asked = Latch.makeUnsafe()
  let answered = Deferred.makeUnsafe<void>()

  const send = Effect.fnUntraced(function* (batch: ReadonlyArray<Count>) {
    const now = yield* Clock.currentTimeMillis
    const tallies = batch.map(({ tally, added }) => ({ ...tally, added }))
    const totals = yield* storage.addCounts(now - skewMs, tallies)
    for (const [i, count] of batch.entries()) {
      count.total = totals[i] ?? count.total
      count.added -= tallies[i]?.added ?? 0
      count.fresh_until = now + freshMs
      if (count.added === 0) unsent.delete(count)
    }
  })

  /** Sends a batch. If storage refuses it, sends each count alone and forgets those that are refused. */
  const sendBatch = (batch: ReadonlyArray<Count>) =>
    Effect.catchDefect(send(batch), () => Effect.forEach(batch, sendAlone, { discard: true }))

  const sendAlone = (count: Count) =>
    Effect.catchDefect(send([count]), (defect) =>
      Effect.andThen(
        Effect.sync(() => unsent.delete(count)),
        Effect.logError("Could not share a count", defect)
      )
    )

  /** Storage is unavailable: decide with what is known, and send the counts later. */
  const continueWithoutStorage = Effect.map(Clock.currentTimeMillis, (now) => {
    for (const count of unsent) {
      count.fresh_until = now + freshMs
      const { window_start, window_ms } = count.tally
      if (count.added === 0 || window_start + window_ms + skewMs <= now) unsent.delete(count)
    }
  })

  const sync = Effect.suspend(() => {
    const done = answered
    answered = Deferred.makeUnsafe()
    return Effect.forEach(Array.chunksOf(unsent, maxBatch), sendBatch, { discard: true }).pipe(
      Effect.catch(() => continueWithoutStorage),
      Effect.ensuring(Deferred.succeed(done, undefined))
    )
  })

  const turn = Effect.gen(function* () {
    if (unsent.size === 0) yield* begun.await
    yield* begun.close
    yield* Effect.timeoutOption(asked.await, intervalMs)
    yield* asked.close
    yield* sync
  })

  const refresh = Effect.fnUntraced(function* (counts: ReadonlyArray<Count>) {
    const done = answered
    // Before waking anyone, because woken fibers may run at once.
    for (const count of counts) unsent.add(count)
    begun.openUnsafe()
    asked.openUnsafe()
    const known = yield* Effect.timeoutOption(Deferred.await(done), maxWaitMs)
    if (known._tag === "Some") return
    const now = yield* Clock.currentTimeMillis
    for (const count of counts) count.fresh_until = now + freshMs
  })

  // Registered before the loop, so it runs after the loop was interrupted.
  yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.interruptible(sync), flushMs))
  yield* Effect.forkScoped(Effect.forever(turn))

  return {
    counter: (name, windowMs) => counterOf(name, windowMs, (forgotten) => unsent.delete(forgotten)),
    add: (count, units) => {
      count.added += units
      unsent.add(count)
      if (unsent.size === 1) begun.openUnsafe()
    },
    refresh
  }
})

const counterOf = (name: string, window_ms: number, forget: (count: Count) => void): Counter => {
  let window_start = Number.NEGATIVE_INFINITY
  let counts = new Map<string, Count>()

  const roll = (now: number): void => {
    const start = now - (now % window_ms)
    // If the clock was set back a little, keep counting in the current window.
    if (start === window_start || start === window_start - window_ms) return
    window_start = start
    counts = new Map()
  }

  const begin = (workspace_id: WorkspaceId, subject: string): Count => {
    if (counts.size >= maxCounts) {
      for (const [oldest, count] of counts) {
        counts.delete(oldest)
        forget(count)
        break
      }
    }
    const tally = { workspace_id, name: `${name} ${subject}`, window_start, window_ms }
    const count: Count = { tally, total: 0, added: 0, fresh_until: Number.NEGATIVE_INFINITY }
    counts.set(subject, count)
    return count
  }

  return {
    at: (now, workspaceId, subject) => {
      roll(now)
      return counts.get(subject) ?? begin(workspaceId, subject)
    }
  }
}

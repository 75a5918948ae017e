import { assert } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Clock, Context, Effect, Exit, Layer, Scope } from "effect"
import type { Caller } from "../../src/access/Caller.ts"
import {
  Allowance,
  AllowanceLimits,
  type Cost,
  type Limits,
  standardLimits
} from "../../src/access/limits/Allowance.ts"
import { type CountAddition, Storage, StorageUnavailable } from "../../src/storage/Storage.ts"
import { KeyId, OrganizationId, WorkspaceId } from "../../src/wire/Ids.ts"

const body = (digit: number) => String(digit).repeat(26)

/** A caller with one of ten keys, in one of ten organizations. */
export const caller = (digit: number, workspace = 0): Caller => ({
  kind: "server",
  environment: "live",
  organization_id: OrganizationId.make(`org_${body(workspace)}`),
  workspace_id: WorkspaceId.make(`wks_${body(workspace)}`),
  key_id: KeyId.make(`key_${body(digit)}`),
  read_handle: null
})

/** The storage that the hosts share. It can be unavailable or slow, and counts its calls. */
export const shared = Effect.gen(function* () {
  const storage = Context.get(yield* Layer.build(MemoryStorage.layer), Storage)
  const state = { isAway: false, delay_ms: 0, tallied: [] as ReadonlyArray<CountAddition>[] }
  const service: Storage["Service"] = {
    ...storage,
    addCounts: (now, additions) =>
      Effect.gen(function* () {
        if (state.isAway) return yield* new StorageUnavailable({ retry_after_seconds: 1 })
        if (state.delay_ms > 0) yield* Effect.sleep(state.delay_ms)
        state.tallied.push(additions)
        return yield* storage.addCounts(now, additions)
      })
  }
  return { state, service }
})

interface HostOptions {
  readonly limits?: Limits
  /** How far ahead this host's clock is. */
  readonly ahead_ms?: number
}

/** A host, and how it is stopped. */
export const host = Effect.fnUntraced(function* (storage: Storage["Service"], options: HostOptions = {}) {
  const scope = yield* Effect.acquireRelease(Scope.make(), (opened) => Scope.close(opened, Exit.void))
  const { limits = standardLimits, ahead_ms = 0 } = options
  const clock = yield* Clock.Clock
  const skewed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provideService(effect, Clock.Clock, {
      ...clock,
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + ahead_ms,
      currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + ahead_ms)
    })
  const layer = Allowance.layer.pipe(
    Layer.provide(Layer.succeed(Storage, storage)),
    Layer.provide(Layer.succeed(AllowanceLimits, limits))
  )
  const allowance = Context.get(yield* skewed(Layer.buildWithScope(Layer.fresh(layer), scope)), Allowance)
  const spend = (cost: Cost, as = caller(1)) => skewed(allowance.spend(as, cost, "192.0.2.1"))
  return {
    spend,
    /** Repeats a call until it is refused. Returns the number of successes. */
    exhaust: (cost: Cost, as = caller(1)) =>
      Effect.gen(function* () {
        for (let passed = 0; passed < 10_000; passed++) {
          if (Exit.isFailure(yield* Effect.exit(spend(cost, as)))) return passed
        }
        return assert.fail("no limit was reached")
      }),
    failed: (address: string) => skewed(allowance.failedAuthentication(address)),
    stop: Scope.close(scope, Exit.void)
  }
})

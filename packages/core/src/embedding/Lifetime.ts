import { Effect, Exit, type ManagedRuntime, Scope } from "effect"
import type { Sleep } from "../client/retryPause.ts"
import { releaseLongPolls } from "../hostApi.ts"
import type { Services } from "../Quotewire.ts"
import type { Storage } from "../storage/Storage.ts"
import type { Embedded } from "./Embedded.ts"
import { closed, valueOf } from "./rejections.ts"
import { ClosingScope } from "./whenClosing.ts"

/** Runs calls and effects in an embedded service, and closes the service. */
export interface Lifetime {
  /** Runs a call, which `signal` can interrupt. `close` waits for the call. */
  readonly call: <A, E>(effect: Effect.Effect<A, E, Services | Storage>, signal?: AbortSignal) => Promise<A>
  /** Runs an effect. `close` releases what the effect has acquired. */
  readonly run: Embedded["run"]
  /** Waits for a number of milliseconds. `close` does not wait for a sleep to end. */
  readonly sleep: Sleep
  /**
   * Closes the service. `stop` stops what the program itself has started, such as consumers. `stop` runs within the
   * grace period.
   */
  readonly close: (stop: () => Promise<unknown>) => Promise<void>
}

/**
 * Makes the lifetime of a service that runs in `runtime`.
 *
 * `close` first drains the service: new calls are refused, long polls return, and running calls get the grace period.
 * Then it releases the resources.
 */
export const begin = (runtime: ManagedRuntime.ManagedRuntime<Services | Storage, Error>, graceMs: number): Lifetime => {
  const running = new Set<Promise<unknown>>()
  const scope = Scope.makeUnsafe()
  const closingScope = Scope.makeUnsafe("parallel")
  let closing: Promise<void> | null = null

  const start = <A, E>(effect: Effect.Effect<A, E, Services | Storage>, signal?: AbortSignal) => {
    if (closing !== null) throw closed()
    return runtime.runPromiseExit(effect, signal === undefined ? {} : { signal })
  }

  const call: Lifetime["call"] = async (effect, signal) => {
    const started = start(effect, signal)
    running.add(started)
    const exit = await started
    running.delete(started)
    return valueOf(exit, signal)
  }

  const end = async (stop: () => Promise<unknown>) => {
    // This grace period does not limit `stopped`, because handlers such as `nodeHandler` have their own grace periods.
    const stopped = Effect.runPromise(Scope.close(closingScope, Exit.void))
    const finish = Effect.promise(() => Promise.all([runtime.runPromiseExit(releaseLongPolls), stop(), ...running]))
    await Effect.runPromise(Effect.timeoutOption(finish, graceMs))
    await stopped
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await runtime.dispose()
  }

  return {
    call,
    run: (effect) => call(Effect.provideService(Scope.provide(effect, scope), ClosingScope, closingScope)),
    // Does not use `call`, because `close` would wait for the sleep.
    sleep: async (ms, signal) => valueOf(await start(Effect.sleep(ms), signal), signal),
    close: (stop) => (closing ??= end(stop))
  }
}

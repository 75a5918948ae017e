import { Effect, Exit, type ManagedRuntime, Scope } from "effect"
import type { Sleep } from "../client/Sleep.ts"
import { releaseLongPolls } from "../hosting.ts"
import type { Services } from "../layer.ts"
import type { Storage } from "../storage/Storage.ts"
import type { Embedded } from "./Embedded.ts"
import { closed, valueOf } from "./rejections.ts"
import { ClosingScope } from "./whenClosing.ts"

/** What a program runs in an embedded service, until it closes the service. */
export interface Lifetime {
  /** Runs a call, which its signal interrupts. `close` waits for it. */
  readonly call: <A, E>(effect: Effect.Effect<A, E, Services | Storage>, signal?: AbortSignal) => Promise<A>
  /** Runs an effect. What it acquires is released by `close`. */
  readonly run: Embedded["run"]
  /** Pauses. `close` does not wait for the end of a pause. */
  readonly sleep: Sleep
  /** Ends the service. `stop` runs together with everything that ends at once. */
  readonly close: (stop: () => Promise<unknown>) => Promise<void>
}

/**
 * Begins the life of a service.
 *
 * It ends in two steps. First nothing new begins: calls and handlers refuse, long polls return, and what runs has its grace.
 * Then the resources are released.
 */
export const begin = (
  runtime: ManagedRuntime.ManagedRuntime<Services | Storage, Error>,
  grace_ms: number
): Lifetime => {
  const running = new Set<Promise<unknown>>()
  const scope = Scope.makeUnsafe()
  const closing_scope = Scope.makeUnsafe("parallel")
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
    // Handlers have graces of their own.
    const stopped = Effect.runPromise(Scope.close(closing_scope, Exit.void))
    const finish = Effect.promise(() => Promise.all([runtime.runPromiseExit(releaseLongPolls), stop(), ...running]))
    await Effect.runPromise(Effect.timeoutOption(finish, grace_ms))
    await stopped
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await runtime.dispose()
  }

  return {
    call,
    run: (effect) => call(Effect.provideService(Scope.provide(effect, scope), ClosingScope, closing_scope)),
    // Not one of the running calls, for which `close` would wait.
    sleep: async (ms, signal) => valueOf(await start(Effect.sleep(ms), signal), signal),
    close: (stop) => (closing ??= end(stop))
  }
}

import { Cause, Effect, Exit, Fiber, Option } from "effect"
import type { Workspace } from "../access/Workspaces.ts"
import * as Fault from "../concurrency/Fault.ts"
import type { Event } from "../events/Event.ts"
import type { ConsumeSettings, EffectEventHandler } from "./ConsumeOptions.ts"

/** Starts the handler for one event, in a fiber. */
export type StartHandler = (...event: Parameters<EffectEventHandler>) => Fiber.Fiber<unknown, unknown>

/** Passes the events of one workspace to the handler, one at a time. */
export interface HandlerRuns {
  /**
   * Makes one attempt. Returns null if the attempt succeeds, and otherwise the class of its error or `timeout`. Logs a
   * failure.
   */
  readonly make: (event: Event, attempt: number) => Effect.Effect<string | null>
  /** Whether an attempt that was cut off is still running, because its handler ignores the signal. */
  readonly isRunning: () => boolean
  /** Waits until no attempt is running. */
  readonly settled: Effect.Effect<void>
}

/** Makes the `HandlerRuns` of one workspace. No attempt has begun yet. */
export const make = (
  start: StartHandler,
  { log_messages, name, timeout_ms }: ConsumeSettings,
  { id: workspace_id, organization_id, environment }: Workspace
): HandlerRuns => {
  let running: Fiber.Fiber<unknown, unknown> | null = null
  const annotations = { consumer: name, workspace_id }

  /** Interrupts an attempt without waiting until it has ended, because the handler may ignore the interruption. */
  const cutOff = (fiber: Fiber.Fiber<unknown, unknown>) => Effect.sync(() => fiber.interruptUnsafe())

  const finish = Effect.fnUntraced(function* (fiber: Fiber.Fiber<unknown, unknown>) {
    running = fiber
    fiber.addObserver(() => {
      if (running === fiber) running = null
    })
    const exit = yield* Effect.onInterrupt(Effect.timeoutOption(Fiber.await(fiber), timeout_ms), () => cutOff(fiber))
    if (Option.isNone(exit)) yield* cutOff(fiber)
    return Option.getOrNull(exit)
  })

  return {
    make: Effect.fnUntraced(function* (event, attempt) {
      const logged = { ...annotations, event_id: event.id, event_type: event.type, attempt }
      const fiber = start(event, { organization_id, environment, attempt })
      const exit = fiber.pollUnsafe() ?? (yield* finish(fiber))
      if (exit !== null && Exit.isSuccess(exit)) return null
      const log =
        exit === null
          ? Effect.logWarning(`An event handler timed out after ${timeout_ms} ms`)
          : (log_messages ? Fault.logWithMessages : Fault.log)("An event handler failed", exit.cause)
      yield* Effect.annotateLogs(log, logged)
      return exit === null ? "timeout" : Fault.classOf(Cause.squash(exit.cause))
    }),
    isRunning: () => running !== null,
    settled: Effect.suspend(() => {
      if (running === null) return Effect.void
      const warning = "An event handler ignores its abort signal; the workspace waits until the handler returns"
      return Effect.andThen(
        Effect.annotateLogs(Effect.logWarning(warning), annotations),
        Effect.asVoid(Fiber.await(running))
      )
    })
  }
}

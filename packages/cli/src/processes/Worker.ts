import { Metrics } from "@quotewire/http"
import { Deferred, Effect, type Scope } from "effect"
import type { CommandFailed, WrongUsage } from "../settings/CommandErrors.ts"
import * as Messages from "./Messages.ts"

/** How long to wait for the primary to let this process exit, in milliseconds. */
const longestLeaveMs = 1_000

/**
 * Runs a host as a worker until the primary orders the worker to end.
 *
 * Reports to the primary when the host is ready. If the host cannot start, reports the reason instead of failing,
 * because the primary prints it once for all workers.
 */
export const run = <R>(
  host: Effect.Effect<Messages.ReadyMessage, CommandFailed | WrongUsage, R>
): Effect.Effect<void, never, Exclude<R, Scope.Scope>> =>
  Effect.gen(function* () {
    const orders = listen(Effect.runForkWith(yield* Effect.context<never>()))
    const serving = host.pipe(
      Effect.flatMap((ready) => Effect.andThen(report({ _tag: "Ready", host: ready }), Effect.never)),
      Effect.scoped,
      Effect.catch(({ _tag, message }) => report({ _tag: "Refused", message, is_wrong_usage: _tag === "WrongUsage" }))
    )
    yield* Effect.raceFirst(serving, Deferred.await(orders.drain)).pipe(Effect.ensuring(leave(orders.leave)))
  }).pipe(Effect.annotateLogs({ pid: process.pid }))

interface Orders {
  readonly drain: Deferred.Deferred<void>
  readonly leave: Deferred.Deferred<void>
}

const listen = (fork: (effect: Effect.Effect<void>) => unknown): Orders => {
  const orders: Orders = { drain: Deferred.makeUnsafe(), leave: Deferred.makeUnsafe() }
  process.on("message", (message: unknown) => {
    const order = Messages.readOrder(message)
    if (order === "metrics") {
      fork(Effect.flatMap(Metrics.text, (text) => report({ _tag: "Metrics", text })))
    } else if (order === "drain" || order === "leave") Deferred.doneUnsafe(orders[order], Effect.void)
  })
  // Ignores SIGHUP, because only the primary restarts workers, and a terminal signals the whole process group.
  process.on("SIGHUP", () => {})
  return orders
}

const report = (message: Messages.Report): Effect.Effect<void> =>
  Effect.sync(() => void process.send?.(message, undefined, undefined, () => {}))

/** Reports the final metrics and waits until they have arrived. */
const leave = (left: Deferred.Deferred<void>): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* report({ _tag: "Drained", metrics: yield* Metrics.text })
    yield* Effect.timeoutOption(Effect.interruptible(Deferred.await(left)), longestLeaveMs)
  })

import type { Quotewire, Storage } from "@quotewire/core"
import { Effect, ManagedRuntime } from "effect"
import * as Service from "../Service.ts"
import { median } from "../statistics.ts"

const runtime = ManagedRuntime.make(Service.layer)

/** The only key of this process's service. */
export const key: string = await runtime.runPromise(Service.makeKey)

/** Runs an effect with this process's service. */
export const run = <A>(effect: Effect.Effect<A, never, Quotewire.Services | Storage.Storage>): Promise<A> =>
  runtime.runPromise(effect)

/** Repeats an action in sequence, and returns the CPU time of one repetition in microseconds. */
export const time = async (
  times: number,
  operation: () => Effect.Effect<unknown, never, Quotewire.Services | Storage.Storage>
): Promise<number> => {
  const cpuBefore = process.cpuUsage()
  await run(
    Effect.gen(function* () {
      for (let i = 0; i < times; i++) yield* operation()
    })
  )
  const { user, system } = process.cpuUsage(cpuBefore)
  return (user + system) / times
}

/** Repeats a measurement, and returns the median. */
export const repeated = async (repeats: number, measure: () => Promise<number>): Promise<number> => {
  const durations: Array<number> = []
  for (let i = 0; i < repeats; i++) durations.push(await measure())
  return median(durations)
}

/** Returns the number of heap bytes in use after a full garbage collection. */
export const heapBytes = (): number => {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

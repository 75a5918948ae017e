import type { Quotewire, Storage } from "@quotewire/core"
import { Effect, ManagedRuntime } from "effect"
import * as Service from "../Service.ts"
import { median } from "../statistics.ts"

const runtime = ManagedRuntime.make(Service.layer)

/** The service of this process, with one key. */
export const key: string = await runtime.runPromise(Service.makeKey)

/** Runs on the service of this process. */
export const run = <A>(effect: Effect.Effect<A, never, Quotewire.Services | Storage.Storage>): Promise<A> =>
  runtime.runPromise(effect)

/** Does something so often, one after another, and answers the microseconds of CPU time that each took. */
export const time = async (
  times: number,
  once: () => Effect.Effect<unknown, never, Quotewire.Services | Storage.Storage>
): Promise<number> => {
  const before = process.cpuUsage()
  await run(
    Effect.gen(function* () {
      for (let i = 0; i < times; i++) yield* once()
    })
  )
  const { user, system } = process.cpuUsage(before)
  return (user + system) / times
}

/** The middle one of so many measurements. */
export const repeated = async (repeats: number, measure: () => Promise<number>): Promise<number> => {
  const all: Array<number> = []
  for (let i = 0; i < repeats; i++) all.push(await measure())
  return median(all)
}

/** Bytes of the heap that are in use, after everything that can go has gone. */
export const heapBytes = (): number => {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

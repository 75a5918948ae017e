import { Json } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, ManagedRuntime } from "effect"
import * as Child from "../Child.ts"
import * as Service from "../Service.ts"
import * as starts from "../starts.ts"
import * as Databases from "./Databases.ts"

/** Asks for so many open requests, and one advance over all of their timers. */
export interface Advance {
  /** The database; null for the storage in memory. */
  readonly url: string | null
  readonly requests: number
  readonly seconds: number
}

/** What one advance took. */
export interface Advanced {
  readonly ms: number
  /** CPU time of this process. */
  readonly cpu_ms: number
}

const startAll = (key: string, requests: number) =>
  Effect.forEach(
    Array.from({ length: requests }, (_, n) => n),
    (n) => Service.call(Service.start_quote_request, key, starts.household(`request-${n}`)),
    { concurrency: 10 }
  )

Child.answer(async ({ url, requests, seconds }: Advance): Promise<Advanced> => {
  const storage = url === null ? MemoryStorage.layer : Databases.storage(url)
  const runtime = ManagedRuntime.make(Service.layerOn(storage))
  try {
    const key = await runtime.runPromise(Service.makeKey)
    const started = await runtime.runPromise(startAll(key, requests))
    const before = process.cpuUsage()
    const began = performance.now()
    await runtime.runPromise(Service.call(Service.advance_time, key, { seconds }))
    const ms = performance.now() - began
    const { user, system } = process.cpuUsage(before)
    for (const { id } of started.map(Json.decode)) {
      const json = await runtime.runPromise(Service.call(Service.get_quote_request, key, { id, wait_seconds: 0 }))
      const { status } = Json.decode(json).quote_request
      if (status === "in_progress") throw new Error("A request has not ended")
    }
    return { ms, cpu_ms: (user + system) / 1e3 }
  } finally {
    await runtime.dispose()
  }
})

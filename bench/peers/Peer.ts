import type { Server } from "node:http"
import { performance } from "node:perf_hooks"
import { bind } from "../bind.ts"
import * as Child from "../Child.ts"

/** What every peer serves: the same quote, and what a start is checked with and answered. */
export interface Shared {
  readonly quote: { readonly id: string }
  /** JSON Schema of the body of a start. */
  readonly start_schema: object
  /** What a start is answered. */
  readonly started: { readonly id: string }
}

/** Where a peer listens, and what it lets in. */
export interface Listening {
  readonly port: number
  readonly key: string
  readonly quote_id: string
  /** Of many quotes, where the peer was asked to make many. */
  readonly quote_ids?: ReadonlyArray<string>
}

export type Question = { readonly ask: "listen"; readonly shared: Shared } | { readonly ask: "cpu" | "loop" }

/** How long the event loop has been busy so far, and the CPU time of its thread, in milliseconds. */
export interface Loop {
  readonly busy_ms: number
  readonly cpu_ms: number
}

/** What the process has taken so far: CPU time in microseconds, and memory. */
export interface Cpu {
  readonly cpu_us: number
  readonly resident_bytes: number
}

/** Runs a server as a peer of the bench. */
export const run = (listen: (shared: Shared) => Promise<Listening>): void =>
  Child.answer(async (question: Question): Promise<Listening | Cpu | Loop> => {
    if (question.ask === "listen") return listen(question.shared)
    if (question.ask === "loop") {
      const { user, system } = process.threadCpuUsage()
      return { busy_ms: performance.eventLoopUtilization().active, cpu_ms: (user + system) / 1e3 }
    }
    const { user, system } = process.cpuUsage()
    return { cpu_us: user + system, resident_bytes: process.memoryUsage.rss() }
  })

/** As long as a key of ours. */
export const key = `sandbox_server_${"k".repeat(38)}`
export const authorization = `Bearer ${key}`

/** The headers that our answers have, so that all peers write as much. */
export const headers = { "cache-control": "no-store", "service-version": "2026-09-26" } as const

let requests = 0
/** As long as an identifier of ours, and as unique as this process needs. */
export const newId = (prefix: string): string => `${prefix}_${(++requests).toString(32).padStart(26, "0")}`

/** Binds a `node:http` server to a free port. */
export const listening = async (server: Server, shared: Shared): Promise<Listening> => ({
  port: await bind(server),
  key,
  quote_id: shared.quote.id
})

import type { Server } from "node:http"
import { performance } from "node:perf_hooks"
import { bind } from "../bind.ts"
import * as Child from "../Child.ts"

/**
 * What every peer serves: the same quote, the schema of the body that starts a quote request, and the response to a
 * call with such a body.
 */
export interface SharedSettings {
  readonly quote: { readonly id: string }
  /** The JSON Schema of the body that starts a quote request. */
  readonly start_schema: object
  /** The response to a call that starts a quote request. */
  readonly started: { readonly id: string }
}

/** Where a peer listens, and the key that it accepts. */
export interface ListeningAddress {
  readonly port: number
  readonly key: string
  readonly quote_id: string
  /** The IDs of many quotes, if the peer was asked to create many. */
  readonly quote_ids?: ReadonlyArray<string>
}

export type Question = { readonly ask: "listen"; readonly shared: SharedSettings } | { readonly ask: "cpu" | "loop" }

/** How long the event loop has been busy so far, and its thread's CPU time, both in milliseconds. */
export interface Loop {
  readonly busy_ms: number
  readonly cpu_ms: number
}

/** What the process has used so far: CPU time in microseconds, and memory. */
export interface Cpu {
  readonly cpu_us: number
  readonly resident_bytes: number
}

/** Runs a server as a peer, which the bench measures. */
export const run = (listen: (shared: SharedSettings) => Promise<ListeningAddress>): void =>
  Child.answer(async (question: Question): Promise<ListeningAddress | Cpu | Loop> => {
    if (question.ask === "listen") return listen(question.shared)
    if (question.ask === "loop") {
      const { user, system } = process.threadCpuUsage()
      return { busy_ms: performance.eventLoopUtilization().active, cpu_ms: (user + system) / 1e3 }
    }
    const { user, system } = process.cpuUsage()
    return { cpu_us: user + system, resident_bytes: process.memoryUsage.rss() }
  })

/** A key with the same length as Quotewire's keys. */
export const key = `sandbox_server_${"k".repeat(38)}`
export const authorization = `Bearer ${key}`

/** The headers of Quotewire's responses. Every peer sends them, so that all peers send the same number of bytes. */
export const headers = { "cache-control": "no-store", "service-version": "2026-09-26" } as const

let requests = 0
/** Creates an ID that has the length of Quotewire's IDs and is unique within this process. */
export const newId = (prefix: string): string => `${prefix}_${(++requests).toString(32).padStart(26, "0")}`

/** Binds a `node:http` server to a free port. */
export const listening = async (server: Server, shared: SharedSettings): Promise<ListeningAddress> => ({
  port: await bind(server),
  key,
  quote_id: shared.quote.id
})

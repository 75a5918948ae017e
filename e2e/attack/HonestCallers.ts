import { Agent, request } from "node:http"
import { setTimeout as after } from "node:timers/promises"

/** How fast calls with a key get a response, and how many fail. */
export interface LatencyReport {
  readonly calls: number
  readonly failed: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly max_ms: number
}

const lanes = 8

/** The timeout of a call, in milliseconds. */
const longestMs = 60_000

const call = (baseUrl: string, key: string, agent: Agent): Promise<boolean> =>
  new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}` }
    const sent = request(`${baseUrl}/v1/quote-requests?limit=1`, { agent, headers, timeout: longestMs })
    sent.on("timeout", () => sent.destroy())
    sent.on("error", () => resolve(false))
    sent.on("response", (response) => {
      response.resume()
      response.on("end", () => resolve(response.statusCode === 200))
      response.on("error", () => resolve(false))
    })
    sent.end()
  })

/** Calls at a steady rate on connections that stay open, until told to stop. */
export const begin = (baseUrl: string, key: string) => {
  const agent = new Agent({ keepAlive: true, maxSockets: lanes })
  const tookMs: Array<number> = []
  let failed = 0
  let isOver = false
  const lane = async () => {
    while (!isOver) {
      const began = performance.now()
      if (!(await call(baseUrl, key, agent))) failed += 1
      tookMs.push(performance.now() - began)
      await after(20)
    }
  }
  const running = Promise.all(Array.from({ length: lanes }, lane))
  return {
    stop: async (): Promise<LatencyReport> => {
      isOver = true
      await running
      agent.destroy()
      const sorted = tookMs.toSorted((a, b) => a - b)
      const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
      return { calls: sorted.length, failed, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: sorted.at(-1) ?? 0 }
    }
  }
}

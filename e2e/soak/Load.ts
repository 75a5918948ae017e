import * as Http from "node:http"
import { setTimeout as after } from "node:timers/promises"
import { Applications } from "@quotewire/core/testing"

/** What puts load on a host, and how it ends. */
export interface Load {
  /** How many calls were answered. */
  readonly calls: () => number
  /** How many webhooks came. */
  readonly webhooks: () => number
  /** The port at which webhooks are received. */
  readonly receiver: number
  readonly stop: () => Promise<void>
}

const lines = ["renters", "pet", "personal_auto"] as const

const event_types = [
  ...["queued", "updated", "completed", "failed", "cancelled", "incomplete"].map((type) => `quote_request.${type}`),
  ...["created", "updated", "expired"].map((type) => `quote.${type}`)
]

/** A partner's server: calls over connections that it keeps, as many as it has lanes. */
const callerOf = (base_url: string, key: string) => {
  const agent = new Http.Agent({ keepAlive: true })
  let calls = 0
  const call = (path: string, body?: object, more: Readonly<Record<string, string>> = {}) =>
    // biome-ignore lint/suspicious/noExplicitAny: what the host answers is read, not judged
    new Promise<any>((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", ...more }
      const request = Http.request(base_url + path, { method: body === undefined ? "GET" : "POST", headers, agent })
      request.on("error", reject)
      request.on("response", async (response) => {
        let text = ""
        for await (const part of response) text += part
        calls += 1
        if ((response.statusCode ?? 500) >= 500) reject(new Error(`${response.statusCode} for ${path}: ${text}`))
        else resolve(JSON.parse(text))
      })
      request.end(body === undefined ? undefined : JSON.stringify(body))
    })
  return { call, calls: () => calls, close: () => agent.destroy() }
}

type Call = ReturnType<typeof callerOf>["call"]

/** Starts a request, waits for its quotes, and reads each of them. */
const quoteOnce = async (call: Call, lane: number, number: number) => {
  const line = lines[number % lines.length] ?? "renters"
  const started = await call("/v1/quote-requests", {
    line,
    consent_receipt_id: `receipt-${lane}-${number}`,
    request_key: `request-${lane}-${number}`,
    application: Applications.smallest[line]
  })
  let { version, status } = started
  while (status === "in_progress") {
    const read = await call(`/v1/quote-requests/${started.id}?wait_seconds=20&since_version=${version}`)
    ;({ version, status } = read.quote_request)
    if (status !== "in_progress") for (const { id } of read.quotes) await call(`/v1/quotes/${id}`)
  }
}

/** Begins a steady load: so many lanes that quote, one that follows the feed, one that looks around, one that rests. */
export const begin = async (base_url: string, key: string, lanes: number): Promise<Load> => {
  let webhooks = 0
  const receiver = Http.createServer((request, response) => {
    request.resume()
    request.on("end", () => {
      webhooks += 1
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening))
  const address = receiver.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const { call, calls, close } = callerOf(base_url, key)
  const url = `http://127.0.0.1:${port}/webhooks`
  await call("/v1/event-subscriptions", { url, event_types }, { "idempotency-key": "subscribe" })

  let isOver = false
  const repeat = async (rest_ms: number, once: (number: number) => Promise<unknown>) => {
    for (let number = 0; !isOver; number++) {
      await once(number)
      await after(rest_ms)
    }
  }
  let cursor = ""
  const follow = async () => {
    const { next_cursor } = await call(`/v1/events?limit=100${cursor}`)
    if (next_cursor !== null) cursor = `&cursor=${encodeURIComponent(next_cursor)}`
  }
  const look = async () => {
    await call("/v1/capabilities?line=pet")
    await call("/v1/quote-requests?limit=20")
    await call("/v1/quotes/qt_unknown")
    await call("/v1/requests?limit=5")
  }
  const running = [
    ...Array.from({ length: lanes }, (_, lane) => repeat(200, (number) => quoteOnce(call, lane, number))),
    repeat(200, follow),
    repeat(500, look),
    // Longer than the host keeps an idle connection: each call opens another.
    repeat(2_000, async () => {
      const other = callerOf(base_url, key)
      await other.call("/v1/capabilities?line=renters")
      other.close()
    })
  ]
  const all = Promise.all(running)
  all.catch(() => {
    isOver = true
  })
  return {
    calls,
    webhooks: () => webhooks,
    receiver: port,
    stop: async () => {
      isOver = true
      await all
      close()
      receiver.closeAllConnections()
      receiver.close()
    }
  }
}

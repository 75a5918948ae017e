import * as Http from "node:http"
import { setTimeout as after } from "node:timers/promises"
import { ExampleApplications } from "@quotewire/core/testing"
import * as Lags from "./Lags.ts"

/** A running load on a host. */
export interface Load {
  /** The number of calls that got a response. */
  readonly calls: () => number
  /** The number of received webhooks. */
  readonly webhooks: () => number
  /** The delay between the commit of a live event and its arrival in the feed or as a webhook, in milliseconds. */
  readonly lags: { readonly feed: Lags.Lags; readonly webhook: Lags.Lags }
  /** The port that receives webhooks. */
  readonly receiver: number
  readonly stop: () => Promise<void>
}

/** How much load to apply, and how fast the sandbox clock runs. */
export interface Options {
  /** How many requests start per second, regardless of how long each takes: half in the sandbox, half live. */
  readonly rate: number
  /** How many sandbox days pass in how many minutes. */
  readonly days: number
  readonly minutes: number
}

const lines = ["renters", "pet", "personal_auto"] as const

const eventTypes = [
  ...["queued", "updated", "completed", "failed", "cancelled", "incomplete"].map((type) => `quote_request.${type}`),
  ...["created", "updated", "expired"].map((type) => `quote.${type}`)
]

/** A partner's server: calls over keep-alive connections, one for each lane. */
const callerOf = (baseUrl: string, key: string) => {
  const agent = new Http.Agent({ keepAlive: true })
  let calls = 0
  const call = (
    path: string,
    body?: object,
    more: Readonly<Record<string, string>> = {},
    method = body === undefined ? "GET" : "POST"
  ) =>
    // biome-ignore lint/suspicious/noExplicitAny: what the host returns is read, not judged
    new Promise<any>((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", ...more }
      const request = Http.request(baseUrl + path, { method, headers, agent })
      request.on("error", reject)
      request.on("response", async (response) => {
        let text = ""
        for await (const part of response) text += part
        calls += 1
        const status = response.statusCode ?? 500
        if (status >= 500) reject(new Error(`${status} for ${path}: ${text}`))
        else resolve(JSON.parse(text))
      })
      request.end(body === undefined ? undefined : JSON.stringify(body))
    })
  return { call, calls: () => calls, close: () => agent.destroy() }
}

type Call = ReturnType<typeof callerOf>["call"]

/** Starts a request, waits for its quotes, and reads each of them. */
const quoteOnce = async (call: Call, line: (typeof lines)[number], lane: number, number: number) => {
  const started = await call("/v1/quote-requests", {
    line,
    consent_receipt_id: `receipt-${lane}-${number}`,
    request_key: `request-${lane}-${number}`,
    application: ExampleApplications.smallest[line]
  })
  let { version, status } = started
  while (status === "in_progress") {
    const read = await call(`/v1/quote-requests/${started.id}?wait_seconds=20&since_version=${version}`)
    // A reset has erased it.
    if (read.quote_request === undefined) return
    ;({ version, status } = read.quote_request)
    if (status !== "in_progress") for (const { id } of read.quotes) await call(`/v1/quotes/${id}`)
  }
}

/** Receives webhooks and measures the lag of those for live work. */
const receive = async (lag: Lags.Lags) => {
  let webhooks = 0
  const server = Http.createServer(async (request, response) => {
    let text = ""
    for await (const part of request) text += part
    webhooks += 1
    const { environment, occurred_at } = JSON.parse(text)
    if (environment === "live") lag.add(Date.now() - Date.parse(occurred_at))
    response.writeHead(204).end()
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { count: () => webhooks, port, close }
}

/** Follows the feed of live work and measures the lag of its events. */
const following = (call: Call, lag: Lags.Lags) => {
  let cursor = ""
  return async () => {
    const { events, next_cursor } = await call(`/v1/events?limit=100${cursor}`)
    for (const { occurred_at } of events) lag.add(Date.now() - Date.parse(occurred_at))
    cursor = `&cursor=${encodeURIComponent(next_cursor)}`
  }
}

/** How often the sandbox is reset, in seconds of its own time: like builds that run four times a day. */
const resetEvery = 21_600

/** Advances the sandbox clock and resets the sandbox. */
const passing = (call: Call, { days, minutes }: Options) => {
  const seconds = Math.ceil((days * 86_400 * clockEveryMs) / (minutes * 60_000))
  let left = resetEvery
  return async (number: number) => {
    await call("/v1/sandbox/time", { seconds }, { "idempotency-key": `time-${number}` })
    left -= seconds
    if (left > 0) return
    left += resetEvery
    await call("/v1/sandbox/reset", undefined, { "idempotency-key": `reset-${number}` }, "POST")
  }
}

const clockEveryMs = 5_000
/** How often each lane starts a request, in milliseconds, and so how long it has to see its quotes. */
const laneEveryMs = 6_000

/**
 * Begins a steady load: lanes that request quotes, and callers that follow the feed, browse, idle and move the clock.
 */
export const begin = async (
  baseUrl: string,
  keys: { readonly sandbox: string; readonly live: string },
  options: Options
): Promise<Load> => {
  const lags = { feed: Lags.make(), webhook: Lags.make() }
  const receiver = await receive(lags.webhook)
  const callers = [callerOf(baseUrl, keys.sandbox), callerOf(baseUrl, keys.live)] as const
  const [sandbox, live] = callers
  const url = `http://127.0.0.1:${receiver.port}/webhooks`
  for (const { call } of callers) {
    await call("/v1/event-subscriptions", { url, event_types: eventTypes }, { "idempotency-key": "subscribe" })
  }

  let isOver = false
  /** Calls once per interval, measured from start to start. */
  const repeat = async (everyMs: number, once: (number: number) => Promise<unknown>, firstMs = 0) => {
    await after(firstMs)
    for (let number = 0; !isOver; number++) {
      const began = Date.now()
      await once(number)
      await after(Math.max(0, began + everyMs - Date.now()))
    }
  }
  const lanes = Math.ceil((options.rate * laneEveryMs) / 1_000)
  const quote = (lane: number) => (number: number) =>
    lane % 2 === 0
      ? quoteOnce(sandbox.call, lines[number % lines.length] ?? "renters", lane, number)
      : quoteOnce(live.call, "renters", lane, number)
  const look = async () => {
    await sandbox.call("/v1/capabilities?line=pet")
    await sandbox.call("/v1/quote-requests?limit=20")
    await sandbox.call("/v1/quotes/qt_unknown")
    await live.call("/v1/requests?limit=5")
  }
  const running = [
    ...Array.from({ length: lanes }, (_, lane) => repeat(laneEveryMs, quote(lane), (lane * laneEveryMs) / lanes)),
    repeat(200, following(live.call, lags.feed)),
    repeat(500, look),
    repeat(clockEveryMs, passing(sandbox.call, options)),
    // Longer than the host keeps an idle connection, so each call opens a new one.
    repeat(2_000, async () => {
      const other = callerOf(baseUrl, keys.sandbox)
      await other.call("/v1/capabilities?line=renters")
      other.close()
    })
  ]
  const all = Promise.all(running)
  all.catch(() => {
    isOver = true
  })
  return {
    calls: () => sandbox.calls() + live.calls(),
    webhooks: receiver.count,
    lags,
    receiver: receiver.port,
    stop: async () => {
      isOver = true
      await all
      for (const { close } of callers) close()
      receiver.close()
    }
  }
}

import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Effect, Metric, type Scope } from "effect"
import { PrometheusMetrics } from "effect/observability"
import * as Answer from "../host/Answer.ts"
import * as Route from "../host/Route.ts"
import type * as Api from "../routes/Api.ts"
import * as Handler from "./Handler.ts"
import * as NodeMessages from "./NodeMessages.ts"
import * as Server from "./Server.ts"

const requests = Metric.counter("quotewire_requests_total", {
  description: "Requests that got a response, by operation and HTTP status.",
  incremental: true
})

const durations = Metric.histogram("quotewire_request_duration_seconds", {
  description: "Time from a request's arrival to its response, by operation. It includes the wait of long polls.",
  boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25]
})

/** Creates an `onAnswered` setting that counts and times a host's responses. */
export const onAnswered: Effect.Effect<(answered: Handler.Answered) => void> = Effect.map(
  Effect.context<never>(),
  (context) => {
    // Caches a metric for each operation and status, because there are few combinations.
    const counters = new Map<string, typeof requests>()
    const timers = new Map<string, typeof durations>()
    return ({ name, status, duration_ms }) => {
      const label = `${name} ${status}`
      const counter = counters.get(label) ?? Metric.withAttributes(requests, { operation: name, status: `${status}` })
      const timer = timers.get(name) ?? Metric.withAttributes(durations, { operation: name })
      counters.set(label, counter)
      timers.set(name, timer)
      counter.updateUnsafe(1, context)
      timer.updateUnsafe(duration_ms / 1_000, context)
    }
  }
)

/** CPU time, memory and start time of this process, under the standard Prometheus names. */
export const processText = (): string => {
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const startedAt = Date.now() / 1_000 - process.uptime()
  return [
    ["process_cpu_seconds_total", "counter", (user + system) / 1e6],
    ["process_resident_memory_bytes", "gauge", rss],
    ["process_start_time_seconds", "gauge", Math.round(startedAt)],
    ["nodejs_heap_size_used_bytes", "gauge", heapUsed]
  ]
    .map(([name, type, value]) => `# TYPE ${name} ${type}\n${name} ${value}\n`)
    .join("")
}

/** All metrics of this process, in the Prometheus text format. */
export const text: Effect.Effect<string> = Effect.map(PrometheusMetrics.format(), (metrics) => metrics + processText())

const path = "/metrics"

const answerOf = (body: string): Answer.Answer => ({
  status: 200,
  headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" },
  body
})

/** `GET /metrics`: all metrics of this process, in the Prometheus text format. */
export const route: Route.Route = Route.make("GET", path, () => Effect.map(text, answerOf))

/** The address that serves the metrics. It is separate from the API's, because metrics are only for the operator. */
export type Settings = Pick<Server.Settings, "host" | "port">

/** Serves only `/metrics`, until its scope closes. */
export const serve = Effect.fnUntraced(function* (
  settings: Settings
): Effect.fn.Return<Server.Host["Service"], Server.CannotListen, Api.Services<never> | Scope.Scope> {
  const server = yield* Server.listen(settings)
  yield* server.attach(yield* Handler.make([route], { docs_url: `${server.url}/docs` }))
  return Server.Host.of({ host: server.host, port: server.port, base_url: server.url })
})

/**
 * Serves only `/metrics`, with the text that `collected` returns, until the scope closes. It needs no services of the
 * core, so that a process that only collects the metrics of other processes can use it.
 */
export const serveText = Effect.fnUntraced(function* (
  settings: Settings,
  collected: Effect.Effect<string>
): Effect.fn.Return<void, Server.CannotListen, Scope.Scope> {
  const server = yield* Server.listen({ ...settings, drain_ms: 0, grace_ms: lastTextMs })
  yield* server.attach(textHandler(collected, Effect.runForkWith(yield* Effect.context<never>())))
})

/** How long a pending response may take when the server stops, in milliseconds. */
const lastTextMs = 250

type Fork = (effect: Effect.Effect<void>) => unknown

const textHandler = (collected: Effect.Effect<string>, fork: Fork): Handler.Handler => {
  /** The latest response of each connection. */
  const answers = new WeakMap<Socket, ServerResponse>()
  const handle: Handler.Handler["handle"] = (request, response) => {
    answers.set(request.socket, response)
    const send = (answer: Answer.Answer) => {
      if (!response.destroyed) NodeMessages.send({ request, response }, answer, {}, () => {})
    }
    const isRead = request.method === "GET" || request.method === "HEAD"
    if (!isRead || request.url?.split("?")[0] !== path) return send(Answer.empty(404))
    fork(Effect.map(collected, (body) => send(answerOf(body))))
  }
  return {
    handle,
    refusal: ({ status }) => Answer.empty(status),
    whenAnswered: (socket, callback) => {
      const newest = answers.get(socket)
      callback(newest !== undefined && NodeMessages.isAnsweredEarly(newest))
    },
    close: Effect.void,
    refuse: Effect.void,
    idle: Effect.void,
    interruptAll: Effect.void
  }
}

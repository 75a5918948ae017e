import { Effect, Metric, type Scope } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { Host } from "../Http.ts"
import type { Answer } from "./Answer.ts"
import type * as Api from "./Api.ts"
import * as Handler from "./Handler.ts"
import * as Route from "./Route.ts"
import * as Server from "./Server.ts"

const requests = Metric.counter("quotewire_requests_total", {
  description: "Requests that were answered, by operation and HTTP status.",
  incremental: true
})

const durations = Metric.histogram("quotewire_request_duration_seconds", {
  description:
    "Time from a request's arrival to its answer, by operation. Reads that wait for a change take their time.",
  boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25]
})

/** Counts and times the answers of a host: what `onAnswered` of its settings is to be. */
export const onAnswered: Effect.Effect<(answered: Handler.Answered) => void> = Effect.map(
  Effect.context<never>(),
  (context) => {
    // Operations and statuses are few, so what was made for one of them is kept.
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

/** What this process is doing, in the names that every exporter of process metrics uses. */
const processLines = (): string => {
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const started_at = Date.now() / 1_000 - process.uptime()
  return [
    ["process_cpu_seconds_total", "counter", (user + system) / 1e6],
    ["process_resident_memory_bytes", "gauge", rss],
    ["process_start_time_seconds", "gauge", Math.round(started_at)],
    ["nodejs_heap_size_used_bytes", "gauge", heapUsed]
  ]
    .map(([name, type, value]) => `# TYPE ${name} ${type}\n${name} ${value}\n`)
    .join("")
}

/** `GET /metrics`: everything that is measured in this process, in the text form of Prometheus. */
export const route: Route.Route = Route.make("GET", "/metrics", () =>
  Effect.map(
    PrometheusMetrics.format(),
    (metrics): Answer => ({
      status: 200,
      headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" },
      body: metrics + processLines()
    })
  )
)

/** Where metrics are served: a port of their own, since they are nobody's business but the operator's. */
export type Settings = Pick<Server.Settings, "host" | "port">

/** Serves `/metrics`, and nothing else, until its scope ends. */
export const serve = Effect.fnUntraced(function* (
  settings: Settings
): Effect.fn.Return<Host["Service"], Server.CannotListen, Api.Services<never> | Scope.Scope> {
  const server = yield* Server.listen(settings)
  yield* server.attach(yield* Handler.make([route], { docs_url: `${server.url}/docs` }))
  return Host.of({ host: server.host, port: server.port, base_url: server.url })
})

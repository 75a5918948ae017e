import { assert, describe, it } from "@effect/vitest"
import { Answer, Metrics, Route } from "@quotewire/http"
import { Cause, Effect, Logger, Metric, References, Tracer } from "effect"
import { type SendOptions, services, start } from "./support/host.ts"

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Parses the Prometheus text format by its grammar, and fails on anything else. */
const parse = (text: string): ReadonlyArray<Sample> =>
  text
    .split("\n")
    .filter((line) => line !== "" && !/^# (HELP|TYPE) [a-zA-Z_:][\w:]* .+$/.test(line))
    .map((line) => {
      const [, name = "", labels = "", value = ""] =
        /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)$/.exec(line) ?? assert.fail(line)
      const pairs = Array.from(labels.matchAll(/(\w+)="([^"]*)"/g), ([, key = "", text = ""]) => [key, text] as const)
      return { name, labels: Object.fromEntries(pairs), value: value === "+Inf" ? Infinity : Number(value) }
    })

const scrape = (baseUrl: string) =>
  Effect.promise(async () => {
    const response = await fetch(`${baseUrl}/metrics`)
    assert.strictEqual(response.status, 200)
    assert.strictEqual(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8")
    return parse(await response.text())
  })

/** A measured host with its own registry, and the address of its metrics. */
const measured = Effect.gen(function* () {
  const { base_url } = yield* Metrics.serve({ port: 0 }).pipe(Effect.provide(services))
  const host = yield* start({ onAnswered: yield* Metrics.onAnswered })
  return { host, base_url }
})

const itMeasures = (name: string, body: Effect.Effect<void, unknown, Effect.Services<typeof measured>>) =>
  it.live(name, () => Effect.provideService(body, Metric.MetricRegistry, new Map()).pipe(Effect.scoped))

describe("a host's metrics", () => {
  itMeasures(
    "count and time responses by operation and status, even for unknown callers and paths",
    Effect.gen(function* () {
      const { host, base_url } = yield* measured
      const sent: ReadonlyArray<readonly [string, string, SendOptions?]> = [
        ["GET", "/v1/things/th_1"],
        ["GET", "/v1/things/th_2?label=secret"],
        ["GET", "/v1/things/x"],
        ["GET", "/v1/things/th_1", { key: "secret" }],
        ["GET", "/v1/secret"],
        ["DELETE", "/v1/things/th_1"],
        ["GET", "/health/live"]
      ]
      for (const [method, target, options] of sent) yield* host.send(method, target, options)
      const samples = yield* scrape(base_url)
      const counts = samples.filter(({ name }) => name === "quotewire_requests_total")
      assert.sameMembers(
        counts.map(({ labels, value }) => `${labels.operation} ${labels.status} ${value}`),
        [
          ...["get_thing 200 2", "get_thing 404 1", "get_thing 401 1", "break_thing 500 1"],
          ...["* 404 1", "/health/live 200 1"]
        ]
      )
      const timed = samples.filter(({ labels }) => labels.operation === "get_thing")
      const of = (name: string) =>
        timed.filter((sample) => sample.name === `quotewire_request_duration_seconds_${name}`)
      assert.deepStrictEqual(
        of("count").map(({ value }) => value),
        [4]
      )
      const buckets = of("bucket").map(({ value }) => value)
      assert.deepStrictEqual(
        buckets,
        buckets.toSorted((one, other) => one - other)
      )
      assert.strictEqual(buckets.at(-1), 4)
      assert.isAbove(of("sum")[0]?.value ?? 0, 0)
      assert.notInclude(JSON.stringify(samples), "secret")
    })
  )

  itMeasures(
    "include the process's resource usage, and are served only at /metrics on their own port",
    Effect.gen(function* () {
      const { host, base_url } = yield* measured
      const samples = yield* scrape(base_url)
      const valueOf = (name: string) => samples.find((sample) => sample.name === name)?.value ?? 0
      for (const name of ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds"]) {
        assert.isAbove(valueOf(name), 0, name)
      }
      assert.strictEqual((yield* host.send("GET", "/metrics")).status, 404)
      const other = yield* Effect.promise(() => fetch(`${base_url}/v1/things/th_1`))
      assert.strictEqual(other.status, 404)
    })
  )
})

/** Whether spans are made while a request is handled. */
const probe = Route.make("GET", "/probe", () =>
  Effect.map(References.TracerEnabled, (enabled) => Answer.json(200, JSON.stringify({ enabled }), ""))
)

describe("a host's traces", () => {
  it.live("contain one span per request if a tracer is provided, and otherwise no spans", () =>
    Effect.gen(function* () {
      const names: Array<string> = []
      const tracer = Tracer.make({
        span: (options) => {
          names.push(options.name)
          return Tracer.nativeTracer.span(options)
        }
      })
      const quiet = yield* start({ routes: [probe] })
      assert.deepStrictEqual(JSON.parse((yield* quiet.send("GET", "/probe")).text), { enabled: false })
      const traced = yield* Effect.provideService(start({ routes: [probe] }), Tracer.Tracer, tracer)
      assert.deepStrictEqual(JSON.parse((yield* traced.send("GET", "/probe")).text), { enabled: true })
      yield* traced.send("GET", "/v1/things/th_1?label=secret")
      assert.includeMembers(names, ["/probe", "get_thing"])
      assert.notInclude(names.join(" "), "secret")
    })
  )
})

describe("a failing onAnswered hook", () => {
  it.live.each<readonly [string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("no")
      }
    ],
    ["rejects", () => Promise.reject(new Error("no"))]
  ])("is logged if it %s, and does not affect responses", ([, onAnswered]) =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make(({ cause, message }) => lines.push(`${message} ${Cause.pretty(cause)}`))
      const host = yield* Effect.provideService(start({ onAnswered }), References.CurrentLoggers, new Set([logger]))
      for (let call = 0; call < 3; call++) {
        assert.strictEqual((yield* host.send("GET", "/v1/things/th_1")).status, 200)
      }
      const logged = lines.filter((line) => line.startsWith("onAnswered failed"))
      assert.lengthOf(logged, 3)
      assert.match(logged[0] ?? "", /metrics\.test\.ts:\d+:\d+/)
    }).pipe(Effect.scoped)
  )
})

import { assert, describe, it } from "@effect/vitest"
import * as api from "@opentelemetry/api"
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader
} from "@opentelemetry/sdk-metrics"
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect } from "effect"
import { defineCarrier, embed, type OpenTelemetry, Reply } from "../../src/index.ts"
import { startOf } from "./starts.ts"

/** The program's OpenTelemetry, with exporters that keep what they receive. */
const program = () => {
  const spans = new InMemorySpanExporter()
  const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] })
  const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 3_600_000 })
  const meters = new MeterProvider({ readers: [reader] })
  const parent = tracers.getTracer("program").startSpan("a request of the program")
  const telemetry: OpenTelemetry = {
    trace: {
      getTracer: (name) => tracers.getTracer(name),
      setSpan: api.trace.setSpan,
      setSpanContext: api.trace.setSpanContext
    },
    context: { active: () => api.trace.setSpan(api.ROOT_CONTEXT, parent) },
    metrics: { getMeter: (name) => meters.getMeter(name) }
  }
  return { metrics, parent, reader, spans, telemetry }
}

const acme = defineCarrier({
  id: "naic:12345",
  name: "Acme Mutual",
  environments: ["sandbox"],
  lines: { renters: { states: ["NY"] } },
  ask: () => Reply.offers([{ offer_ref: "1", premium: { amount_minor: 12_000, currency: "USD" }, term_months: 12 }])
})

/** A service with a program's telemetry, after a start call, its quotes and a refused call. */
const afterCalls = Effect.gen(function* () {
  const { metrics, parent, reader, spans, telemetry } = program()
  const quotewire = yield* Effect.acquireRelease(
    Effect.sync(() => embed({ storage: MemoryStorage.layer, carriers: [acme], fictional_carriers: false, telemetry })),
    (service) => Effect.promise(() => service.close())
  )
  const key = yield* Effect.promise(async () => {
    const { id: organization_id } = await quotewire.createOrganization("Acme")
    const { key: made } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
    const client = quotewire.client(made)
    const { id } = await client.start_quote_request(startOf())
    await client.wait_for_quotes(id)
    await client.get_quote({ id: "qte_01arz3ndektsv4rrffq69g5fav" }).catch(() => {})
    return made
  })
  const collected = Effect.promise(async () => {
    metrics.reset()
    await reader.forceFlush()
    return metrics.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
  })
  return { collected, finished: () => spans.getFinishedSpans(), key, parent, quotewire }
})

describe("a program's telemetry", () => {
  it.live("receives a span for each call, inside the program's own span, and for each carrier exchange", () =>
    Effect.gen(function* () {
      const { finished, parent } = yield* afterCalls
      const byName = (name: string) => finished().find((span) => span.name === name) ?? assert.fail(`No span ${name}`)
      const start = byName("start_quote_request")
      assert.strictEqual(start.parentSpanContext?.spanId, parent.spanContext().spanId)
      assert.strictEqual(start.spanContext().traceId, parent.spanContext().traceId)
      assert.strictEqual(start.status.code, api.SpanStatusCode.OK)
      assert.deepStrictEqual(byName("get_quote").status, { code: api.SpanStatusCode.ERROR, message: "not_found" })
      const ask = byName("carrier ask")
      assert.isUndefined(ask.parentSpanContext)
      assert.notStrictEqual(ask.spanContext().traceId, parent.spanContext().traceId)
      assert.strictEqual(ask.kind, api.SpanKind.CLIENT)
      assert.deepInclude(ask.attributes, { line: "renters", outcome: "offers" })
    })
  )

  it.live("receives neither facts nor keys", () =>
    Effect.gen(function* () {
      const { collected, finished, key } = yield* afterCalls
      const told = JSON.stringify([
        finished().map(({ attributes, events, name, status }) => ({ attributes, events, name, status })),
        yield* collected
      ])
      assert.include(told, "start_quote_request")
      for (const secret of [key, '"10001"', "receipt-0001"]) assert.notInclude(told, secret)
    })
  )

  it.live("receives all metrics at each collection", () =>
    Effect.gen(function* () {
      const { collected } = yield* afterCalls
      yield* collected
      const names = (yield* collected).map(({ descriptor }) => descriptor.name)
      assert.includeMembers(names, ["quotewire_up", "quotewire_carrier_exchanges_total"])
    })
  )

  it.live("receives no metrics once the service is closed", () =>
    Effect.gen(function* () {
      const callbacks = new Set<unknown>()
      const instrument = {
        addCallback: (callback: unknown) => callbacks.add(callback),
        removeCallback: (callback: unknown) => callbacks.delete(callback)
      }
      const getMeter = () => ({ createObservableGauge: () => instrument, createObservableCounter: () => instrument })
      const telemetry = { ...program().telemetry, metrics: { getMeter } }
      const quotewire = embed({ storage: MemoryStorage.layer, telemetry })
      yield* Effect.promise(() => quotewire.ready)
      assert.isAbove(callbacks.size, 0)
      yield* Effect.promise(() => quotewire.close())
      assert.strictEqual(callbacks.size, 0)
    })
  )

  it("must be the OpenTelemetry module", async () => {
    const whole: OpenTelemetry = api
    const quotewire = embed({ storage: MemoryStorage.layer, work: false, telemetry: whole })
    await quotewire.ready
    await quotewire.close()
    const wrong = embed({ storage: MemoryStorage.layer, telemetry: JSON.parse('{ "trace": {} }') })
    await wrong.ready.then(
      () => assert.fail("started"),
      ({ message }) => assert.match(message, /telemetry: Must be the module/)
    )
  })
})

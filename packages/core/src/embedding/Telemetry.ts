import { Cause, Context, Effect, Exit, Layer, Metric, Option, Predicate, Tracer } from "effect"

/*
 * Sends the service's spans and metrics to a program's OpenTelemetry API. This module declares the types that it needs,
 * so that the core does not depend on `@opentelemetry/api`.
 */

/**
 * The part of `@opentelemetry/api` that the service uses. Pass the whole module:
 * `import * as api from "@opentelemetry/api"`.
 */
export interface OpenTelemetry {
  readonly trace: {
    getTracer(name: string): ApiTracer
    setSpan(context: ApiContext, span: ApiSpan): ApiContext
    setSpanContext(context: ApiContext, span: ApiSpanContext): ApiContext
  }
  readonly context: { active(): ApiContext }
  /** Makes meters. If absent, no metrics are sent. */
  readonly metrics?: { getMeter(name: string): ApiMeter }
}

/** An OpenTelemetry context. Only OpenTelemetry's own functions read it. */
export interface ApiContext {
  getValue(key: symbol): unknown
  setValue(key: symbol, value: unknown): ApiContext
  deleteValue(key: symbol): ApiContext
}

interface ApiSpanContext {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
}

type Time = [seconds: number, nanoseconds: number]
type AttributeValue = string | number | boolean
type Attributes = Record<string, AttributeValue>

interface ApiSpan {
  spanContext(): ApiSpanContext
  setAttribute(key: string, value: AttributeValue): unknown
  addEvent(name: string, attributes: Attributes, time: Time): unknown
  setStatus(status: { code: number; message?: string }): unknown
  end(time: Time): void
}

interface ApiTracer {
  startSpan(
    name: string,
    options: { kind: number; startTime: Time; attributes: Attributes; root: boolean },
    context: ApiContext
  ): ApiSpan
}

interface ApiMeter {
  createObservableGauge(name: string, options: { description?: string }): ApiInstrument
  createObservableCounter(name: string, options: { description?: string }): ApiInstrument
}

interface ApiInstrument {
  addCallback(callback: Observe): void
  removeCallback(callback: Observe): void
}

type Observe = (result: { observe(value: number, attributes: Attributes): void }) => void

const library = "@quotewire/core"

/** Whether a value has the functions of `@opentelemetry/api` that the service uses. */
export const isOpenTelemetry = (value: unknown): value is OpenTelemetry =>
  hasFunctions(value, "trace", ["getTracer", "setSpan", "setSpanContext"]) &&
  hasFunctions(value, "context", ["active"]) &&
  (!Predicate.hasProperty(value, "metrics") || hasFunctions(value, "metrics", ["getMeter"]))

const hasFunctions = (value: unknown, part: string, names: ReadonlyArray<string>): boolean => {
  const api = Predicate.hasProperty(value, part) ? value[part] : undefined
  return Predicate.isObjectKeyword(api) && names.every((name) => typeof Reflect.get(api, name) === "function")
}

/** Sends the service's spans and metrics to OpenTelemetry. */
export const layer = (api: OpenTelemetry | undefined): Layer.Layer<never> =>
  api === undefined ? Layer.empty : Layer.merge(Layer.succeed(Tracer.Tracer, tracerOf(api)), metricsOf(api))

/**
 * Makes a function that runs a call in a span. The span's parent is the span that is active when the program makes the
 * call.
 */
export const traced = (api: OpenTelemetry | undefined, name: string) => {
  if (api === undefined) return <A, E, R>(call: Effect.Effect<A, E, R>) => call
  const active = api.context.active()
  return <A, E, R>(call: Effect.Effect<A, E, R>) =>
    Effect.withSpan(call, name, { annotations: Context.make(ActiveContext, active) })
}

/** The OpenTelemetry context that becomes the parent of service spans that have no other parent. */
class ActiveContext extends Context.Service<ActiveContext, ApiContext>()("@quotewire/core/ActiveContext") {}

const tracerOf = (api: OpenTelemetry): Tracer.Tracer => {
  const tracer = api.trace.getTracer(library)
  return Tracer.make({ span: (options) => new ServiceSpan(api, tracer, options) })
}

type SpanOptions = Parameters<Tracer.Tracer["span"]>[0]

const kinds = { internal: 0, server: 1, client: 2, producer: 3, consumer: 4 }
const statuses = { ok: 1, error: 2 }

/** A service span that is also an OpenTelemetry span. */
class ServiceSpan extends Tracer.NativeSpan {
  readonly #span: ApiSpan
  readonly apiContext: ApiContext

  constructor(api: OpenTelemetry, tracer: ApiTracer, options: SpanOptions) {
    super(options)
    const { active, isRoot } = parentOf(api, options)
    this.#span = tracer.startSpan(
      options.name,
      { kind: kinds[options.kind], startTime: timeOf(options.startTime), attributes: {}, root: isRoot },
      active
    )
    this.apiContext = api.trace.setSpan(active, this.#span)
  }

  override get spanId(): string {
    return this.#span.spanContext().spanId
  }

  override get traceId(): string {
    return this.#span.spanContext().traceId
  }

  override attribute(key: string, value: unknown): void {
    super.attribute(key, value)
    this.#span.setAttribute(key, attributeOf(value))
  }

  override event(name: string, startTime: bigint, attributes: Record<string, unknown> = {}): void {
    super.event(name, startTime, attributes)
    const converted = Object.entries(attributes).map(([key, value]) => [key, attributeOf(value)])
    this.#span.addEvent(name, Object.fromEntries(converted), timeOf(startTime))
  }

  override end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    super.end(endTime, exit)
    if (Exit.isSuccess(exit)) this.#span.setStatus({ code: statuses.ok })
    else if (!Cause.hasInterruptsOnly(exit.cause))
      this.#span.setStatus({ code: statuses.error, ...messageOf(exit.cause) })
    this.#span.end(timeOf(endTime))
  }
}

/**
 * The error's name, used as the span's message. The error's own message is not used, because it can repeat text from a
 * carrier or from the program's code.
 */
const messageOf = (cause: Cause.Cause<unknown>): { readonly message?: string } => {
  const error = Cause.squash(cause)
  if (Predicate.hasProperty(error, "_tag")) return { message: String(error._tag) }
  return error instanceof Error ? { message: error.name } : {}
}

const parentOf = (api: OpenTelemetry, { annotations, kind, parent, root }: SpanOptions) => {
  const active = api.context.active()
  const above = root ? undefined : Option.getOrUndefined(parent)
  if (above instanceof ServiceSpan) return { active: above.apiContext, isRoot: false }
  if (above !== undefined) {
    const { sampled, spanId, traceId } = above
    return { active: api.trace.setSpanContext(active, { spanId, traceId, traceFlags: sampled ? 1 : 0 }), isRoot: false }
  }
  const activeContext = Option.getOrUndefined(Context.getOption(annotations, ActiveContext))
  // A request's span continues the framework's span. Background work belongs to no request, so its span is a root.
  return activeContext === undefined ? { active, isRoot: kind !== "server" } : { active: activeContext, isRoot: false }
}

const second = 1_000_000_000n

const timeOf = (nanoseconds: bigint): Time => [Number(nanoseconds / second), Number(nanoseconds % second)]

const attributeOf = (value: unknown): AttributeValue =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : String(value)

/** Reports the service's metrics whenever OpenTelemetry collects metrics. */
const metricsOf = (api: OpenTelemetry): Layer.Layer<never> => {
  const meter = api.metrics?.getMeter(library)
  if (meter === undefined) return Layer.empty
  return Layer.effectDiscard(
    Effect.acquireRelease(
      Effect.map(Effect.context<never>(), (context) => observeAll(meter, context)),
      (stop) => Effect.sync(stop)
    )
  )
}

/** One value of a metric, under the metric's name in OpenTelemetry. */
interface MetricPoint {
  readonly name: string
  readonly isCounter: boolean
  readonly description: string | undefined
  readonly value: number
  readonly attributes: Attributes
}

/** Makes an instrument for each metric once the metric has a value. Returns a function that removes all instruments. */
const observeAll = (meter: ApiMeter, context: Context.Context<never>): (() => void) => {
  const stops = new Map<string, () => void>()
  const points = () => Metric.snapshotUnsafe(context).flatMap(pointsOf)
  const add = (name: string, isCounter: boolean, description: string | undefined, observe: Observe) => {
    if (stops.has(name)) return
    const options = description === undefined ? {} : { description }
    const instrument = isCounter
      ? meter.createObservableCounter(name, options)
      : meter.createObservableGauge(name, options)
    instrument.addCallback(observe)
    stops.set(name, () => instrument.removeCallback(observe))
  }
  const addNew = () => {
    for (const { description, isCounter, name } of points()) {
      add(name, isCounter, description, (result) => {
        for (const point of points()) if (point.name === name) result.observe(point.value, point.attributes)
      })
    }
  }
  // This callback runs at every collection, and also makes instruments for metrics that are new since the last
  // collection.
  add("quotewire_up", false, "1 while the service runs.", (result) => {
    result.observe(1, {})
    addNew()
  })
  addNew()
  return () => {
    for (const stop of stops.values()) stop()
  }
}

const pointsOf = (metric: Metric.Metric.Snapshot): ReadonlyArray<MetricPoint> => {
  const { attributes = {}, description, id } = metric
  const point = (
    name: string,
    isCounter: boolean,
    value: number | bigint,
    pointAttributes: Attributes = {}
  ): MetricPoint => ({
    name,
    isCounter,
    description,
    value: Number(value),
    attributes: { ...attributes, ...pointAttributes }
  })
  switch (metric.type) {
    case "Counter":
      return [point(id, metric.state.incremental, metric.state.count)]
    case "Gauge":
      return [point(id, false, metric.state.value)]
    case "Frequency":
      return Array.from(metric.state.occurrences, ([key, count]) => point(id, true, count, { key }))
    default:
      return [point(`${id}_count`, true, metric.state.count), point(`${id}_sum`, true, metric.state.sum)]
  }
}

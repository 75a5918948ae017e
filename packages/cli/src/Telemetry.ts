import type { Quotewire } from "@quotewire/core"
import { type Handler, type Http, Metrics } from "@quotewire/http"
import { Effect, Layer, Logger, Option, type Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { OtlpSerialization, OtlpTracer } from "effect/observability"
import type { HostSettings } from "./HostSettings.ts"
import * as StrayFaults from "./StrayFaults.ts"
import { version } from "./version.ts"

/** How a process reports what it does: logs on standard error, also of stray faults, and traces if they are configured. */
export const layer = ({ log_format, otlp_url }: Pick<HostSettings, "log_format" | "otlp_url">): Layer.Layer<never> => {
  const format = log_format === "json" ? Logger.formatJson : Logger.formatLogFmt
  const logs = Layer.provideMerge(StrayFaults.layer, Logger.layer([Logger.withConsoleError(format)]))
  if (Option.isNone(otlp_url)) return logs
  const traces = OtlpTracer.layer({
    url: `${otlp_url.value}/v1/traces`,
    resource: { serviceName: "quotewire", serviceVersion: version }
  })
  return Layer.merge(
    logs,
    traces.pipe(Layer.provide(OtlpSerialization.layerJson), Layer.provide(FetchHttpClient.layer))
  )
}

/** What a host must measure; empty if metrics are off. */
export type MetricsHooks = Pick<Handler.Settings, "onAnswered">

/** Where a process serves its metrics. */
export interface MetricsSettings extends Pick<HostSettings, "host" | "metrics_port"> {
  /** Another process collects the metrics of this one and serves them, so this one only measures. */
  readonly metrics_are_collected?: boolean
}

/** Serves metrics if they are configured. Otherwise nothing is measured. */
export const measure = Effect.fnUntraced(function* ({
  host,
  metrics_are_collected = false,
  metrics_port
}: MetricsSettings): Effect.fn.Return<MetricsHooks, Http.CannotListen, Quotewire.Services | Scope.Scope> {
  if (Option.isNone(metrics_port)) return {}
  if (!metrics_are_collected) yield* Metrics.serve({ host, port: metrics_port.value })
  return { onAnswered: yield* Metrics.onAnswered }
})

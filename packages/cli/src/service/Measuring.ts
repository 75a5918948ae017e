import type { Quotewire } from "@quotewire/core"
import { type Handler, type Http, Metrics } from "@quotewire/http"
import { Effect, Option, type Scope } from "effect"
import type { HostSettings } from "../settings/HostSettings.ts"

/** The hooks that measure a host; empty if metrics are off. */
export type MetricsHooks = Pick<Handler.Settings, "onAnswered">

/** Where a process serves its metrics. */
export interface MetricsSettings extends Pick<HostSettings, "host" | "metrics_port"> {
  /** Whether another process collects and serves this process's metrics, so that this process only measures. */
  readonly metrics_are_collected?: boolean
}

/** Creates the hooks that measure a host, and serves the metrics. Measures nothing if metrics are not configured. */
export const measure = Effect.fnUntraced(function* ({
  host,
  metrics_are_collected = false,
  metrics_port
}: MetricsSettings): Effect.fn.Return<MetricsHooks, Http.CannotListen, Quotewire.Services | Scope.Scope> {
  if (Option.isNone(metrics_port)) return {}
  if (!metrics_are_collected) yield* Metrics.serve({ host, port: metrics_port.value })
  return { onAnswered: yield* Metrics.onAnswered }
})

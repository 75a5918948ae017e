import { Layer, Logger, Option } from "effect"
import { FetchHttpClient } from "effect/http"
import { OtlpSerialization, OtlpTracer } from "effect/observability"
import type { HostSettings } from "../settings/HostSettings.ts"
import { version } from "../version.ts"
import * as StrayFaults from "./StrayFaults.ts"

/**
 * The telemetry of a process: logs on standard error, including unhandled errors, and traces if they are configured.
 */
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

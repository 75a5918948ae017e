import { Effect, Layer, Logger, Option, Stdio, type Terminal } from "effect"
import { FetchHttpClient } from "effect/http"
import { OtlpSerialization, OtlpTracer } from "effect/observability"
import type { HostSettings } from "../settings/HostSettings.ts"
import * as LogText from "../terminal/LogText.ts"
import { version } from "../version.ts"
import * as StrayFaults from "./StrayFaults.ts"

/** Whether logs are text for people. `auto` means text at a terminal, and logfmt for files and log collectors. */
export const isText = ({ log_format }: Pick<HostSettings, "log_format">): Effect.Effect<boolean, never, Stdio.Stdio> =>
  log_format === "auto"
    ? Stdio.Stdio.use(({ stderrIsTerminal }) => stderrIsTerminal)
    : Effect.succeed(log_format === "text")

const loggerOf = Effect.fnUntraced(function* (settings: Pick<HostSettings, "log_format">) {
  if (yield* isText(settings)) return yield* LogText.logger
  return settings.log_format === "json" ? Logger.formatJson : Logger.formatLogFmt
})

/**
 * The telemetry of a process: logs on standard error, including unhandled errors, and traces if they are configured.
 */
export const layer = ({
  log_format,
  otlp_url
}: Pick<HostSettings, "log_format" | "otlp_url">): Layer.Layer<never, never, Stdio.Stdio | Terminal.Terminal> => {
  const logger = Effect.map(loggerOf({ log_format }), (format) => Logger.layer([Logger.withConsoleError(format)]))
  const logs = Layer.provideMerge(StrayFaults.layer, Layer.unwrap(logger))
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

import type { Allowance, WebhookAddress } from "@quotewire/core"
import type { ClientAddress } from "@quotewire/http"
import type { Option } from "effect"
import * as Settings from "./Settings.ts"

/** The settings that every host has, regardless of its storage. */
export interface HostSettings {
  readonly port: number
  readonly host: string
  readonly base_url: Option.Option<string>
  readonly cors_origins: ReadonlyArray<string>
  readonly mcp_origins: ReadonlyArray<string>
  readonly json: boolean
  readonly limits: Allowance.Limits
  readonly no_limits: boolean
  readonly trust_proxy: Option.Option<ClientAddress.TrustedProxies>
  readonly proxy_header: ClientAddress.ProxyHeader
  readonly request_log: boolean
  readonly feedback: boolean
  readonly metrics_port: Option.Option<number>
  readonly otlp_url: Option.Option<string>
  readonly log_format: Settings.LogFormat
  readonly webhook_allow: WebhookAddress.Policy["allow"]
  readonly webhook_header_prefix: string
  /** The path of the configuration file. */
  readonly config: Option.Option<string>
}

/** The flags that every host has. `networks` is the default value of `--webhook-allow`. */
export const flags = (networks: string) => ({
  port: Settings.port,
  host: Settings.host,
  base_url: Settings.baseUrl,
  cors_origins: Settings.corsOrigins,
  mcp_origins: Settings.mcpOrigins,
  json: Settings.json,
  limits: Settings.limits,
  no_limits: Settings.noLimits,
  trust_proxy: Settings.trustProxy,
  proxy_header: Settings.proxyHeader,
  request_log: Settings.requestLog,
  feedback: Settings.feedback,
  metrics_port: Settings.metricsPort,
  otlp_url: Settings.otlpUrl,
  log_format: Settings.logFormat,
  webhook_allow: Settings.webhookAllow(networks),
  webhook_header_prefix: Settings.webhookHeaderPrefix,
  config: Settings.config
})

import { Allowance, ApiKey, HttpAddress, Signature, WebhookAddress } from "@quotewire/core"
import { ClientAddress } from "@quotewire/http"
import { Config, Option, Redacted, Result } from "effect"
import { Flag } from "effect/cli"

/** The environment variable of a setting: `--base-url` is `QUOTEWIRE_BASE_URL`. */
export const variableOf = (flag: string): string => `QUOTEWIRE_${flag.toUpperCase().replaceAll("-", "_")}`

export const text = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withFallbackConfig(Config.String(variableOf(name))),
    Flag.withDescription(`${description} [${variableOf(name)}]`)
  )

/** A setting that is a secret, or holds one. In a command line others can read it: the variable is the better place. */
export const secret = (name: string, description: string) =>
  Flag.Redacted(name).pipe(
    Flag.withFallbackConfig(Config.Redacted(variableOf(name))),
    Flag.withMetavar("secret"),
    Flag.withDescription(`${description} [${variableOf(name)}]`)
  )

export const toggle = (name: string, description: string, unless_told = false) =>
  Flag.Boolean(name).pipe(
    Flag.withFallbackConfig(Config.Boolean(variableOf(name))),
    Flag.withDefault(unless_told),
    Flag.withDescription(`${description} [${variableOf(name)}]`)
  )

/** What a setting must be; both its names are said, since either may have been used. */
export const must = (flag: string, what: string): string => `--${flag} (or ${variableOf(flag)}) must ${what}`

/** One of these words, in upper or lower case. */
export const oneOf = <Word extends string>(words: ReadonlyArray<Word>, text: string): Option.Option<Word> =>
  Option.fromUndefinedOr(words.find((word) => word === text.toLowerCase()))

/** A setting that is one of these words. */
export const choice = <const Word extends string>(name: string, words: ReadonlyArray<Word>, description: string) =>
  text(name, description).pipe(
    Flag.filterMap(
      (word) => oneOf(words, word),
      () => must(name, `be ${words.join(" or ")}`)
    )
  )

const readPort = (text: string): Option.Option<number> =>
  /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Option.some(Number(text)) : Option.none()

const portAt = (name: string, description: string) =>
  text(name, description).pipe(Flag.filterMap(readPort, () => must(name, "be a whole number from 0 to 65535")))

const portOr = (fallback: number) =>
  portAt("port", `Port to listen at; 0 takes a free one; ${fallback} by default`).pipe(Flag.withDefault(fallback))

/** Where the host listens; 0 takes a free port. */
export const port = portOr(8787)

/** The address at which the host listens. */
export const host = text("host", "Address to listen at; 127.0.0.1 by default").pipe(Flag.withDefault("127.0.0.1"))

const baseAddress = (name: string, description: string) =>
  text(name, description).pipe(
    Flag.filterMap(
      (address) => Result.getSuccess(HttpAddress.readBase(address)),
      () =>
        must(name, "be an http or https address such as https://quotes.example.com, without query, user and password")
    )
  )

/** The address that callers use. */
export const public_url = baseAddress("base-url", "Address that callers use")

/** The address that callers use, where it is not the one that the host listens at. */
export const base_url = Flag.optional(public_url)

/** A host that runs already, where this process is to pass calls on. */
export const host_url = base_url.pipe(
  Flag.withDescription(
    `Address of a running host to pass calls on to; all is in memory by default [${variableOf("base-url")}]`
  )
)

/** The key that an agent calls with. */
export const api_key = secret("api-key", "API key to call with; none by default").pipe(
  Flag.filter(
    (key) => ApiKey.isWellFormed(Redacted.value(key)),
    () => must("api-key", "be a whole API key, such as sandbox_server_…")
  ),
  Flag.optional
)

/** Agents over HTTP instead of standard input and output. */
export const http = toggle("http", "Serve over HTTP instead of standard input and output")

/** Where the pages behind the links of quotes are served, and agents with `http`. */
export const agent_port = portOr(0)

const origins = (name: string, description: string) =>
  text(name, description).pipe(
    Flag.filterMap(
      (list) => Result.getSuccess(Result.all(list.split(",").map((origin) => HttpAddress.readOrigin(origin.trim())))),
      () => must(name, "be origins such as https://app.example.com, separated by commas, without a path")
    ),
    Flag.withDefault<ReadonlyArray<string>>([])
  )

/** Web pages that may call with a widget key. */
export const cors_origins = origins(
  "cors-origins",
  "Origins, separated by commas, whose pages may call with a widget key"
)

/** Web pages that may call the agent endpoint; programs that are no pages send no origin. */
export const mcp_origins = origins(
  "mcp-origins",
  "Origins, separated by commas, whose pages may call the agent endpoint"
)

/** Networks beside the public ones to which webhooks may go, over plain http too. `fallback` where nothing is set. */
export const webhook_allow = (fallback: string) =>
  text(
    "webhook-allow",
    `Networks beside the public ones to which webhooks may go; ${fallback === "" ? "none" : fallback} by default`
  ).pipe(
    Flag.withDefault(fallback),
    Flag.filterMap(
      (networks) => Option.fromNullishOr(WebhookAddress.readNetworks(networks)),
      () => must("webhook-allow", "be networks separated by commas, such as 127.0.0.0/8,::1/128")
    )
  )

/** The prefix of the second set of webhook headers. */
export const webhook_header_prefix = text(
  "webhook-header-prefix",
  "What the second set of webhook headers begins with; quotewire- by default"
).pipe(
  Flag.withDefault(Signature.default_header_prefix),
  Flag.filter(
    (prefix) => /^[a-z][a-z0-9-]{0,30}-$/.test(prefix),
    () => must("webhook-header-prefix", "be lower-case letters, digits and hyphens, with a hyphen at its end")
  )
)

/** One line of JSON instead of a page for a person. */
export const json = toggle("json", "Print one line of JSON when ready, and nothing else on standard output")

/** No limits on the number of calls. */
export const no_limits = toggle("no-limits", "Admit calls without limits, for load tests")

/** What of the contract's limits is otherwise here. */
export const limits = text("limits", "Limits as JSON; what it leaves out is as in the contract").pipe(
  Flag.withDefault("{}"),
  Flag.filterMap(
    (json) => Result.getSuccess(Allowance.readLimits(json)),
    (json) => must("limits", `be JSON that names limits; ${wrongIn(json)}`)
  )
)

const wrongIn = (json: string): string => Result.merge(Result.map(Allowance.readLimits(json), () => ""))

/** The proxies whose word is taken for a caller's address. */
export const trust_proxy = text(
  "trust-proxy",
  "Proxies in front of the host: how many, or their networks; none by default"
).pipe(
  Flag.filterMap(
    (trusted) => Option.fromNullishOr(ClientAddress.readTrusted(trusted)),
    () => must("trust-proxy", "be a number from 1 to 16, or networks separated by commas, such as 10.0.0.0/8")
  ),
  Flag.optional
)

/** The header in which those proxies tell a caller's address. */
export const proxy_header = choice(
  "proxy-header",
  ClientAddress.proxyHeaders,
  "The header that trusted proxies write, x-forwarded-for or forwarded; x-forwarded-for by default"
).pipe(Flag.withDefault<ClientAddress.ProxyHeader>("x-forwarded-for"))

/** Whether calls are logged for `GET /v1/requests`. */
export const request_log = toggle("request-log", "Log calls for GET /v1/requests; --no-request-log turns it off", true)

/** Whether reports about the API are taken. */
export const feedback = toggle("feedback", "Take reports at POST /v1/feedback; --no-feedback turns it off", true)

/** Where `/metrics` is served; nowhere by default. */
export const metrics_port = portAt("metrics-port", "Port to serve /metrics at; off by default").pipe(Flag.optional)

/** Where traces go; nowhere by default. */
export const otlp_url = baseAddress("otlp-url", "Collector of OpenTelemetry to send traces to; off by default").pipe(
  Flag.optional
)

/** The forms in which logs can be written. */
const logFormats = ["logfmt", "json"] as const
export type LogFormat = (typeof logFormats)[number]

/** How logs are written. */
export const log_format = choice(
  "log-format",
  logFormats,
  "Form of the logs on standard error, logfmt or json; logfmt by default"
).pipe(Flag.withDefault<LogFormat>("logfmt"))

/** Stack traces of failures. */
export const verbose = toggle("verbose", "Print the stack trace of a failure")

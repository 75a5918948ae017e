import { ApiKey, HttpAddress, Limits, Signature, WebhookAddress } from "@quotewire/core/program"
import { ClientAddress } from "@quotewire/http/program"
import { Config, Option, Redacted, Result } from "effect"
import { Flag } from "effect/cli"

/** The environment variable of a setting: `QUOTEWIRE_BASE_URL` for `--base-url`. */
export const variableOf = (flag: string): string => `QUOTEWIRE_${flag.toUpperCase().replaceAll("-", "_")}`

export const textSetting = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withFallbackConfig(Config.String(variableOf(name))),
    Flag.withDescription(`${description} [${variableOf(name)}]`)
  )

/**
 * A setting that is or contains a secret. Its environment variable is preferred, because other users can read the
 * command line.
 */
export const secret = (name: string, description: string) =>
  Flag.Redacted(name).pipe(
    Flag.withFallbackConfig(Config.Redacted(variableOf(name))),
    Flag.withMetavar("secret"),
    Flag.withDescription(`${description} [${variableOf(name)}]`)
  )

export const toggle = (name: string, description: string, isOnByDefault = false) =>
  Flag.Boolean(name).pipe(
    Flag.withFallbackConfig(Config.Boolean(variableOf(name))),
    Flag.withDefault(isOnByDefault),
    Flag.withDescription(`${description} [${variableOf(name)}]`)
  )

/** Names a setting by its flag and its variable, because the user may have used either. */
export const nameOf = (flag: string): string => `--${flag} (or ${variableOf(flag)})`

/** Describes what a setting must be. */
export const settingError = (flag: string, requirement: string): string => `${nameOf(flag)} must ${requirement}`

const disjunction = new Intl.ListFormat("en", { type: "disjunction" })

/** Joins words as alternatives, such as "server, widget, or platform". */
export const anyOf = (words: ReadonlyArray<string>): string => disjunction.format(words)

/** Finds the word that equals the text, ignoring case. */
export const oneOf = <Word extends string>(words: ReadonlyArray<Word>, text: string): Option.Option<Word> =>
  Option.fromUndefinedOr(words.find((candidate) => candidate === text.toLowerCase()))

/** A setting whose value is one of these words. */
export const choice = <const Word extends string>(name: string, words: ReadonlyArray<Word>, description: string) =>
  textSetting(name, description).pipe(
    Flag.filterMap(
      (text) => oneOf(words, text),
      () => settingError(name, `be ${anyOf(words)}`)
    )
  )

/** A flag whose value is one of these words. It has no environment variable. */
export const word = <const Word extends string>(name: string, words: ReadonlyArray<Word>, description: string) =>
  Flag.String(name).pipe(
    Flag.filterMap(
      (text) => oneOf(words, text),
      () => `--${name} must be ${anyOf(words)}`
    ),
    Flag.withDescription(`${description}: ${anyOf(words)}`)
  )

const readPort = (text: string): Option.Option<number> =>
  /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Option.some(Number(text)) : Option.none()

const portAt = (name: string, description: string) =>
  textSetting(name, description).pipe(
    Flag.filterMap(readPort, () => settingError(name, "be a whole number from 0 to 65535"))
  )

const portOr = (fallback: number) =>
  portAt(
    "port",
    `Port to listen on; ${fallback === 0 ? "a free one by default" : `${fallback} by default, 0 picks a free one`}`
  ).pipe(Flag.withDefault(fallback))

/** The port that the host listens on. 0 picks a free port. */
export const port = portOr(8787)

/** The address that the host listens on. */
export const host = textSetting("host", "Address to listen on; 127.0.0.1 by default").pipe(
  Flag.withDefault("127.0.0.1")
)

/** The service's configuration file, which lists its carriers, for example. */
export const config = textSetting(
  "config",
  "Configuration file; by default quotewire.config.ts, .mts, .js or .mjs in the current folder"
).pipe(Flag.optional)

const baseAddress = (name: string, description: string) =>
  textSetting(name, description).pipe(
    Flag.filterMap(
      (address) => Result.getSuccess(HttpAddress.readBase(address)),
      () =>
        settingError(
          name,
          "be an http or https address such as https://quotes.example.com, without query, user or password"
        )
    )
  )

/** The address that callers use. */
export const publicUrl = baseAddress("base-url", "Address that callers use")

/** The address that callers use, if it differs from the address that the host listens on. */
export const baseUrl = Flag.optional(publicUrl)

const keyOf = (description: string) =>
  secret("api-key", description).pipe(
    Flag.filter(
      (key) => ApiKey.isWellFormed(Redacted.value(key)),
      () => settingError("api-key", "be a complete API key, such as sandbox_server_…")
    )
  )

/** The key with which `quotewire mcp` calls for its agent. */
export const agentKey = Flag.optional(keyOf("API key to call with; none by default"))

/** The key with which a command calls a running host. */
export const callerKey = keyOf("API key to call the host with")

/** The running host that a command calls. */
export const calledUrl = baseAddress(
  "base-url",
  "Address of the host; by default the profile's address, or http://127.0.0.1:8787, where quotewire dev listens"
)

/** The host that a command calls by default: the address of `quotewire dev`. */
export const localUrl = "http://127.0.0.1:8787"

/** Whether a profile can have this name. A name that looks like a key is not allowed, because names are printed. */
export const isProfileName = (name: string): boolean =>
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) && !ApiKey.isWellFormed(name)

/** The name of a profile. A profile is a key that `quotewire login` saved, with the address of its host. */
export const profile = textSetting("profile", "Name of a profile; by default, the profile named default").pipe(
  Flag.filter(isProfileName, () =>
    settingError("profile", "be a name of 1 to 64 letters, digits, dots, hyphens and underscores")
  )
)

/** Whether the agent is served over HTTP instead of standard input and output. */
export const http = toggle("http", "Serve over HTTP instead of standard input and output")

/** The port at which `quotewire mcp` serves the pages of quote links and, with `--http`, the agent. */
export const agentPort = portOr(0)

const origins = (name: string, description: string) =>
  textSetting(name, description).pipe(
    Flag.filterMap(
      (list) => Result.getSuccess(Result.all(list.split(",").map((origin) => HttpAddress.readOrigin(origin.trim())))),
      () => settingError(name, "be origins such as https://app.example.com, separated by commas, without a path")
    ),
    Flag.withDefault<ReadonlyArray<string>>([])
  )

/** The origins of web pages that may call with a widget key. */
export const corsOrigins = origins(
  "cors-origins",
  "Origins, separated by commas, whose pages may call with a widget key"
)

/**
 * The origins of web pages that may call the agent endpoint. Other programs send no origin, so this does not affect
 * them.
 */
export const mcpOrigins = origins(
  "mcp-origins",
  "Origins, separated by commas, whose pages may call the agent endpoint"
)

/**
 * The networks that webhooks may reach in addition to public networks, even over plain HTTP. The default is `fallback`.
 */
export const webhookAllow = (fallback: string) =>
  textSetting(
    "webhook-allow",
    `Networks that webhooks may reach besides public ones, also over plain HTTP; ${fallback === "" ? "none" : fallback} by default`
  ).pipe(
    Flag.withDefault(fallback),
    Flag.filterMap(
      (networks) => Option.fromNullishOr(WebhookAddress.readNetworks(networks)),
      () => settingError("webhook-allow", "be networks separated by commas, such as 127.0.0.0/8,::1/128")
    )
  )

/** The secret with which forwarded events are signed. */
export const signingSecret = secret("signing-secret", "Secret to sign events with, whsec_…").pipe(
  Flag.filter(
    (text) => Signature.isSecret(Redacted.value(text)),
    () => settingError("signing-secret", "be whsec_ and 24 to 64 random bytes in base64, as quotewire listen prints it")
  )
)

/** The prefix of the provider's own webhook headers, which repeat the `webhook-` headers. */
export const webhookHeaderPrefix = textSetting(
  "webhook-header-prefix",
  "Prefix of the second set of webhook headers; quotewire- by default"
).pipe(
  Flag.withDefault(Signature.defaultHeaderPrefix),
  Flag.filter(
    (prefix) => /^[a-z][a-z0-9-]{0,30}-$/.test(prefix),
    () => settingError("webhook-header-prefix", "be lower-case letters, digits and hyphens, and end with a hyphen")
  )
)

/** The folder in which `quotewire dev` stores all data. */
export const data = textSetting(
  "data",
  "Folder that keeps all data across restarts; by default, all data is in memory"
).pipe(
  Flag.filter(
    (folder) => folder.trim() !== "",
    () => settingError("data", "be the path of a folder")
  ),
  Flag.optional
)

/** Whether to print one line of JSON instead of text for people. */
export const json = toggle("json", "Print one line of JSON, and nothing else on standard output")

/** Whether rate limits are off. */
export const noLimits = toggle("no-limits", "Turn rate limits off, for load tests")

/** Rate limits that differ from those in the API contract. */
export const limits = textSetting("limits", "Rate limits as JSON; omitted limits keep their defaults").pipe(
  Flag.withDefault("{}"),
  Flag.filterMap(
    (text) => Result.getSuccess(Limits.readLimits(text)),
    (text) => settingError("limits", `be JSON that sets limits; ${wrongIn(text)}`)
  )
)

const wrongIn = (text: string): string => Result.merge(Result.map(Limits.readLimits(text), () => ""))

/** The proxies that are trusted to report a caller's address. */
export const trustProxy = textSetting(
  "trust-proxy",
  "Trusted proxies in front of the host: how many, or their networks; none by default"
).pipe(
  Flag.filterMap(
    (trusted) => Option.fromNullishOr(ClientAddress.readTrusted(trusted)),
    () => settingError("trust-proxy", "be a number from 1 to 16, or networks separated by commas, such as 10.0.0.0/8")
  ),
  Flag.optional
)

/** The header in which the trusted proxies report a caller's address. */
export const proxyHeader = choice(
  "proxy-header",
  ClientAddress.proxyHeaders,
  "Header that trusted proxies write: x-forwarded-for (the default) or forwarded"
).pipe(Flag.withDefault<ClientAddress.ProxyHeader>("x-forwarded-for"))

/** Whether calls are logged for `GET /v1/requests`. */
export const requestLog = toggle("request-log", "Log calls for GET /v1/requests; --no-request-log turns it off", true)

/** Whether the host accepts feedback about the API. */
export const feedback = toggle("feedback", "Accept reports at POST /v1/feedback; --no-feedback turns it off", true)

/** Whether the operators' API is served. */
export const operators = toggle("operators", "Serve the operators' API below /operator/v1; it needs operators' tokens")

/** Whether the console is served. */
export const consolePages = toggle("console", "Serve the console, a page for browsers, at /console")

/** The port that serves `/metrics`; off by default. */
export const metricsPort = portAt("metrics-port", "Port that serves /metrics; off by default").pipe(Flag.optional)

/** The collector that receives traces; off by default. */
export const otlpUrl = baseAddress("otlp-url", "OpenTelemetry collector that receives traces; off by default").pipe(
  Flag.optional
)

const logFormats = ["auto", "text", "logfmt", "json"] as const
export type LogFormat = (typeof logFormats)[number]

/** The maximum number of processes of one command. */
const maxProcesses = 64

const readProcesses = (text: string): Option.Option<number | "auto"> => {
  if (text === "auto") return Option.some(text)
  const count = /^\d{1,2}$/.test(text) ? Number(text) : 0
  return count >= 1 && count <= maxProcesses ? Option.some(count) : Option.none()
}

/** How many processes serve on one port. `auto` means one for each core. */
export const processes = textSetting(
  "processes",
  `Processes that listen on one port: 1 (the default) to ${maxProcesses}, or auto for one per core`
).pipe(
  Flag.filterMap(readProcesses, () =>
    settingError("processes", `be a whole number from 1 to ${maxProcesses}, or auto for one per core`)
  ),
  Flag.withDefault<number | "auto">(1)
)

/** The number of processes to run: the given number or, for `auto`, one for each core. */
export const countOf = (setting: number | "auto", cores: number): number =>
  setting === "auto" ? Math.min(cores, maxProcesses) : setting

/** The format of the logs. */
export const logFormat = choice(
  "log-format",
  logFormats,
  "Format of the logs on standard error: text, logfmt or json; auto (the default) is text at a terminal and logfmt elsewhere"
).pipe(Flag.withDefault<LogFormat>("auto"))

/** Whether stack traces of failures are printed. */
export const verbose = toggle("verbose", "Print the stack trace of a failure")

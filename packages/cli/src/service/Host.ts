import { Quotewire } from "@quotewire/core"
import { type ConsoleSettings, Http, type OAuthSettings, type Receiver, ServiceApi } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { Context, Effect, Layer, Option, type Scope } from "effect"
import type { CommandFailed } from "../settings/CommandErrors.ts"
import type { HostSettings } from "../settings/HostSettings.ts"
import { refusedPort } from "../settings/refusals.ts"
import { version } from "../version.ts"
import * as CallLog from "./CallLog.ts"
import * as Measuring from "./Measuring.ts"

/** The settings of the HTTP host. */
export type HostOptions = Pick<
  HostSettings,
  "port" | "host" | "base_url" | "cors_origins" | "mcp_origins" | "trust_proxy" | "proxy_header"
> &
  Measuring.MetricsSettings & {
    /** The OAuth issuer whose tokens the agent endpoint accepts; none by default. */
    readonly oauth?: OAuthSettings | null
    /** Whether the operators' API is served; false by default. */
    readonly operators?: boolean
    /** The console; none by default. */
    readonly console?: ConsoleSettings | null
    /** Whether each call of an operation is logged; false by default. */
    readonly logs_calls?: boolean
    /** Receives connections from the primary; by default this process listens itself. */
    readonly receiver?: Receiver
  }

/** Whether the host serves REST besides the agent endpoint and the quote links. */
export type RestMode = "rest" | "no_rest"

/** Serves the service until the scope closes. Returns the host with its bound address. */
export const serve = (
  settings: HostOptions,
  restMode: RestMode = "rest"
): Effect.Effect<Http.Host["Service"], CommandFailed, ServiceApi.Services | Scope.Scope> =>
  Effect.gen(function* () {
    const measured = yield* Measuring.measure(settings)
    const hooks = settings.logs_calls === true ? yield* CallLog.logging(measured) : measured
    return yield* Layer.build(layerOf(settings, restMode, hooks))
  }).pipe(
    Effect.map(Context.get(Http.Host)),
    Effect.catchTag("CannotListen", (refused) => Effect.fail(refusedPort(settings, refused)))
  )

const layerOf = (settings: HostOptions, restMode: RestMode, hooks: Measuring.MetricsHooks) =>
  Layer.unwrap(
    Effect.map(Effect.context<Quotewire.Services>(), (context) =>
      Http.layer<ServiceApi.Services>({
        ...ServiceApi.of({
          rest: restMode === "rest",
          mcp: () => mcp({ version }),
          // If only this machine can reach the host, web pages from this machine may call the agent endpoint.
          mcp_origins: { allowed: settings.mcp_origins, loopback: isLoopback(settings.host) },
          oauth: settings.oauth ?? null,
          operators: settings.operators ?? false,
          ...(settings.console !== undefined && settings.console !== null && { console: settings.console })
        }),
        host: settings.host,
        port: settings.port,
        ...(settings.receiver !== undefined && { receiver: settings.receiver }),
        cors_origins: settings.cors_origins,
        ...hooks,
        wake: Effect.provideContext(Quotewire.releaseLongPolls, context),
        ...(Option.isSome(settings.trust_proxy) && {
          proxies: { trusted: settings.trust_proxy.value, header: settings.proxy_header }
        }),
        ...(Option.isSome(settings.base_url) && { base_url: settings.base_url.value })
      })
    )
  )

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.")

import { operations, Quotewire, type Storage } from "@quotewire/core"
import { CarrierCallbacks, Go, Http } from "@quotewire/http"
import { Context, Effect, Layer, Option, type Scope } from "effect"
import * as Agents from "./Agents.ts"
import { Failed } from "./Failed.ts"
import type { HostSettings } from "./HostSettings.ts"
import * as Observing from "./Observing.ts"

/** The settings of the HTTP host. */
export type Listening = Pick<
  HostSettings,
  "port" | "host" | "base_url" | "cors_origins" | "mcp_origins" | "trust_proxy" | "proxy_header" | "metrics_port"
>

/** Whether REST is served besides the agent endpoint and the links of quotes. */
export type Rest = "rest" | "no_rest"

/** Serves the service until the scope closes. Returns the host with its bound address. */
export const serve = (
  settings: Listening,
  rest: Rest = "rest"
): Effect.Effect<Http.Host["Service"], Failed, Needs | Scope.Scope> =>
  Effect.flatMap(Observing.measure(settings), (measuring) => Layer.build(layerOf(settings, rest, measuring))).pipe(
    Effect.map(Context.get(Http.Host)),
    Effect.catchTag("CannotListen", ({ message }) => Effect.fail(new Failed({ message })))
  )

type Needs = Quotewire.Services | Storage.Storage

const layerOf = (settings: Listening, rest: Rest, measuring: Observing.Measuring) =>
  Layer.unwrap(
    Effect.map(Effect.context<Quotewire.Services>(), (context) =>
      Http.layer<Needs>({
        operations: rest === "rest" ? operations : [],
        routes: [Go.route(Quotewire.go), CarrierCallbacks.route(Quotewire.carrierCallback), ...Agents.routes(settings)],
        ready: Quotewire.ready,
        environments: Quotewire.environments,
        host: settings.host,
        port: settings.port,
        cors_origins: settings.cors_origins,
        ...measuring,
        wake: Effect.provideContext(Quotewire.releaseLongPolls, context),
        ...(Option.isSome(settings.trust_proxy) && {
          proxies: { trusted: settings.trust_proxy.value, header: settings.proxy_header }
        }),
        ...(Option.isSome(settings.base_url) && { base_url: settings.base_url.value })
      })
    )
  )

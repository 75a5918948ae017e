import { Effect, Layer, type Scope } from "effect"
import * as Addresses from "./host/Addresses.ts"
import * as Handler from "./node/Handler.ts"
import * as ScalarScript from "./node/ScalarScript.ts"
import * as Server from "./node/Server.ts"
import * as Api from "./routes/Api.ts"

export { CannotListen, Host } from "./node/Server.ts"

/** Settings of the API when it runs inside an existing server. */
export interface HandlerSettings<R>
  extends Omit<Api.Settings<R>, "reference_script">,
    Omit<Handler.Settings, "docs_url"> {}

/** Settings of the API when it runs its own server. */
export interface Settings<R> extends Omit<HandlerSettings<R>, "base_url">, Server.Settings {
  /** The address that callers use; by default the address that the server listens on. */
  readonly base_url?: string
}

/**
 * The API as a handler for an existing `node:http` or Express server.
 *
 * It reads bodies itself, or takes `request.body` from a body parser that runs before it. Closing the scope interrupts
 * running requests. To stop gracefully, run `close` and `idle` first.
 */
export const handler = Effect.fnUntraced(function* <R>(
  handlerSettings: HandlerSettings<R>
): Effect.fn.Return<Handler.Handler, never, Api.Services<R> | Scope.Scope> {
  const settings = yield* Api.complete(yield* Addresses.checked(handlerSettings))
  const { base_url, docs_url = `${base_url}/docs`, public_path = Addresses.pathOf(base_url) } = settings
  const routes = Api.routes({ ...settings, reference_script: ScalarScript.find() })
  return yield* Handler.make(routes, { ...settings, docs_url, public_path })
})

/**
 * Serves the API until its scope closes, then stops within ten seconds.
 *
 * While stopping, it accepts no new connections and returns pending long polls immediately. Running requests may finish
 * within the grace period (`grace_ms`); after that, the remaining requests get `service_unavailable`. Each connection
 * closes after its next response. Idle connections close last.
 */
export const layer = <R>(settings: Settings<R>): Layer.Layer<Server.Host, Server.CannotListen, Api.Services<R>> =>
  Layer.effect(Server.Host, serve(settings))

const serve = Effect.fnUntraced(function* <R>(settings: Settings<R>) {
  const server = yield* Server.listen(settings)
  const { base_url } = yield* Addresses.checked({ ...settings, base_url: settings.base_url ?? server.url })
  yield* server.attach(yield* handler({ ...settings, base_url }))
  return Server.Host.of({ host: server.host, port: server.port, base_url })
})

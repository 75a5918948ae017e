import { Operation, ServedRevisions, WebhookHeaders } from "@quotewire/core"
import { Context, Effect, Layer, type Scope } from "effect"
import * as Addresses from "./host/Addresses.ts"
import * as Api from "./host/Api.ts"
import * as Handler from "./host/Handler.ts"
import * as Server from "./host/Server.ts"

export { CannotListen } from "./host/Server.ts"

/** The API inside somebody else's server. */
export interface HandlerSettings<R> extends Api.Settings<R>, Omit<Handler.Settings, "docs_url"> {}

/** The API as a server of its own. */
export interface Settings<R> extends Omit<HandlerSettings<R>, "base_url">, Server.Settings {
  /** The address that callers use; the bound one where it is left out. */
  readonly base_url?: string
}

/**
 * The API as a handler for a `node:http` or Express server that exists already.
 *
 * It reads bodies itself, and takes the `request.body` of a body parser that stands before it. When the scope ends, what still runs is broken off;
 * `close` and `idle` make it gentler.
 */
export const handler = Effect.fnUntraced(function* <R>(
  given: HandlerSettings<R>
): Effect.fn.Return<Handler.Handler, never, Api.Services<R> | Scope.Scope> {
  const settings = yield* Addresses.checked(given)
  const operations = yield* Effect.filter(settings.operations, Operation.isOffered)
  const webhook_header_prefix = yield* WebhookHeaders.WebhookHeaderPrefix
  const served = yield* ServedRevisions.ServedRevisions
  return yield* Handler.make(Api.routes({ served, webhook_header_prefix, ...settings, operations }), {
    ...settings,
    docs_url: settings.docs_url ?? `${settings.base_url}/docs`
  })
})

/** The host that listens, with the address that it is bound to. */
export class Host extends Context.Service<
  Host,
  { readonly host: string; readonly port: number; readonly base_url: string }
>()("@quotewire/http/Host") {}

/**
 * Serves the API until its scope ends, and then stops within ten seconds.
 *
 * Stopping: no new connections, waiting reads are woken, running requests finish, those that do not within the grace
 * are answered with `service_unavailable`, and the connections end, each with its next answer or after a moment.
 */
export const layer = <R>(settings: Settings<R>): Layer.Layer<Host, Server.CannotListen, Api.Services<R>> =>
  Layer.effect(Host, serve(settings))

const serve = Effect.fnUntraced(function* <R>(settings: Settings<R>) {
  const server = yield* Server.listen(settings)
  const { base_url } = yield* Addresses.checked({ ...settings, base_url: settings.base_url ?? server.url })
  yield* server.attach(yield* handler({ ...settings, base_url }))
  return Host.of({ host: server.host, port: server.port, base_url })
})

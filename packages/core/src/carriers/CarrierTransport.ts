import { Context, Effect } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"

/**
 * The `HttpClient` that adapters send their requests to carriers with.
 *
 * `fetch` by default. A host can put another client here, such as one with an address guard. The engine replaces it for each
 * call of an adapter by one that records the exchange, so an adapter must read it when it is called.
 *
 * @example
 * const client = yield* CarrierTransport
 */
export const CarrierTransport: Context.Reference<HttpClient.HttpClient> = Context.Reference(
  "@quotewire/core/CarrierTransport",
  { defaultValue: () => Effect.runSync(Effect.provide(HttpClient.HttpClient, FetchHttpClient.layer)) }
)

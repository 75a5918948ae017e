import { Context, Effect } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"

/**
 * The `HttpClient` through which adapters send requests to carriers.
 *
 * The default is `fetch`. A host can provide a different client, such as one that blocks private addresses. During each
 * call of an adapter, the service replaces the client with one that records the exchange. An adapter must therefore
 * look up the client inside the call.
 *
 * @example
 * const client = yield* CarrierTransport
 */
export const CarrierTransport: Context.Reference<HttpClient.HttpClient> = Context.Reference(
  "@quotewire/core/CarrierTransport",
  { defaultValue: () => Effect.runSync(Effect.provide(HttpClient.HttpClient, FetchHttpClient.layer)) }
)

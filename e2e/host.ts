// The command does the same on startup.
import "effect/schema/SchemaJITCompiler/enable"
import { Access, Allowance, Carrier, PublicUrl, Quotewire, Seal, type Storage, WebhookAddress } from "@quotewire/core"
import { CarrierTransports, Http, NodeCrypto, NodeWebhookSender, ServiceApi } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import type { Call, Keys } from "./support/Call.ts"
import * as AsClient from "./support/client.ts"
import * as Rest from "./support/rest.ts"
import * as AsTools from "./support/tools.ts"

/** Anything that runs operations: the journeys are written once, and run on every host. */
export class Host extends Context.Service<
  Host,
  {
    readonly base_url: string
    readonly call: Call
    readonly newOrganization: Effect.Effect<Keys>
  }
>()("e2e/Host") {}

interface HostOptions {
  /** How a test's host stops: immediately, unless it is given time for the connections that callers keep open. */
  readonly drain_ms?: number
  /** Custom carriers instead of the fictional ones. */
  readonly carriers?: ReadonlyArray<Carrier.CarrierAdapter>
}

const server = ({ drain_ms = 0 }: HostOptions) =>
  Layer.unwrap(
    Effect.map(Effect.context<Quotewire.Services>(), (context) =>
      Http.layer<ServiceApi.Services>({
        ...ServiceApi.of({ mcp, mcp_origins: { allowed: [], loopback: true } }),
        port: 0,
        drain_ms,
        wake: Effect.provideContext(Quotewire.releaseLongPolls, context)
      })
    )
  )

// The port is known only once the host listens, and links are written later.
const address = { base_url: "" }

const makeHost = Effect.fnUntraced(function* (callsOf: (base_url: string) => Call) {
  const { base_url } = yield* Http.Host
  address.base_url = base_url
  const access = yield* Access.Access

  const newOrganization = Effect.gen(function* () {
    const { id } = yield* access.createOrganization("A journey")
    const keyOf = (kind: "server" | "widget" | "platform") =>
      Effect.map(access.createKey({ organization_id: id, environment: "sandbox", kind }), ({ key }) => key)
    return yield* Effect.all({ server: keyOf("server"), widget: keyOf("widget"), platform: keyOf("platform") })
  }).pipe(Effect.orDie)

  return Host.of({ base_url, call: callsOf(base_url), newOrganization })
})

// All hosts of a process use the same keys, because some of them share a storage backend.
const sealKeys = Layer.succeed(Seal.SealKeys, {
  keys: [Redacted.make(crypto.getRandomValues(new Uint8Array(Seal.keyBytes)))]
})

const carriersOf = (carriers: ReadonlyArray<Carrier.CarrierAdapter>) =>
  Layer.merge(Layer.succeed(Carrier.CarrierAdapters, carriers), CarrierTransports.layer())

/** The journeys' recipients listen on this machine. */
export const loopback: WebhookAddress.Policy = {
  allow: WebhookAddress.readNetworks("127.0.0.0/8,::1/128") ?? [],
  own_addresses: []
}

const host = <E>(
  storage: Layer.Layer<Storage.Storage, E>,
  callsOf: (base_url: string) => Call,
  options: HostOptions = {}
) =>
  Layer.effect(Host, makeHost(callsOf)).pipe(
    Layer.provide(server(options)),
    Layer.provide(Quotewire.worker),
    Layer.provide(Quotewire.layer),
    Layer.provide(storage),
    Layer.provide(options.carriers === undefined ? Quotewire.sandboxCarriers : carriersOf(options.carriers)),
    Layer.provide(sealKeys),
    Layer.provide(Layer.succeed(Allowance.AllowanceLimits, Allowance.noLimits)),
    Layer.provide(
      Layer.succeed(
        PublicUrl.PublicUrl,
        Effect.sync(() => address.base_url)
      )
    ),
    Layer.provide(NodeWebhookSender.layer({ policy: loopback })),
    Layer.provide(NodeCrypto.layer)
  )

/** The HTTP host on a storage backend, over real sockets. Every response is checked against the OpenAPI document. */
export const http = <E>(storage: Layer.Layer<Storage.Storage, E>, options?: HostOptions) =>
  host(storage, Rest.make, options)

/** Starts a host that can be stopped before the scope closes. */
export const start = Effect.fnUntraced(function* <E>(layer: Layer.Layer<Host, E>) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const { base_url, newOrganization } = Context.get(yield* Layer.buildWithScope(Layer.fresh(layer), scope), Host)
  return { base_url, newOrganization, stop: Scope.close(scope, Exit.void) }
})

/** An HTTP host that is called through its tools, and over REST for operations without a tool. */
export const tools = <E>(storage: Layer.Layer<Storage.Storage, E>, options?: HostOptions) =>
  host(storage, (baseUrl) => AsTools.make(baseUrl, Rest.make(baseUrl)), options)

/** An HTTP host that is called through the client library. */
export const connected = <E>(storage: Layer.Layer<Storage.Storage, E>) => host(storage, AsClient.make)

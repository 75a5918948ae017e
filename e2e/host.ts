import {
  Access,
  Allowance,
  operations,
  PublicUrl,
  Quotewire,
  Seal,
  type Storage,
  type Waiters,
  WebhookAddress
} from "@quotewire/core"
import { Go, Http, NodeCrypto, NodeWebhookSender, OpenApi } from "@quotewire/http"
import { Context, Effect, Layer } from "effect"
import * as Conforms from "../packages/http/test/support/conforms.ts"

/** What a journey says of a call beyond its input. */
export interface CallOptions {
  readonly key?: string
  readonly read_handle?: string
  readonly idempotency_key?: string
}

/** An answer as a journey sees it, whatever host gave it. */
export interface Answer {
  readonly status: number
  // Journeys read answers as a program in another language would, by what the document says of them.
  // biome-ignore lint/suspicious/noExplicitAny: the shape is checked against the OpenAPI document
  readonly body: any
}

/** The keys of an organization's sandbox. */
export interface Keys {
  readonly server: string
  readonly widget: string
  readonly platform: string
}

/** Something that answers operations: the journeys are written once, and run on every host. */
export class Host extends Context.Service<
  Host,
  {
    readonly base_url: string
    /** Calls an operation by its name, with the server key unless told. */
    readonly call: (keys: Keys, operation: string, input: object, options?: CallOptions) => Effect.Effect<Answer>
    readonly newOrganization: Effect.Effect<Keys>
  }
>()("e2e/Host") {}

type Services = Quotewire.Services | Storage.Storage

const server = Layer.unwrap(
  Effect.map(Effect.context<Waiters.Waiters>(), (context) =>
    Http.layer<Services>({
      operations,
      routes: [Go.route(Quotewire.go)],
      ready: Quotewire.ready,
      port: 0,
      wake: Effect.provideContext(Quotewire.wake, context)
    })
  )
)

// The port is known only when the host listens, and links are written later.
const address = { base_url: "" }

const makeHost = Effect.gen(function* () {
  const { base_url } = yield* Http.Host
  address.base_url = base_url
  const access = yield* Access.Access
  const conforms = Conforms.make(OpenApi.document(operations, base_url))
  let calls = 0

  const newOrganization = Effect.gen(function* () {
    const { id } = yield* access.createOrganization("A journey")
    const keyOf = (kind: "server" | "widget" | "platform") =>
      Effect.map(access.createKey({ organization_id: id, environment: "sandbox", kind }), ({ key }) => key)
    return yield* Effect.all({ server: keyOf("server"), widget: keyOf("widget"), platform: keyOf("platform") })
  }).pipe(Effect.orDie)

  const call = (keys: Keys, name: string, input: object, options: CallOptions = {}) =>
    Effect.promise(async (): Promise<Answer> => {
      const operation = operations.find((one) => one.name === name)
      if (operation === undefined) throw new Error(`${name} is no operation`)
      const { method, path: template, query } = operation.route
      const rest = new Map(Object.entries(input))
      const path = template.replace(/\{(\w+)\}/g, (_, field) => {
        const value = rest.get(field)
        rest.delete(field)
        return encodeURIComponent(String(value))
      })
      const search = new URLSearchParams()
      for (const field of Object.keys(query)) {
        if (rest.has(field)) search.set(field, String(rest.get(field)))
        rest.delete(field)
      }
      const response = await fetch(`${base_url}${path}${search.size > 0 ? `?${search}` : ""}`, {
        method,
        headers: {
          authorization: `Bearer ${options.key ?? keys.server}`,
          ...(rest.size > 0 && { "content-type": "application/json" }),
          ...(options.read_handle !== undefined && { "read-handle": options.read_handle }),
          ...(operation.idempotent && { "idempotency-key": options.idempotency_key ?? `journey-${++calls}` })
        },
        ...(rest.size > 0 && { body: JSON.stringify(Object.fromEntries(rest)) })
      })
      const text = await response.text()
      const problems = conforms({ method, path, status: response.status, headers: response.headers, text })
      if (problems.length > 0) throw new Error(`${method} ${path} ${response.status}: ${problems.join("; ")}`)
      return { status: response.status, body: JSON.parse(text) }
    })

  return Host.of({ base_url, call, newOrganization })
})

// Receivers of the journeys listen on this machine.
const loopback: WebhookAddress.Policy = {
  allow: WebhookAddress.readNetworks("127.0.0.0/8,::1/128") ?? [],
  own_addresses: []
}

/** The HTTP host on a storage, over real sockets. Every answer is checked against the OpenAPI document. */
export const http = <E>(storage: Layer.Layer<Storage.Storage, E>) =>
  Layer.effect(Host, makeHost).pipe(
    Layer.provide(server),
    Layer.provide(Quotewire.worker),
    Layer.provide(Quotewire.layer),
    Layer.provide(storage),
    Layer.provide(Layer.mergeAll(Quotewire.sandboxCarriers, Seal.SealKeys.layerEphemeral)),
    Layer.provide(Layer.succeed(Allowance.AllowanceLimits, Allowance.noLimits)),
    Layer.provide(Layer.succeed(PublicUrl.PublicUrl, () => address.base_url)),
    Layer.provide(NodeWebhookSender.layer({ policy: loopback })),
    Layer.provide(NodeCrypto.layer)
  )

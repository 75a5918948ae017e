import { Access, Allowance, Quotewire, Seal, WebhookSender } from "@quotewire/core"
import { Http, NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Context, Effect, Layer, type Scope } from "effect"
import { Notes, operations } from "./operations.ts"

/** The core without rate limits, on a storage backend that lasts as long as the test. */
export const services = Quotewire.layer.pipe(
  Layer.provideMerge(Quotewire.sandboxCarriers),
  Layer.provide(Seal.SealKeys.layerEphemeral),
  Layer.provide(MemoryStorage.layer),
  Layer.provide(Layer.succeed(Allowance.AllowanceLimits, Allowance.noLimits)),
  Layer.provide(WebhookSender.WebhookSender.layerOff),
  Layer.provide(NodeCrypto.layer),
  Layer.orDie,
  Layer.merge(Notes.layer)
)

/** One sandbox key of each kind. */
export interface Keys {
  readonly server: string
  readonly widget: string
  readonly platform: string
}

/** Makes an organization with a key of each kind. */
export const makeKeys = Effect.gen(function* () {
  const access = yield* Access.Access
  const { id } = yield* access.createOrganization("Test")
  const make = (kind: keyof Keys) =>
    Effect.map(access.createKey({ organization_id: id, environment: "sandbox", kind }), ({ key }) => key)
  const keys: Keys = { server: yield* make("server"), widget: yield* make("widget"), platform: yield* make("platform") }
  return keys
}).pipe(Effect.orDie)

/** A running host, and how to talk to it. */
export interface TestHost {
  readonly url: string
  readonly port: number
  readonly keys: Keys
  readonly notes: Notes["Service"]
  /** Sends a request with the server's key, unless `key` says otherwise, and reads the response to its end. */
  readonly send: (method: string, target: string, options?: SendOptions) => Effect.Effect<TestAnswer>
}

export interface SendOptions {
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: BodyInit
  readonly json?: unknown
  readonly signal?: AbortSignal
}

export interface TestAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

type Settings = Partial<Http.Settings<Notes | Quotewire.Services>>

/** Starts a host on a free port; it stops with the scope. `references` are settings of the core. */
export const start = (
  settings: Settings = {},
  references: Layer.Layer<never> = Layer.empty
): Effect.Effect<TestHost, Http.CannotListen, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      Http.layer<Notes | Quotewire.Services>({ operations, port: 0, drain_ms: 0, ...settings }).pipe(
        Layer.provideMerge(services),
        Layer.provide(references)
      )
    )
    const host = Context.get(context, Http.Host)
    const keys = yield* Effect.provide(makeKeys, context)
    const send: TestHost["send"] = (method, target, options = {}) =>
      Effect.promise(async () => {
        const { key = keys.server, json } = options
        const response = await fetch(`${host.base_url}${target}`, {
          method,
          redirect: "manual",
          headers: {
            ...(key === null ? {} : { authorization: `Bearer ${key}` }),
            ...(json === undefined ? {} : { "content-type": "application/json" }),
            ...options.headers
          },
          ...(json === undefined
            ? options.body === undefined
              ? {}
              : { body: options.body }
            : { body: JSON.stringify(json) }),
          ...(options.signal === undefined ? {} : { signal: options.signal })
        })
        return { status: response.status, headers: response.headers, text: await response.text() }
      })
    return { url: host.base_url, port: host.port, keys, notes: Context.get(context, Notes), send }
  })

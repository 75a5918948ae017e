import { Context, Effect, Layer, Redacted } from "effect"
import * as Access from "../access/Access.ts"
import type { Organization } from "../access/ApiKey.ts"
import type { Environment, KeyKind } from "../access/Caller.ts"
import { AllowanceLimits, type Limits, noLimits } from "../access/limits/Allowance.ts"
import { keyBytes, SealKeys } from "../access/sealing/Seal.ts"
import type { PersonsAnswer } from "../calls/Call.ts"
import type * as FinishedCall from "../calls/FinishedCall.ts"
import type * as Operation from "../calls/Operation.ts"
import * as Pipeline from "../calls/Pipeline.ts"
import { type CarrierAdapter, CarrierAdapters } from "../carriers/Carrier.ts"
import { type Cryptography, layer, type Services, sandboxCarriers, webCryptography } from "../Quotewire.ts"
import type { Storage } from "../storage/Storage.ts"
import { WebhookSender } from "../webhooks/WebhookSender.ts"
import type { ApiError } from "../wire/ApiError.ts"
import { Ids } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"

/** Options for a call in a test. */
export interface CallOptions {
  /** The kind of key to call with; `server` by default. */
  readonly as?: KeyKind
  readonly environment?: Environment
  readonly read_handle?: string
  readonly idempotency_key?: string
  /** The `Service-Version` to send; by default the header is absent, so the workspace's pin decides. */
  readonly revision?: string
  /** The client's address. */
  readonly address?: string
  /** A key to use instead of the world's key. */
  readonly key?: string | null
  /** The person's answer, as if the host itself had asked for consent. */
  readonly person?: PersonsAnswer
  /** How the call arrived, for the request log. */
  readonly transport?: FinishedCall.Transport
}

/** Options for a world. */
export interface WorldOptions {
  /** Carriers to use instead of the fictional carriers. */
  readonly carriers?: ReadonlyArray<CarrierAdapter>
  /** Rate limits; by default no limits. */
  readonly limits?: Limits
  /** Cryptography that works synchronously, so that a test clock can tell when everything is idle. */
  readonly cryptography?: Layer.Layer<Cryptography>
  /**
   * The keys that seal facts. By default all worlds have the same key, so that several worlds can share a storage
   * backend.
   */
  readonly seal_keys?: Layer.Layer<SealKeys>
  /** Sends webhooks; by default nothing is sent. */
  readonly webhooks?: Layer.Layer<WebhookSender>
}

/** The seal keys with these numbers, newest first. They are not secret, but strong enough to be accepted. */
export const sealKeys = (newestKey: number, ...olderKeys: ReadonlyArray<number>): Layer.Layer<SealKeys> => {
  const keyOf = (number: number) =>
    Redacted.make(new TextEncoder().encode(`seal key ${number} of test worlds`.padEnd(keyBytes, ".")))
  return Layer.succeed(SealKeys, { keys: [keyOf(newestKey), ...olderKeys.map(keyOf)] })
}

/** A complete core with one organization and a key of each kind. Most tests start from a world. */
export class World extends Context.Service<
  World,
  {
    readonly organization: Organization
    readonly keys: { readonly [E in Environment]: { readonly [K in KeyKind]: string } }
    /** Calls an operation as a host would, and decodes the response. */
    readonly call: <Output, R>(
      operation: Operation.Operation<string, unknown, Output, R>,
      input: unknown,
      options?: CallOptions
    ) => Effect.Effect<Output, ApiError, R | Pipeline.PipelineServices>
  }
>()("@quotewire/core/testing/World") {
  /**
   * A complete core on a storage backend, without limits and with the fictional carriers. Jobs run only when the test
   * runs them.
   */
  static readonly layer = <E, R>(
    storage: Layer.Layer<Storage, E, R>,
    options: WorldOptions = {}
  ): Layer.Layer<World | Services | Storage, E, R> =>
    Layer.effect(World, makeWorld).pipe(
      Layer.provideMerge(Layer.orDie(layer)),
      Layer.provideMerge(storage),
      Layer.provide(
        options.carriers === undefined ? sandboxCarriers : Layer.succeed(CarrierAdapters, options.carriers)
      ),
      Layer.provide(options.webhooks ?? WebhookSender.layerOff),
      // All worlds have the same key by default, because worlds on one storage backend are hosts of the same service.
      Layer.provide(options.seal_keys ?? sealKeys(0)),
      Layer.provide(Layer.succeed(AllowanceLimits, options.limits ?? noLimits)),
      Layer.provide(options.cryptography ?? webCryptography)
    )
}

const makeWorld = Effect.gen(function* () {
  const access = yield* Access.Access
  const ids = yield* Ids
  const organization = yield* access.createOrganization("A test")
  const keyOf = (environment: Environment, kind: KeyKind) =>
    Effect.map(access.createKey({ organization_id: organization.id, environment, kind }), ({ key }) => key)
  const keysOf = (environment: Environment) =>
    Effect.all({
      server: keyOf(environment, "server"),
      widget: keyOf(environment, "widget"),
      platform: keyOf(environment, "platform")
    })
  const keys = yield* Effect.all({ sandbox: keysOf("sandbox"), live: keysOf("live") })
  let calls = 0
  return World.of({
    organization,
    keys,
    call: (operation, input, options = {}) =>
      Pipeline.call(operation, {
        request_id: ids.request(),
        credentials: {
          key: options.key === undefined ? keys[options.environment ?? "sandbox"][options.as ?? "server"] : options.key,
          read_handle: options.read_handle ?? null,
          address: options.address ?? "127.0.0.1",
          keyless: true
        },
        revision: { header: options.revision ?? null },
        idempotency_key: options.idempotency_key ?? (operation.idempotent ? `call-${++calls}` : null),
        ...(options.person !== undefined && { person: options.person }),
        ...(options.transport !== undefined && { transport: options.transport }),
        input: Effect.succeed(input)
      }).pipe(Effect.map((reply) => Json.decode(reply.json)))
  })
}).pipe(Effect.orDie)

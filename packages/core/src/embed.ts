import { Cause, Effect, Exit, Layer, ManagedRuntime } from "effect"
import type { Mac } from "effect/crypto"
import { Access } from "./access/Access.ts"
import { AllowanceLimits, type Limits, noCallLimits } from "./access/Allowance.ts"
import type { Environment, KeyKind } from "./access/Caller.ts"
import type { ApiKey, Organization } from "./access/Directory.ts"
import { SealKeys } from "./access/Seal.ts"
import type * as Operation from "./calls/Operation.ts"
import * as Pipeline from "./calls/Pipeline.ts"
import { RequestLogEnabled } from "./calls/RequestLog.ts"
import type { CarrierAdapter, CarrierAdapters, CarrierCallback, ConnectionValues } from "./carriers/Carrier.ts"
import type { ConnectionPlace, ConnectionSummary, ConnectionTestResult } from "./carriers/Connection.ts"
import { Connections } from "./carriers/Connections.ts"
import type { Config } from "./config/Config.ts"
import { FeedbackEnabled } from "./feedback/Feedback.ts"
import {
  type CreatedKey,
  type Cryptography,
  carrierCallback,
  carriers,
  createKey,
  exchanges,
  layer,
  lines,
  releaseLongPolls,
  type Services,
  webCryptography,
  worker
} from "./layer.ts"
import { operations } from "./operations.ts"
import type { ErasureOptions, ErasureReport, ErasureTarget } from "./quoting/erasing/Erasure.ts"
import { Erasures } from "./quoting/erasing/Erasures.ts"
import { type Storage, StorageUnavailable } from "./storage/Storage.ts"
import type { Timeline } from "./timeline/Entry.ts"
import { type TimelineOptions, Timelines } from "./timeline/Timelines.ts"
import { WebhookSender } from "./webhooks/WebhookSender.ts"
import * as ApiError from "./wire/ApiError.ts"
import { Ids, type KeyId, type OrganizationId } from "./wire/Ids.ts"
import * as Json from "./wire/Json.ts"
import * as PublicUrl from "./wire/PublicUrl.ts"

/** Options of `embed`. Those of a configuration can be passed on: `embed({ storage, ...config })`. */
export interface EmbedOptions extends Omit<Config, "carriers" | "sandbox_connections"> {
  /** Where all data is stored, such as `MemoryStorage.layer`. The service does not start without a usable storage. */
  readonly storage: Layer.Layer<Storage, Error>
  /**
   * Your own carriers, beside the fictional ones of the sandbox. If one is wrong, the service does not start.
   *
   * A layer gives all carriers instead, and `fictional_carriers` then does nothing.
   */
  readonly carriers?: ReadonlyArray<CarrierAdapter> | Layer.Layer<CarrierAdapters>
  /** The keys that seal facts at rest; by default random keys that are lost when the process ends. */
  readonly seal_keys?: Layer.Layer<SealKeys>
  /** The runtime's own cryptography, if it is faster than the default. */
  readonly cryptography?: Layer.Layer<Cryptography>
  /** Rate limits; `Allowance.standardLimits` are those of the contract. By default only tests and replays are limited. */
  readonly limits?: Limits
  /** Sends webhooks. Without it, no subscription can be created. */
  readonly webhooks?: Layer.Layer<WebhookSender>
  /** The base address of `/go/…` links: absolute, http or https, no query. With any other value the service does not start. */
  readonly public_url?: string
  /** Whether calls are logged; true by default. */
  readonly request_log?: boolean
  /** Whether reports about the API are accepted; true by default. */
  readonly feedback?: boolean
  /** Whether this process runs due jobs; true by default. Use false in a process that only answers calls. */
  readonly work?: boolean
  /** How long `close` waits for running work, in milliseconds; 8,000 by default. */
  readonly grace_ms?: number
}

type AnyOperation = (typeof operations)[number]
type OperationNamed<Name extends AnyOperation["name"]> = Extract<AnyOperation, { readonly name: Name }>

/** The input of an operation, as in `InputOf<"start_quote_request">`. */
export type InputOf<Name extends AnyOperation["name"]> =
  OperationNamed<Name> extends Operation.Operation<string, infer Input, unknown, unknown> ? Input : never

/** The answer of an operation, as in `AnswerOf<"get_quote_request">`. */
export type AnswerOf<Name extends AnyOperation["name"]> =
  OperationNamed<Name> extends Operation.Operation<string, unknown, infer Answer, unknown> ? Answer : never

/** Options of a call besides its input. */
export interface CallOptions {
  readonly read_handle?: string
  readonly idempotency_key?: string
  /** Aborts the call, also while it waits. */
  readonly signal?: AbortSignal
}

/**
 * Every operation as a method, called with one API key.
 *
 * A refused call rejects with an `ApiError`: `code` names the refusal, `field_errors` and `retry_action` say what to do.
 * An aborted call rejects with the signal's reason.
 */
export type Client = {
  readonly [Name in AnyOperation["name"]]: (input: InputOf<Name>, options?: CallOptions) => Promise<AnswerOf<Name>>
}

/** The service inside another program. It starts at once; calls wait until it has started. */
export interface Embedded {
  /** Resolves when the service has started. If it cannot start, this and every call reject. */
  readonly ready: Promise<void>
  readonly createOrganization: (name: string) => Promise<Organization>
  /** Makes a key. If no carrier can be asked in its environment, `warnings` and the log say so. */
  readonly createKey: (options: {
    readonly organization_id: OrganizationId
    readonly environment: Environment
    readonly kind: KeyKind
  }) => Promise<CreatedKey>
  /** Lists the keys of an organization, oldest first, with their metadata and never the key itself. */
  readonly listKeys: (organization_id: OrganizationId) => Promise<ReadonlyArray<ApiKey>>
  /** Revokes a key. Calls with it are refused from now on. */
  readonly revokeKey: (key_id: KeyId) => Promise<ApiKey>
  /**
   * Sets what an organization gives for a carrier, in place of everything that it gave before.
   *
   * A wrong field rejects with `invalid_input`, which names it and never repeats a value.
   */
  readonly setConnection: (
    connection: ConnectionPlace & { readonly values: ConnectionValues }
  ) => Promise<ConnectionSummary>
  /** Tries a connection at its carrier, and keeps the result. */
  readonly testConnection: (place: ConnectionPlace) => Promise<ConnectionTestResult>
  /** Lists the connections of an organization, never their secrets. */
  readonly listConnections: (organization_id: OrganizationId) => Promise<ReadonlyArray<ConnectionSummary>>
  /** Removes a connection with its values. Its carrier is no longer asked for this organization. */
  readonly removeConnection: (place: ConnectionPlace) => Promise<void>
  /**
   * Accepts a carrier's callback: pass on the headers, with names in lower case, and the raw bytes of the body.
   *
   * Resolves to false if the callback is not genuine, or answers nothing that was asked: answer the carrier with 404.
   * Rejects with `service_unavailable` if the carrier must send it again after `retry_after_seconds`.
   */
  readonly carrierCallback: (carrier_id: string, callback: CarrierCallback) => Promise<boolean>
  /**
   * Erases what is known about a person from one quote request, or from every request of a receipt.
   *
   * `by` says who erases, such as a ticket; it is kept, so it must not name the person. With `dry_run` nothing changes. If it
   * rejects with `service_unavailable`, call it again: it continues where it stopped. An unknown request or receipt is a report that
   * lists nothing; an unknown organization rejects with `not_found`.
   */
  readonly erase: (target: ErasureTarget, options: ErasureOptions) => Promise<ErasureReport>
  readonly client: (key: string) => Client
  /**
   * What happened to a quote request of any organization, for operators: the call that started it, the exchanges with
   * carriers that are on record, quotes, events and deliveries. Rejects with `not_found` if there is no such request.
   */
  readonly timeline: (quote_request_id: string, options?: TimelineOptions) => Promise<Timeline>
  /**
   * Returns pending long polls at once, finishes running work within the grace period, and releases all resources.
   *
   * Calls that do not finish in time, and all later calls, reject with `service_unavailable`.
   */
  readonly close: () => Promise<void>
}

/**
 * Embeds the service in a program that does not use Effect.
 *
 * @example
 * const quotewire = embed({ storage: MemoryStorage.layer })
 * const { id } = await quotewire.createOrganization("Acme")
 * const { key } = await quotewire.createKey({ organization_id: id, environment: "sandbox", kind: "server" })
 * const { capabilities } = await quotewire.client(key).get_capabilities({ line: "renters" })
 */
export const embed = (options: EmbedOptions): Embedded => {
  const runtime = ManagedRuntime.make(layerOf(options))
  const running = new Set<Promise<unknown>>()
  let closing: Promise<void> | null = null
  const run = async <A, E>(effect: Effect.Effect<A, E, Services>, signal?: AbortSignal): Promise<A> => {
    if (closing !== null) throw closed()
    const call = runtime.runPromiseExit(effect, signal === undefined ? {} : { signal })
    running.add(call)
    const exit = await call
    running.delete(call)
    if (Exit.isSuccess(exit)) return exit.value
    throw rejectionOf(exit.cause, signal)
  }
  const end = async () => {
    const finish = Effect.promise(() => Promise.all([runtime.runPromiseExit(releaseLongPolls), ...running]))
    await Effect.runPromise(Effect.timeoutOption(finish, options.grace_ms ?? 8_000))
    await runtime.dispose()
  }
  const ready = run(Effect.void)
  // A program that ignores `ready` sees the failed start at its first call.
  ready.catch(() => {})
  const methodOf =
    (operation: AnyOperation, key: string): Method =>
    (input, { signal, ...options } = {}) =>
      run(callWith(operation, key, snapshot(input), options), signal)
  return {
    ready,
    createOrganization: (name) => run(Effect.flatMap(Access, (access) => access.createOrganization(name))),
    createKey: (key) => run(Effect.tap(createKey(key), logWarnings)),
    listKeys: (id) => run(Effect.flatMap(Access, (access) => access.listKeys(id))),
    revokeKey: (id) => run(Effect.flatMap(Access, (access) => access.revokeKey(id))),
    timeline: (id, options) => run(Effect.flatMap(Timelines, (timelines) => timelines.read(id, options))),
    setConnection: (connection) => {
      const copy = { ...connection, values: snapshot(connection.values) }
      return run(Effect.flatMap(Connections, (connections) => connections.set(copy)))
    },
    testConnection: (place) => run(Effect.flatMap(Connections, (connections) => connections.test(place))),
    listConnections: (id) => run(Effect.flatMap(Connections, (connections) => connections.list(id))),
    removeConnection: (place) => run(Effect.flatMap(Connections, (connections) => connections.remove(place))),
    carrierCallback: (carrier_id, { headers, body }) =>
      run(carrierCallback(carrier_id, { headers: { ...headers }, body: body.slice() })),
    erase: (target, options) => {
      const [to_erase, how] = [{ ...target }, { ...options }]
      return run(Effect.flatMap(Erasures, (erasures) => erasures.erase(to_erase, how)))
    },
    client: (key) => clientOf((operation) => methodOf(operation, key)),
    close: () => (closing ??= end())
  }
}

const logWarnings = ({ warnings }: CreatedKey) => Effect.forEach(warnings, (warning) => Effect.logWarning(warning))

/** Clones a refusal for one promise, with the stack of its call: several callers may share the same refusal. */
const rejectionOf = (cause: Cause.Cause<unknown>, signal: AbortSignal | undefined): unknown => {
  const error = Cause.squash(cause)
  if (error instanceof ApiError.ApiError) return ApiError.clone(error)
  if (error instanceof StorageUnavailable) {
    return ApiError.make("service_unavailable", { retry_after_seconds: error.retry_after_seconds })
  }
  if (Cause.hasInterruptsOnly(cause)) return signal?.aborted === true ? signal.reason : closed()
  return new Error(error instanceof Error ? error.message : "The service has failed.", { cause: error })
}

const closed = () =>
  ApiError.make("service_unavailable", { message: "The service has been closed.", retry_action: "none" })

type Method = (input: unknown, options?: CallOptions) => Promise<unknown>

const clientOf = (methodOf: (operation: AnyOperation) => Method): Client =>
  // The cast is safe: each name gets the method of its own operation, which parses its input and encodes its output.
  Object.fromEntries(operations.map((operation) => [operation.name, methodOf(operation)])) as Client

/** Copies an input, because the program may change it meanwhile. One that cannot be copied is passed on, and then refused. */
const snapshot = (input: unknown): unknown => {
  try {
    return structuredClone(input)
  } catch {
    return input
  }
}

const callWith = (
  operation: Operation.Operation<string, unknown, unknown, Services>,
  key: string,
  input: unknown,
  options: Omit<CallOptions, "signal">
) =>
  Effect.flatMap(Ids, (ids) =>
    Pipeline.call(operation, {
      request_id: ids.request(),
      credentials: { key, read_handle: options.read_handle ?? null, address: "embedded", keyless: false },
      // The types of the methods describe the newest revision.
      revision: "current",
      idempotency_key: options.idempotency_key ?? null,
      input: Effect.succeed(input)
    })
  ).pipe(Effect.map(({ json }) => Json.decode(json)))

const isLayer = (carriers: EmbedOptions["carriers"]): carriers is Layer.Layer<CarrierAdapters> =>
  Layer.isLayer(carriers)

const carriersOf = (
  given: EmbedOptions["carriers"],
  config: Omit<Config, "carriers">
): Layer.Layer<CarrierAdapters, Error, Mac.Mac> => {
  if (isLayer(given)) {
    return config.lines === undefined ? given : Layer.merge(given, lines({ lines: config.lines }))
  }
  return carriers(given === undefined ? config : { ...config, carriers: given })
}

const layerOf = ({
  storage,
  carriers,
  seal_keys,
  cryptography = webCryptography,
  limits = noCallLimits,
  webhooks = WebhookSender.layerOff,
  public_url,
  request_log = true,
  feedback = true,
  work = true,
  grace_ms: _,
  ...config
}: EmbedOptions): Layer.Layer<Services, Error> =>
  (work ? worker : Layer.empty).pipe(
    Layer.provideMerge(layer),
    // A storage may bring its own clock. Calls and jobs then both use it.
    Layer.provideMerge(storage),
    Layer.provide(carriersOf(carriers, config)),
    Layer.provide(seal_keys ?? SealKeys.layerEphemeral),
    Layer.provide(webhooks),
    Layer.provide(cryptography),
    Layer.provide(Layer.succeed(AllowanceLimits, limits)),
    Layer.provide(Layer.succeed(RequestLogEnabled, request_log)),
    Layer.provide(Layer.succeed(FeedbackEnabled, feedback)),
    Layer.provide(exchanges(config)),
    Layer.provide(public_url === undefined ? Layer.empty : PublicUrl.layer(public_url))
  )

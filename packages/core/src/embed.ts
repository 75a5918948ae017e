import { Cause, Effect, Exit, Layer, ManagedRuntime } from "effect"
import { Access, type IssuedKey } from "./access/Access.ts"
import { AllowanceLimits, embeddedLimits, type Limits } from "./access/Allowance.ts"
import type { ApiKey } from "./access/ApiKey.ts"
import type { Environment, KeyKind } from "./access/Caller.ts"
import type { Organization } from "./access/Organization.ts"
import { SealKeys } from "./access/Seal.ts"
import type * as Operation from "./calls/Operation.ts"
import * as Pipeline from "./calls/Pipeline.ts"
import { KeepsRequestLog } from "./calls/RequestLog.ts"
import type { CarrierAdapters } from "./carriers/Carrier.ts"
import { TakesFeedback } from "./feedback/Feedback.ts"
import { type Cryptography, layer, type Services, sandboxCarriers, wake, webCryptography, worker } from "./layer.ts"
import { operations } from "./operations.ts"
import { type Storage, StorageUnavailable } from "./storage/Storage.ts"
import { WebhookSender } from "./webhooks/WebhookSender.ts"
import * as ApiError from "./wire/ApiError.ts"
import { Ids, type KeyId, type OrganizationId } from "./wire/Ids.ts"
import * as Json from "./wire/Json.ts"
import * as PublicUrl from "./wire/PublicUrl.ts"

/** How the service is embedded. */
export interface EmbedOptions {
  /** Where everything is kept, such as `MemoryStorage.layer`. Where it cannot be used, the service does not start. */
  readonly storage: Layer.Layer<Storage, Error>
  /** The carriers to ask; the fictional ones of the sandbox unless told. */
  readonly carriers?: Layer.Layer<CarrierAdapters>
  /** The keys that facts are sealed with; keys that end with the process unless told. */
  readonly seal_keys?: Layer.Layer<SealKeys>
  /** Faster cryptography of the runtime, if it has any. */
  readonly cryptography?: Layer.Layer<Cryptography>
  /** The limits of calls; `Allowance.standardLimits` are those of the contract. None by default, but on tests and replays. */
  readonly limits?: Limits
  /** What sends webhooks; without it no subscription can be made. */
  readonly webhooks?: Layer.Layer<WebhookSender>
  /** The address in front of `/go/…`: absolute, http or https, without query. Another one and the service does not start. */
  readonly public_url?: string
  /** Whether calls are logged; true unless told. */
  readonly request_log?: boolean
  /** Whether reports about the API are taken; true unless told. */
  readonly feedback?: boolean
  /** Whether due jobs are run here; false in a process that only answers calls. */
  readonly work?: boolean
  /** Time in milliseconds to finish what runs when the service is closed; 8,000 unless told. */
  readonly grace_ms?: number
}

type AnyOperation = (typeof operations)[number]
type Named<Name extends AnyOperation["name"]> = Extract<AnyOperation, { readonly name: Name }>

/** What the method of this name takes, as in `InputOf<"start_quote_request">`. */
export type InputOf<Name extends AnyOperation["name"]> =
  Named<Name> extends Operation.Operation<string, infer Input, unknown, unknown> ? Input : never

/** What the method of this name answers, as in `AnswerOf<"get_quote_request">`. */
export type AnswerOf<Name extends AnyOperation["name"]> =
  Named<Name> extends Operation.Operation<string, unknown, infer Answer, unknown> ? Answer : never

/** What a call can say beyond its input. */
export interface CallOptions {
  readonly read_handle?: string
  readonly idempotency_key?: string
  /** Ends the call, also while it waits. */
  readonly signal?: AbortSignal
}

/**
 * The operations as methods, by their names, on behalf of one API key.
 *
 * A refusal rejects with an `ApiError`: `code` says which one, `field_errors` and `retry_action` what to do. A call whose
 * signal was aborted rejects with the signal's reason.
 */
export type Client = {
  readonly [Name in AnyOperation["name"]]: (input: InputOf<Name>, options?: CallOptions) => Promise<AnswerOf<Name>>
}

/** The service inside another program. It starts at once, and calls wait until it has started. */
export interface Embedded {
  /** Is there when the service has started; it rejects, as every call does, where that cannot be. */
  readonly ready: Promise<void>
  readonly createOrganization: (name: string) => Promise<Organization>
  readonly createKey: (options: {
    readonly organization_id: OrganizationId
    readonly environment: Environment
    readonly kind: KeyKind
  }) => Promise<IssuedKey>
  /** The keys of an organization, oldest first, with what is known of them and never the key. */
  readonly listKeys: (organization_id: OrganizationId) => Promise<ReadonlyArray<ApiKey>>
  /** Revokes a key: it is refused from now on. */
  readonly revokeKey: (key_id: KeyId) => Promise<ApiKey>
  readonly client: (key: string) => Client
  /**
   * Ends the waits, finishes what runs within the grace, and lets go of everything.
   *
   * Later calls, and those that the grace was too short for, reject with `service_unavailable`.
   */
  readonly close: () => Promise<void>
}

/**
 * Embeds the service, for programs that are not written with Effect.
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
    const finish = Effect.promise(() => Promise.all([runtime.runPromiseExit(wake), ...running]))
    await Effect.runPromise(Effect.timeoutOption(finish, options.grace_ms ?? 8_000))
    await runtime.dispose()
  }
  const ready = run(Effect.void)
  // Whoever does not look at it learns of a failed start from the first call.
  ready.catch(() => {})
  const method =
    <Output>(operation: Operation.Operation<string, unknown, Output, Services>, key: string) =>
    (input: unknown, { signal, ...options }: CallOptions = {}): Promise<Output> =>
      run(callWith(operation, key, asItIs(input), options), signal)
  return {
    ready,
    createOrganization: (name) => run(Effect.flatMap(Access, (access) => access.createOrganization(name))),
    createKey: (key) => run(Effect.flatMap(Access, (access) => access.createKey(key))),
    listKeys: (id) => run(Effect.flatMap(Access, (access) => access.listKeys(id))),
    revokeKey: (id) => run(Effect.flatMap(Access, (access) => access.revokeKey(id))),
    client: (key) => clientOf((operation) => method(operation, key)),
    close: () => (closing ??= end())
  }
}

/** What a promise rejects with: an error of its own, with the stack of its call, since one refusal may serve all callers. */
const rejectionOf = (cause: Cause.Cause<unknown>, signal: AbortSignal | undefined): unknown => {
  const error = Cause.squash(cause)
  if (error instanceof ApiError.ApiError) return ApiError.anew(error)
  if (error instanceof StorageUnavailable) {
    return ApiError.make("service_unavailable", { retry_after_seconds: error.retry_after_seconds })
  }
  if (Cause.hasInterruptsOnly(cause)) return signal?.aborted === true ? signal.reason : closed()
  return new Error(error instanceof Error ? error.message : "The service has failed.", { cause: error })
}

const closed = () =>
  ApiError.make("service_unavailable", { message: "The service has been closed.", retry_action: "none" })

type Method = <Output>(
  operation: Operation.Operation<string, unknown, Output, Services>
) => (input: unknown, options?: CallOptions) => Promise<Output>

const [
  get_capabilities,
  start_quote_request,
  get_quote_request,
  list_quote_requests,
  cancel_quote_request,
  get_quote,
  list_events,
  create_event_subscription,
  list_event_subscriptions,
  update_event_subscription,
  disable_event_subscription,
  rotate_event_subscription_secret,
  send_test_event,
  list_event_deliveries,
  get_event_delivery,
  replay_event_delivery,
  get_event_subscription_health,
  list_api_requests,
  get_api_request,
  send_feedback,
  get_feedback,
  get_sandbox,
  list_sandbox_scenarios,
  select_scenario,
  advance_time,
  force_expiry,
  replay_events,
  reset_sandbox
] = operations

// Written out, so that the compiler checks each method against its operation, and misses none.
const clientOf = (method: Method): Client => ({
  get_capabilities: method(get_capabilities),
  start_quote_request: method(start_quote_request),
  get_quote_request: method(get_quote_request),
  list_quote_requests: method(list_quote_requests),
  cancel_quote_request: method(cancel_quote_request),
  get_quote: method(get_quote),
  list_events: method(list_events),
  create_event_subscription: method(create_event_subscription),
  list_event_subscriptions: method(list_event_subscriptions),
  update_event_subscription: method(update_event_subscription),
  disable_event_subscription: method(disable_event_subscription),
  rotate_event_subscription_secret: method(rotate_event_subscription_secret),
  send_test_event: method(send_test_event),
  list_event_deliveries: method(list_event_deliveries),
  get_event_delivery: method(get_event_delivery),
  replay_event_delivery: method(replay_event_delivery),
  get_event_subscription_health: method(get_event_subscription_health),
  list_api_requests: method(list_api_requests),
  get_api_request: method(get_api_request),
  send_feedback: method(send_feedback),
  get_feedback: method(get_feedback),
  get_sandbox: method(get_sandbox),
  list_sandbox_scenarios: method(list_sandbox_scenarios),
  select_scenario: method(select_scenario),
  advance_time: method(advance_time),
  force_expiry: method(force_expiry),
  replay_events: method(replay_events),
  reset_sandbox: method(reset_sandbox)
})

/** A copy of an input, which a program may use again before the call has read it; what has none is refused as it is. */
const asItIs = (input: unknown): unknown => {
  try {
    return structuredClone(input)
  } catch {
    return input
  }
}

const callWith = <Output>(
  operation: Operation.Operation<string, unknown, Output, Services>,
  key: string,
  input: unknown,
  options: Omit<CallOptions, "signal">
) =>
  Effect.flatMap(Ids, (ids) =>
    Pipeline.call(operation, {
      request_id: ids.request(),
      credentials: { key, read_handle: options.read_handle ?? null, address: "embedded", keyless: false },
      // The types of a method are those of the newest revision.
      revision: "current",
      idempotency_key: options.idempotency_key ?? null,
      input: Effect.succeed(input)
    })
  ).pipe(Effect.map(({ json }) => Json.decode(json)))

const layerOf = (options: EmbedOptions): Layer.Layer<Services, Error> => {
  // A storage may bring its clock along: calls go by it as jobs do.
  const work = options.work === false ? Layer.empty : worker
  return work.pipe(
    Layer.provideMerge(layer),
    Layer.provideMerge(options.storage),
    Layer.provide(options.carriers ?? sandboxCarriers),
    Layer.provide(options.seal_keys ?? SealKeys.layerEphemeral),
    Layer.provide(options.webhooks ?? WebhookSender.layerOff),
    Layer.provide(options.cryptography ?? webCryptography),
    Layer.provide(Layer.succeed(AllowanceLimits, options.limits ?? embeddedLimits)),
    Layer.provide(Layer.succeed(KeepsRequestLog, options.request_log ?? true)),
    Layer.provide(Layer.succeed(TakesFeedback, options.feedback ?? true)),
    Layer.provide(options.public_url === undefined ? Layer.empty : PublicUrl.layer(options.public_url))
  )
}

import type { Effect, Layer, Scope } from "effect"
import type { Environment, KeyKind } from "../access/Caller.ts"
import type { Limits } from "../access/limits/Allowance.ts"
import type { SealProgress, SealRotation, SealStatus } from "../access/sealing/SealedRows.ts"
import type { CarrierAdapter, CarrierAdapters, CarrierCallback, ConnectionValues } from "../carriers/Carrier.ts"
import type { ConnectionPlace, ConnectionTestResult } from "../carriers/Connection.ts"
import type { CarrierStatus, CarrierStatusPage } from "../carriers/health/CarrierStatus.ts"
import type { CarrierStatusOptions, CircuitsToReset } from "../carriers/health/Circuits.ts"
import type { Client } from "../client/Client.ts"
import type { Unbranded } from "../client/inputs.ts"
import type { Config } from "../config/Config.ts"
import type { ConsumerStatus } from "../consuming/consumerStatus.ts"
import type { Consume } from "../consuming/consumeWithPromises.ts"
import type { ParkedEvent, ParkedEventFilter } from "../consuming/ParkedEvent.ts"
import type { CreatedKey } from "../hostApi.ts"
import type { Line } from "../lines/Line.ts"
import type { StandardLine } from "../lines/standard.ts"
import type { Cryptography, Services } from "../Quotewire.ts"
import type { ErasureOptions, ErasureReport, ErasureTarget } from "../quoting/erasing/Erasure.ts"
import type { Storage } from "../storage/Storage.ts"
import type { Timeline } from "../timeline/Timeline.ts"
import type { TimelineOptions } from "../timeline/Timelines.ts"
import type { WebhookSender } from "../webhooks/WebhookSender.ts"
import type { Operators } from "./EmbeddedOperators.ts"
import type { ProgramLogger } from "./ProgramLogger.ts"
import type { GivenSealKeys } from "./sealKeys.ts"
import type { OpenTelemetry } from "./Telemetry.ts"
import type { EmbeddedConnection, EmbeddedKey, EmbeddedOrganization } from "./views.ts"

/** Options for `embed`. You can spread a configuration into them: `embed({ storage, ...config })`. */
export interface EmbedOptions<OwnLine extends Line = StandardLine>
  extends Omit<Config<OwnLine>, "carriers" | "sandbox_connections"> {
  // Options that most programs set.

  /** Where all data is stored, such as `MemoryStorage.layer`. The service does not start if the storage is unusable. */
  readonly storage: Layer.Layer<Storage, Error>
  /**
   * The keys that seal facts at rest, newest first. Each is a string as returned by `generateSealKey`, the format of
   * `QUOTEWIRE_SEAL_KEYS`.
   *
   * By default the keys are random and are lost when the process ends. With persistent storage, pass your own keys.
   */
  readonly seal_keys?: GivenSealKeys
  /**
   * The base address of `/go/…` links. It must be an absolute http or https URL without a query; otherwise the service
   * does not start.
   */
  readonly public_url?: string
  /** Sends webhooks. Without this option, no subscription can be created. */
  readonly webhooks?: Layer.Layer<WebhookSender>
  /**
   * Your own carriers, in addition to the sandbox's fictional carriers. The service does not start if one of your
   * carriers is invalid.
   *
   * If you pass a layer, it replaces all carriers, and `fictional_carriers` has no effect.
   */
  readonly carriers?: ReadonlyArray<CarrierAdapter> | Layer.Layer<CarrierAdapters>
  /**
   * Where log entries go, such as `console` or a pino logger. By default they go to standard output, from level info
   * up.
   */
  readonly logger?: ProgramLogger

  // Options for what this process does, and for whom.

  /** Whether this process runs due jobs; true by default. Use false in a process that only serves calls. */
  readonly work?: boolean
  /** Whether calls are recorded in the request log; true by default. */
  readonly request_log?: boolean
  /** Whether reports about the API are accepted; true by default. */
  readonly feedback?: boolean
  /**
   * Rate limits. By default, callers that arrive through a host have the limits in the API contract
   * (`Allowance.standardLimits`), and your own program's calls have no limits. If you set limits, they apply to both
   * kinds of calls.
   */
  readonly limits?: Limits
  /** How long `close` waits for running work, in milliseconds; 8,000 by default. */
  readonly grace_ms?: number

  // Options for telemetry and cryptography.

  /**
   * Where spans and metrics go. Pass the module: `import * as telemetry from "@opentelemetry/api"`. Each client call is
   * a child of the active span. Spans and metrics never contain keys, secrets, or facts about a person.
   */
  readonly telemetry?: OpenTelemetry
  /** The runtime's own cryptography, if it is faster than the default. */
  readonly cryptography?: Layer.Layer<Cryptography>
}

/** Identifies a parked event. Pass an event from `listParkedEvents`, or IDs that you have stored. */
export interface GivenParkedEventPlace {
  readonly organization_id: string
  readonly environment: Environment
  readonly event_id: string
}

/**
 * The service inside another program. `embed` returns immediately; calls wait until the service has started.
 *
 * First steps: `createOrganization`, then `createKey`, then `client(key)` to call operations, and `close` at the end.
 * Later:
 * - organizations and keys: `listOrganizations`, `listKeys`, `revokeKey`
 * - events: `consume`, `listConsumers`, `listParkedEvents`, `retryParkedEvent`, `dropParkedEvent`
 * - carriers: `setConnection`, `testConnection`, `listConnections`, `removeConnection`, `carrierStatus`, `resetCarrier`,
 *   `carrierCallback`
 * - one request: `timeline`, `erase`
 * - seal keys: `sealStatus`, `rotateSealKeys`
 * - hosts and Effect: `run`, `log`
 *
 * What you call depends on who acts:
 *
 * - The holder of a key: `client(key)` has every operation of the API, and sees only the key's workspace.
 * - An operator: `operators.as({ name })` has every operation for operators, and sees all organizations. It checks the
 *   operator's scopes and records each call in the audit log.
 * - Your program itself: the methods below see all organizations, need no scopes and write no audit log. Some methods do
 *   the same as an operator's operation: `createKey` matches `create_key`.
 *
 * Operations, and all fields of inputs, options and responses, are in snake_case, as on the wire. A client's
 * `wait_for_quotes` and `events` follow the naming of the operations beside them. All other functions and methods are
 * in camelCase.
 *
 * IDs are strings, as the service returns them. A method that expects the ID of an organization or key rejects other
 * text with `not_found`.
 *
 * `OwnLine` is the union of the lines for which clients can start requests; by default the standard lines.
 */
export interface Embedded<OwnLine extends Line = StandardLine> {
  // First steps: create an organization and a key, call operations with the key, and close the service at the end.

  /** Resolves once the service has started. If it cannot start, this promise and all calls reject. */
  readonly ready: Promise<void>
  /** Creates an organization with a sandbox and a live workspace. */
  readonly createOrganization: (name: string) => Promise<EmbeddedOrganization>
  /** Creates a key. If no carrier is available in the key's environment, `warnings` and the log say so. */
  readonly createKey: (options: {
    readonly organization_id: string
    readonly environment: Environment
    readonly kind: KeyKind
  }) => Promise<CreatedKey>
  /** Makes a client that calls every operation as a method, with this API key. `connect` returns the same type. */
  readonly client: (key: string) => Client<OwnLine>
  /**
   * Closes the service: ends pending long polls immediately, stops consumers, finishes running work within the grace
   * period, and releases all resources. Handlers such as `nodeHandler` refuse new requests, and finish the running
   * requests.
   *
   * Calls that do not finish in time, and all later calls, reject with `service_unavailable`.
   */
  readonly close: () => Promise<void>
  /** The same as `close`, so that `await using` closes the service at the end of its block. */
  readonly [Symbol.asyncDispose]: () => Promise<void>

  // Organizations and keys.

  /** Lists the organizations, oldest first. Times are strings, as in every response of the API. */
  readonly listOrganizations: () => Promise<ReadonlyArray<EmbeddedOrganization>>
  /** Lists an organization's keys, oldest first. The list contains metadata, never the keys themselves. */
  readonly listKeys: (organization_id: string) => Promise<ReadonlyArray<EmbeddedKey>>
  /** Revokes a key. From now on, calls with the key are refused. */
  readonly revokeKey: (key_id: string) => Promise<EmbeddedKey>

  // Events, handled in this process.

  /**
   * Calls a handler in this process with the events of all workspaces. Each event is handled at least once. A
   * workspace's events are handled in order, one at a time across all processes. The position is stored under the
   * consumer's name.
   *
   * Returns a function that stops the consumer; `close` also stops it. Throws `InvalidConsumer` if the name or an
   * option is invalid, or if this process already has a consumer with this name.
   */
  readonly consume: Consume
  /**
   * Lists the consumers of all processes that share the storage, how far behind each of them is, and how many of its
   * events are parked.
   */
  readonly listConsumers: () => Promise<ReadonlyArray<ConsumerStatus>>
  /**
   * Lists the events that a consumer has parked after too many failures. Within each workspace, the oldest events come
   * first.
   */
  readonly listParkedEvents: (name: string, filter?: ParkedEventFilter) => Promise<ReadonlyArray<ParkedEvent>>
  /**
   * Requests another attempt at a parked event, in any process that runs the consumer. If the attempt fails, the event
   * stays parked.
   *
   * Resolves without waiting for the attempt. Rejects with `not_found` if the event is not parked.
   */
  readonly retryParkedEvent: (name: string, place: GivenParkedEventPlace) => Promise<void>
  /**
   * Drops a parked event, so that the consumer never handles it. Rejects with `not_found` if the event is not parked.
   */
  readonly dropParkedEvent: (name: string, place: GivenParkedEventPlace) => Promise<void>

  // Carriers: an organization's connections, the status of your own carriers, and their callbacks.

  /**
   * Sets an organization's values for its connection to a carrier, replacing all earlier values.
   *
   * Rejects with `invalid_input` if a field is wrong. The error names the field and never repeats a value.
   */
  readonly setConnection: (
    connection: Unbranded<ConnectionPlace> & { readonly values: ConnectionValues }
  ) => Promise<EmbeddedConnection>
  /** Tests a connection with its carrier, and stores the result. */
  readonly testConnection: (place: Unbranded<ConnectionPlace>) => Promise<ConnectionTestResult>
  /** Lists an organization's connections, without their secrets. */
  readonly listConnections: (organization_id: string) => Promise<ReadonlyArray<EmbeddedConnection>>
  /** Removes a connection and its values. The carrier is then no longer asked for this organization. */
  readonly removeConnection: (place: Unbranded<ConnectionPlace>) => Promise<void>
  /**
   * Returns the status of your own carriers across all hosts on the storage: circuit, latest outcomes, calls in
   * progress and remaining rate. There is one status for each line and environment, or for each line and connection.
   *
   * A page covers at most 100 connections. For the next page, pass `next` as `after`.
   */
  readonly carrierStatus: (options?: Unbranded<CarrierStatusOptions>) => Promise<CarrierStatusPage>
  /**
   * Closes a carrier's open circuits for all hosts, for example after the carrier reports that it has recovered.
   * Returns the circuits' new status. The log says that an operator closed the circuits.
   *
   * Rejects with `invalid_input` if a carrier, line or organization is wrong; the error names the wrong field.
   */
  readonly resetCarrier: (circuits: Unbranded<CircuitsToReset>) => Promise<ReadonlyArray<CarrierStatus>>
  /**
   * Accepts a carrier's callback. Pass on its headers, with names in lower case, and the raw bytes of its body.
   *
   * Resolves to false if the callback is not genuine or matches no ask; respond to the carrier with 404 in that case.
   * Rejects with `service_unavailable` if the carrier must resend the callback after `retry_after_seconds`.
   */
  readonly carrierCallback: (carrier_id: string, callback: CarrierCallback) => Promise<boolean>

  // A single request: its history, and erasing the person's data.

  /**
   * Returns what happened to any organization's quote request, for operators: the call that started it, the recorded
   * exchanges with carriers, quotes, events and deliveries. Rejects with `not_found` if the request does not exist.
   */
  readonly timeline: (quote_request_id: string, options?: TimelineOptions) => Promise<Timeline>
  /**
   * Erases what is known about a person from one quote request, or from all requests that were started with a receipt.
   *
   * `by` says who erases the data, such as an operator or a ticket. The service keeps `by`, so it must not name the
   * person. With `dry_run` nothing changes, and `by` is optional. If this rejects with `service_unavailable`, call it
   * again: it continues where it stopped. For an unknown request or receipt, the report is empty; an unknown
   * organization rejects with `not_found`.
   */
  readonly erase: (target: ErasureTarget, options: ErasureOptions) => Promise<ErasureReport>

  // The keys that seal data at rest.

  /** Counts what each seal key seals. Reads all sealed data and changes nothing. */
  readonly sealStatus: () => Promise<SealStatus>
  /**
   * Reseals data that older `seal_keys` have sealed, using the newest key, while hosts run. Call it once every host has
   * started with the newest key. You can remove an older key when the result lists it as `removable`.
   *
   * If this rejects or the process ends, call it again: it continues where it stopped. `on_progress` is called after
   * each step. If it throws, or its promise rejects, the service logs the error and continues.
   */
  readonly rotateSealKeys: (options?: {
    readonly on_progress?: (progress: SealProgress) => void
  }) => Promise<SealRotation>

  // Operators' access, with scopes and an audit log.

  /**
   * The operators' methods. You name the acting operator for the audit log. `operators` also manages the tokens for the
   * operators' API, which a host serves with `operators: true`.
   */
  readonly operators: Operators

  // For hosts, and programs that use Effect.

  /**
   * Runs an Effect with all services of the core. Hosts such as `nodeHandler` are built on this method.
   *
   * `close` releases what the Effect has acquired before it releases the services. If the Effect fails, rejects with a
   * `ServiceFailed` whose `cause` is the failure.
   */
  readonly run: <A, E>(effect: Effect.Effect<A, E, Services | Storage | Scope.Scope>) => Promise<A>
  /**
   * Logs an entry, such as `Effect.logWarning("…")`, with the service's logger, even before the service has started.
   */
  readonly log: (entry: Effect.Effect<void>) => Promise<void>
}

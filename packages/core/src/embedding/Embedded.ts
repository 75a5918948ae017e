import type { Effect, Layer, Scope } from "effect"
import type { Limits } from "../access/Allowance.ts"
import type { Environment, KeyKind } from "../access/Caller.ts"
import type { ApiKey, Organization } from "../access/Directory.ts"
import type { CarrierAdapter, CarrierAdapters, CarrierCallback, ConnectionValues } from "../carriers/Carrier.ts"
import type { ConnectionPlace, ConnectionSummary, ConnectionTestResult } from "../carriers/Connection.ts"
import type { Client } from "../client/Client.ts"
import type { Unbranded } from "../client/inputs.ts"
import type { Config } from "../config/Config.ts"
import type { ParkedEvent, ParkedEventFilter } from "../consuming/ParkedEvent.ts"
import type { Consume } from "../consuming/promises.ts"
import type { CreatedKey } from "../hosting.ts"
import type { Cryptography, Services } from "../layer.ts"
import type { Line } from "../lines/Line.ts"
import type { StandardLine } from "../lines/standard.ts"
import type { ErasureOptions, ErasureReport, ErasureTarget } from "../quoting/erasing/Erasure.ts"
import type { Storage } from "../storage/Storage.ts"
import type { Timeline } from "../timeline/Entry.ts"
import type { TimelineOptions } from "../timeline/Timelines.ts"
import type { WebhookSender } from "../webhooks/WebhookSender.ts"
import type { ProgramLogger } from "./ProgramLogger.ts"
import type { GivenSealKeys } from "./sealKeys.ts"

/** Options of `embed`. Those of a configuration can be passed on: `embed({ storage, ...config })`. */
export interface EmbedOptions<OwnLine extends Line = StandardLine>
  extends Omit<Config<OwnLine>, "carriers" | "sandbox_connections"> {
  /** Where all data is stored, such as `MemoryStorage.layer`. The service does not start without a usable storage. */
  readonly storage: Layer.Layer<Storage, Error>
  /**
   * Your own carriers, beside the fictional ones of the sandbox. If one is wrong, the service does not start.
   *
   * A layer gives all carriers instead, and `fictional_carriers` then does nothing.
   */
  readonly carriers?: ReadonlyArray<CarrierAdapter> | Layer.Layer<CarrierAdapters>
  /**
   * The keys that seal facts at rest, newest first: texts as `generateSealKey` makes them and `QUOTEWIRE_SEAL_KEYS` takes them.
   *
   * By default random keys, which are lost when the process ends. A storage that keeps its data needs keys of yours.
   */
  readonly seal_keys?: GivenSealKeys
  /** Where the log goes, such as `console` or a logger of pino; by default to standard output, from level info on. */
  readonly logger?: ProgramLogger
  /** The runtime's own cryptography, if it is faster than the default. */
  readonly cryptography?: Layer.Layer<Cryptography>
  /**
   * Rate limits. By default the callers of a host on this service have those of the contract (`Allowance.standardLimits`), and
   * the calls of your own program have none. If you set this, it applies to both.
   */
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

/** Names a parked event: pass one of `listParkedEvents`, or the ids that you have kept. */
export interface GivenParkedEventPlace {
  readonly organization_id: string
  readonly environment: Environment
  readonly event_id: string
}

/**
 * The service inside another program. It starts at once; calls wait until it has started.
 *
 * Ids are strings, as the service has returned them. One that is not the id of an organization or a key rejects with `not_found`.
 *
 * `OwnLine` are the lines that its clients can start; by default the standard lines.
 */
export interface Embedded<OwnLine extends Line = StandardLine> {
  /** Resolves when the service has started. If it cannot start, this and every call reject. */
  readonly ready: Promise<void>
  /** Creates an organization with a sandbox and a live workspace. */
  readonly createOrganization: (name: string) => Promise<Organization>
  /** Lists the organizations, oldest first. */
  readonly listOrganizations: () => Promise<ReadonlyArray<Organization>>
  /** Makes a key. If no carrier can be asked in its environment, `warnings` and the log say so. */
  readonly createKey: (options: {
    readonly organization_id: string
    readonly environment: Environment
    readonly kind: KeyKind
  }) => Promise<CreatedKey>
  /** Lists the keys of an organization, oldest first: what is known about each, never the key itself. */
  readonly listKeys: (organization_id: string) => Promise<ReadonlyArray<ApiKey>>
  /** Revokes a key. Calls with it are refused from now on. */
  readonly revokeKey: (key_id: string) => Promise<ApiKey>
  /**
   * Sets what an organization gives for a carrier, in place of everything that it gave before.
   *
   * A wrong field rejects with `invalid_input`, which names it and never repeats a value.
   */
  readonly setConnection: (
    connection: Unbranded<ConnectionPlace> & { readonly values: ConnectionValues }
  ) => Promise<ConnectionSummary>
  /** Tries a connection at its carrier, and keeps the result. */
  readonly testConnection: (place: Unbranded<ConnectionPlace>) => Promise<ConnectionTestResult>
  /** Lists the connections of an organization, never their secrets. */
  readonly listConnections: (organization_id: string) => Promise<ReadonlyArray<ConnectionSummary>>
  /** Removes a connection with its values. Its carrier is no longer asked for this organization. */
  readonly removeConnection: (place: Unbranded<ConnectionPlace>) => Promise<void>
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
  /**
   * Calls a handler in this process with the events of all workspaces: at least once, and those of a workspace in order, one
   * at a time over all processes. The name keeps its position in storage.
   *
   * Returns the function that stops it; `close` stops it, too. Throws `InvalidConsumer` if the name or an option is wrong, or
   * this process already consumes the name.
   */
  readonly consume: Consume
  /** Lists the events that a consumer has parked after too many failures, oldest first in each workspace. */
  readonly listParkedEvents: (name: string, filter?: ParkedEventFilter) => Promise<ReadonlyArray<ParkedEvent>>
  /**
   * Asks for one more attempt of a parked event, in any process that consumes the name. If it fails, the event stays parked.
   *
   * Resolves at once. Rejects with `not_found` if the event is not parked.
   */
  readonly retryParkedEvent: (name: string, place: GivenParkedEventPlace) => Promise<void>
  /** Drops a parked event: it is never handled. Rejects with `not_found` if it is not parked. */
  readonly dropParkedEvent: (name: string, place: GivenParkedEventPlace) => Promise<void>
  /** Every operation as a method, called with this API key. */
  readonly client: (key: string) => Client<OwnLine>
  /**
   * Runs an Effect with every service of the core: what hosts such as `nodeHandler` are built on.
   *
   * What it acquires is released by `close`, before the services are. Rejects with the failure of the Effect.
   */
  readonly run: <A, E>(effect: Effect.Effect<A, E, Services | Storage | Scope.Scope>) => Promise<A>
  /** Logs an entry, such as `Effect.logWarning("…")`, where the service logs: also before it has started, and if it could not. */
  readonly log: (entry: Effect.Effect<void>) => Promise<void>
  /**
   * What happened to a quote request of any organization, for operators: the call that started it, the exchanges with
   * carriers that are on record, quotes, events and deliveries. Rejects with `not_found` if there is no such request.
   */
  readonly timeline: (quote_request_id: string, options?: TimelineOptions) => Promise<Timeline>
  /**
   * Returns pending long polls at once, stops consumers, finishes running work within the grace period, and releases all resources.
   * Handlers such as `nodeHandler` refuse new requests from now on, and finish the running ones.
   *
   * Calls that do not finish in time, and all later calls, reject with `service_unavailable`.
   */
  readonly close: () => Promise<void>
}

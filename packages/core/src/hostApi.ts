import { Effect, Layer } from "effect"
import { Access, type IssuedKey, KeylessWorkspace } from "./access/Access.ts"
import type { Environment } from "./access/Caller.ts"
import type { Allowance } from "./access/limits/Allowance.ts"
import { areEqual, Seal } from "./access/sealing/Seal.ts"
import type { SealedRows } from "./access/sealing/SealedRows.ts"
import * as SealKeysInUse from "./access/sealing/SealKeysInUse.ts"
import type { Workspaces } from "./access/Workspaces.ts"
import type { IdempotentCalls } from "./calls/IdempotentCalls.ts"
import { type Mailbox, Mailboxes } from "./calls/Mailboxes.ts"
import type { RequestLog } from "./calls/RequestLog.ts"
import type { Revisions } from "./calls/Revision.ts"
import { CarrierAdapters, type CarrierCallback, environmentsOf } from "./carriers/Carrier.ts"
import type { Connections } from "./carriers/Connections.ts"
import type { Circuits } from "./carriers/health/Circuits.ts"
import type { Consumers } from "./consuming/Consumers.ts"
import type { Events } from "./events/Events.ts"
import type { Feedback } from "./feedback/Feedback.ts"
import type { AuditLog } from "./operators/AuditLog.ts"
import type { OperatorTokens } from "./operators/OperatorTokens.ts"
import { keyWarnings } from "./operators/OrganizationOperations.ts"
import type { QuoteRequestSearch } from "./operators/QuoteRequestSearch.ts"
import type { WorkReports } from "./operators/WorkReports.ts"
import { Asking } from "./quoting/asking/Asking.ts"
import type { Erasures } from "./quoting/erasing/Erasures.ts"
import type { QuoteRequests } from "./quoting/QuoteRequests.ts"
import type { QuoteStarts } from "./quoting/QuoteStarts.ts"
import { type Destination, Quotes } from "./quoting/Quotes.ts"
import type { Retention } from "./runner/Retention.ts"
import type { Runner } from "./runner/Runner.ts"
import type { Sandbox } from "./sandbox/Sandbox.ts"
import * as CellReadiness from "./storage/CellReadiness.ts"
import { LongPolls } from "./storage/Hints.ts"
import { Storage, type StorageUnavailable } from "./storage/Storage.ts"
import type { Timelines } from "./timeline/Timelines.ts"
import type { Deliveries } from "./webhooks/deliveries/Deliveries.ts"
import type { Recoveries } from "./webhooks/deliveries/Recoveries.ts"
import type { EventSubscriptions } from "./webhooks/subscriptions/EventSubscriptions.ts"
import * as ApiError from "./wire/ApiError.ts"
import { InvalidArgument } from "./wire/Argument.ts"
import type { Ids } from "./wire/Ids.ts"

/* What hosts need from a running service besides operations: links, callbacks, signatures, readiness and keys. */

export type { Destination, Mailbox }

/**
 * The services of the core. Hosts do not use these services directly, but the functions that hosts call need all of
 * them.
 */
export type Services =
  | Access
  | Allowance
  | AuditLog
  | IdempotentCalls
  | CarrierAdapters
  | Asking
  | Circuits
  | Connections
  | Consumers
  | Deliveries
  | Erasures
  | Events
  | EventSubscriptions
  | Feedback
  | Ids
  | Mailboxes
  | OperatorTokens
  | QuoteRequests
  | QuoteRequestSearch
  | QuoteStarts
  | Recoveries
  | Quotes
  | RequestLog
  | Retention
  | Revisions
  | Runner
  | Sandbox
  | Seal
  | SealedRows
  | LongPolls
  | Timelines
  | WorkReports
  | Workspaces

/** Resolves the token in `/go/<token>` to the carrier's page, or to a page that says why the link no longer works. */
export const go = (token: string): Effect.Effect<Destination, never, Services> =>
  Quotes.use((quotes) => quotes.go(token)).pipe(Effect.catchTag("StorageUnavailable", () => Effect.succeed(tryLater)))

const tryLater: Destination = {
  _tag: "page",
  status: 503,
  title: "This link cannot be opened right now",
  message: "Try again in a minute."
}

/**
 * Accepts a carrier's callback, unparsed. Returns false if the callback is not genuine or matches no ask. Fails if the
 * carrier must resend the callback later.
 */
export const carrierCallback = (
  carrierId: string,
  callback: CarrierCallback
): Effect.Effect<boolean, ApiError.ApiError<"service_unavailable">, Services> =>
  Asking.use((asking) => asking.callback(carrierId, callback)).pipe(
    Effect.catchTag(["StorageUnavailable", "CallbackTooEarly"], ({ retry_after_seconds }) =>
      Effect.fail(ApiError.make("service_unavailable", { retry_after_seconds }))
    )
  )

/**
 * Signs text that a host hands out, so that any host can verify it later.
 *
 * `purpose` separates uses: a signature for one purpose is not valid for another.
 */
export const sign = (purpose: string, text: string): Effect.Effect<string, never, Services> =>
  Seal.use((sealer) => sealer.mac(purpose, text))

/** Whether `sign` made this signature for this purpose and text, with a seal key that is still in the settings. */
export const isSigned = (purpose: string, text: string, signature: string): Effect.Effect<boolean, never, Services> =>
  Seal.use((sealer) => sealer.macLike(signature, purpose, text)).pipe(
    Effect.map((mac) => mac !== null && areEqual(mac, signature))
  )

/** Seals text that a host hands out and that nobody else may read. Only `unseal` with the same purpose can read it. */
export const seal = (purpose: string, text: string): Effect.Effect<string, never, Services> =>
  Seal.use((sealer) => sealer.seal(purpose, text))

/**
 * Opens text that `seal` sealed. If the text was altered, or if this host lacks the key that sealed it, logs this and
 * returns null.
 */
export const unseal = (purpose: string, sealed: string): Effect.Effect<string | null, never, Services> =>
  Seal.use((sealer) => Effect.orElseSucceed(sealer.open(purpose, sealed), () => null))

/**
 * Sends a message to a mailbox, at which any host may be waiting. Returns whether the mailbox accepted the message. A
 * mailbox accepts one message and drops all later messages.
 */
export const sendMessage = (
  mailbox: Mailbox,
  text: string
): Effect.Effect<boolean, ApiError.ApiError<"service_unavailable">, Services> =>
  Mailboxes.use((mailboxes) => mailboxes.send(mailbox, text)).pipe(
    Effect.catchTag("StorageUnavailable", ({ retry_after_seconds }) =>
      Effect.fail(ApiError.make("service_unavailable", { retry_after_seconds }))
    )
  )

/**
 * Waits for a mailbox's message, but at most this many milliseconds of real time. Returns null if no message arrives by
 * then.
 */
export const receiveMessage = (mailbox: Mailbox, waitMs: number): Effect.Effect<string | null, never, Services> =>
  Mailboxes.use((mailboxes) => mailboxes.receive(mailbox, waitMs))

/**
 * Whether the service is ready. True if storage responds and has the schema that this program needs, and this process
 * has found nothing sealed with a key that it lacks. Otherwise a sentence that says what is wrong.
 */
export const ready: Effect.Effect<true | string, never, Storage | Seal> = Effect.gen(function* () {
  const sealer = yield* Seal
  if (yield* sealer.isMissingKey) return missingKey
  yield* Storage.use((storage) => storage.ready)
  return true
}).pipe(Effect.catchTag("StorageUnavailable", () => Effect.succeed("Storage is unreachable.")))

/** Whether a process has ever started on the storage. If so, the storage can be used only with that process's keys. */
export const isSealed: Effect.Effect<boolean, StorageUnavailable, Storage> = Effect.map(
  Effect.flatMap(Storage, SealKeysInUse.read),
  (keys) => keys !== null
)

const missingKey =
  "Some data is sealed with a key that this host does not have: restart this host with every seal key in use."

/** Which cells of the storage can be used now. The list is empty if the storage has no cells. */
export const cells: Effect.Effect<ReadonlyArray<CellReadiness.CellReadiness>, never, Storage> = Effect.flatMap(
  Storage,
  (storage) => CellReadiness.ask(storage.cells ?? [])
)

/** The environments for which this host has a carrier. */
export const environments: Effect.Effect<ReadonlyArray<Environment>, never, CarrierAdapters> = Effect.map(
  CarrierAdapters,
  environmentsOf
)

/** The IDs of the carriers that this host can ask, by environment. */
export const carrierIds: Effect.Effect<{ readonly [E in Environment]: ReadonlyArray<string> }, never, CarrierAdapters> =
  Effect.map(CarrierAdapters, (adapters) => {
    const idsIn = (environment: Environment) =>
      adapters.filter((adapter) => adapter.environments.includes(environment)).map(({ carrier }) => carrier.id)
    return { sandbox: idsIn("sandbox"), live: idsIn("live") }
  })

/** A new key, with warnings for the person who creates it. */
export interface CreatedKey extends IssuedKey {
  readonly warnings: ReadonlyArray<string>
}

/** Creates a key, and warns if this program has no carrier in the key's environment. */
export const createKey = Effect.fnUntraced(function* (options: Parameters<Access["Service"]["createKey"]>[0]) {
  const issued = yield* (yield* Access).createKey(options)
  return { ...issued, warnings: keyWarnings(options.environment, yield* environments) } satisfies CreatedKey
})

/** The organization and environment in which callers without a key act. */
export interface Keyless {
  /** The ID of an organization in the storage, as `createOrganization` returns it. */
  readonly organization_id: string
  /** The environment; `sandbox` by default. */
  readonly environment?: Environment
}

/**
 * Admits callers without a key to one host's agent endpoint. Dies if the organization does not exist or the storage is
 * unavailable.
 */
export const admitKeyless = ({
  environment = "sandbox",
  organization_id
}: Keyless): Layer.Layer<never, never, Services> =>
  Layer.effect(
    KeylessWorkspace,
    Effect.gen(function* () {
      const organizations = yield* Effect.orDie((yield* Access).listOrganizations)
      const organization = organizations.find(({ id }) => id === organization_id)
      if (organization === undefined) {
        const message = "keyless.organization_id must name an organization in this storage."
        return yield* Effect.die(new InvalidArgument({ message }))
      }
      return { organization_id: organization.id, environment, workspace_id: organization.workspaces[environment] }
    })
  )

/**
 * Whether callers can reach the live environment although this host has no live carrier. They can if a live key exists,
 * or if callers without a key act in live. Requests that they start end without a quote.
 */
export const isLiveWithoutCarriers: Effect.Effect<boolean, StorageUnavailable, Services> = Effect.gen(function* () {
  if ((yield* environments).includes("live")) return false
  const keyless = yield* KeylessWorkspace
  return keyless?.environment === "live" || (yield* (yield* Access).hasKeyIn("live"))
})

/**
 * Ends pending long polls immediately with the current state, and responds to later reads without waiting. Call this
 * when the process is about to stop; the effect cannot be undone.
 */
export const releaseLongPolls: Effect.Effect<void, never, Services> = Effect.flatMap(
  LongPolls,
  (longPolls) => longPolls.stop
)

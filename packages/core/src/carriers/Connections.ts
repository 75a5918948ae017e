import { Cache, Clock, Context, Effect, Exit, Layer, Option, Result } from "effect"
import * as ApiKey from "../access/ApiKey.ts"
import { openRecord, Seal, sealRecord } from "../access/sealing/Seal.ts"
import { Workspaces } from "../access/Workspaces.ts"
import { BoundedMap } from "../concurrency/BoundedMap.ts"
import * as Change from "../storage/Change.ts"
import {
  commit,
  directoryWorkspace,
  readAll,
  retryOnConflict,
  Storage,
  type StorageUnavailable
} from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import type { OrganizationId, WorkspaceId } from "../wire/Ids.ts"
import { secondMs } from "../wire/Timestamp.ts"
import * as AnswerRules from "./AnswerRules.ts"
import { type CarrierAdapter, CarrierAdapters, type ConnectionTest, type ConnectionValues } from "./Carrier.ts"
import { orIfThrown } from "./CarrierClient.ts"
import {
  adapterOf,
  type Connection,
  type ConnectionPlace,
  type ConnectionSummary,
  type ConnectionTestResult,
  check,
  idOf,
  kind,
  placeIn,
  repeatsSecret,
  summaryOf,
  unreadableSummary,
  valuesFor
} from "./Connection.ts"
import { clean } from "./Offer.ts"
import * as TimeBudget from "./TimeBudget.ts"

/** How long another host may still use values that were replaced or removed on this host. */
const cachedForMs = secondMs
const maxCached = 10_000
/** How long a connection test may take. */
const testTimeoutMs = 15 * secondMs
const pageSize = 100

/** Keeps the values that organizations set for carriers: producer codes, API keys and the like. */
export class Connections extends Context.Service<
  Connections,
  {
    /**
     * Sets an organization's values for a carrier, replacing all earlier values.
     *
     * Fails with `not_found` if the organization does not exist, and with `invalid_input` if `carrier_id`,
     * `environment` or a value is wrong. Errors never repeat a value. Asks use the new values immediately on this host,
     * and within a second on all hosts.
     */
    readonly set: (
      connection: ConnectionPlace & { readonly values: unknown }
    ) => Effect.Effect<
      ConnectionSummary,
      ApiError.ApiError<"not_found"> | ApiError.ApiError<"invalid_input"> | StorageUnavailable
    >
    /**
     * Lists the connections of an organization, without their secrets. Fails with `not_found` if the organization does
     * not exist.
     */
    readonly list: (
      organization_id: OrganizationId
    ) => Effect.Effect<ReadonlyArray<ConnectionSummary>, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /**
     * Tests a connection with its carrier, for 15 seconds at most, and stores the result. Fails with `not_found` if the
     * connection does not exist.
     *
     * An error thrown by the adapter is logged with its cause and location, and reported as `failed`.
     */
    readonly test: (
      place: ConnectionPlace
    ) => Effect.Effect<ConnectionTestResult, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /**
     * Removes a connection and its values. Fails with `not_found` if the connection does not exist. Takes effect as
     * quickly as `set`.
     */
    readonly remove: (
      place: ConnectionPlace
    ) => Effect.Effect<void, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /**
     * The values for asks from a workspace to a carrier; null if this process has no usable connection.
     *
     * The values may be a second old.
     */
    readonly of: (
      workspace_id: WorkspaceId,
      carrier_id: string
    ) => Effect.Effect<ConnectionValues | null, StorageUnavailable>
  }
>()("@quotewire/core/Connections") {
  /**
   * Uses a storage backend without the sealing layer and seals the values itself, so that it can tell a missing seal
   * key from unavailable storage.
   */
  static readonly layer: Layer.Layer<Connections, never, Storage | Seal | Workspaces | CarrierAdapters> = Layer.effect(
    Connections,
    Effect.gen(function* () {
      const workspaces = yield* Workspaces
      const records = yield* makeRecords
      const cache = yield* makeCache(records)
      const { remove, set } = yield* makeSet(records, cache)
      return Connections.of({
        set: (connection) => retryOnConflict(set(connection)),
        list: yield* makeList(records),
        test: yield* makeTest(records),
        remove: (place) => retryOnConflict(remove(place)),
        of: (workspace_id, carrier_id) =>
          Effect.flatMap(workspaces.cached(workspace_id), ({ workspace: { organization_id, environment } }) =>
            Cache.get(cache, { organization_id, environment, carrier_id })
          )
      })
    })
  )
}

type Records = Effect.Success<typeof makeRecords>

/** Caches the usable values of connections for a second. */
const makeCache = Effect.fnUntraced(function* ({ find, open }: Records) {
  const adapters = yield* CarrierAdapters
  const usable = Effect.fnUntraced(function* (place: ConnectionPlace) {
    const fields = adapterOf(adapters, place)?.connection
    const record = fields === undefined ? null : yield* find(place)
    if (fields === undefined || record === null || isRemoved(record)) return null
    const connection = yield* open(record)
    return connection === null ? null : valuesFor(fields, connection.values)
  })
  // A failed lookup is not cached.
  return yield* Cache.makeWith(usable, {
    capacity: maxCached,
    timeToLive: (exit) => (Exit.isSuccess(exit) ? cachedForMs : 0)
  })
})

const makeSet = Effect.fnUntraced(function* (
  { find, requireOrganization, save }: Records,
  cache: Effect.Success<ReturnType<typeof makeCache>>
) {
  const adapters = yield* CarrierAdapters

  const set = Effect.fn("Connections.set")(function* (input: ConnectionPlace & { readonly values: unknown }) {
    yield* requireOrganization(input.organization_id)
    const values = check(adapters, input)
    if (Result.isFailure(values)) return yield* ApiError.invalidInput(values.failure)
    const place = placeIn(input)
    const set_at = yield* Clock.currentTimeMillis
    const connection: Connection = { ...place, status: "set", values: values.success, set_at, last_test: null }
    yield* save(connection, yield* find(place))
    yield* Cache.invalidate(cache, place)
    return summaryOf(connection, adapters)
  })

  const remove = Effect.fn("Connections.remove")(function* (target: ConnectionPlace) {
    const place = placeIn(target)
    const record = yield* find(place)
    if (record === null || isRemoved(record)) return yield* ApiError.make("not_found")
    const set_at = yield* Clock.currentTimeMillis
    yield* save({ ...place, status: "removed", values: {}, set_at, last_test: null }, record)
    yield* Cache.invalidate(cache, place)
  })

  return { set, remove }
})

const makeList = Effect.fnUntraced(function* ({ open, recordsOf, requireOrganization }: Records) {
  const adapters = yield* CarrierAdapters
  return Effect.fn("Connections.list")(function* (organizationId: OrganizationId) {
    yield* requireOrganization(organizationId)
    const summaries = yield* Effect.forEach(yield* recordsOf(organizationId), (record) =>
      Effect.map(open(record), (connection) =>
        connection === null ? unreadableSummary(record) : summaryOf(connection, adapters)
      )
    )
    return summaries.filter((summary) => summary !== null)
  })
})

const makeTest = Effect.fnUntraced(function* ({ find, open, save }: Records) {
  const adapters = yield* CarrierAdapters
  return Effect.fn("Connections.test")(function* (target: ConnectionPlace) {
    const place = placeIn(target)
    const record = yield* find(place)
    if (record === null || isRemoved(record)) return yield* ApiError.make("not_found")
    const connection = yield* open(record)
    if (connection === null) return failed("This program cannot decrypt the connection: set the connection again.")
    const result = yield* tryOut(adapterOf(adapters, place), connection)
    const { message, outcome } = result
    if (outcome === "not_tested") return result
    const last_test = { at: yield* Clock.currentTimeMillis, outcome, message }
    // If the values were replaced during the test, its result does not apply to the new values, and is dropped.
    yield* Effect.catchTag(save({ ...connection, last_test }, record), "VersionConflict", () => Effect.void)
    return result
  })
})

/** Reads and writes the records of connections. */
const makeRecords = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal
  /**
   * The record versions that this process could not open. Another attempt would fail too: a process's seal keys never
   * change.
   */
  const unreadable = new BoundedMap<string, number>(maxCached)

  const requireOrganization = (id: OrganizationId) =>
    Effect.flatMap(ApiKey.findOrganization(storage, id), (organization) =>
      organization === null ? Effect.fail(ApiError.make("not_found")) : Effect.void
    )

  /** The current connections of an organization, still sealed. */
  const recordsOf = (organizationId: OrganizationId) =>
    readAll(storage, {
      workspace_id: directoryWorkspace,
      kind: kind.name,
      parent: organizationId,
      status: "set",
      order: "oldest",
      limit: pageSize
    })

  /** The record of a connection, still sealed, even if the connection was removed. */
  const find = (place: ConnectionPlace) =>
    Effect.map(storage.get({ workspace_id: directoryWorkspace, kind: kind.name, id: idOf(place) }), Option.getOrNull)

  /** Opens the connection in a record. Returns null if this process cannot open it, and logs that once. */
  const open = Effect.fnUntraced(function* (record: Change.StoredRecord) {
    if (unreadable.get(record.id) === record.version) return null
    const opened = yield* Effect.catchTag(
      openRecord(seal, directoryWorkspace, record),
      "StorageUnavailable",
      () => Effect.succeedNone
    )
    if (Option.isSome(opened)) return kind.value(opened.value)
    unreadable.set(record.id, record.version)
    return null
  })

  /** Writes the record's next version, whether or not the current version can be opened. */
  const save = (connection: Connection, previous: Change.StoredRecord | null) =>
    Effect.flatMap(
      sealRecord(
        seal,
        directoryWorkspace,
        kind.record(connection, {
          id: idOf(connection),
          version: (previous?.version ?? 0) + 1,
          created_at: previous?.created_at ?? connection.set_at,
          updated_at: connection.set_at
        })
      ),
      (record) => commit(storage, Change.make(directoryWorkspace, { writes: [record] }))
    )

  return { requireOrganization, recordsOf, find, open, save }
})

const isRemoved = ({ status }: Change.StoredRecord): boolean => status === "removed"

const failed = (message: string): ConnectionTestResult => ({ outcome: "failed", message })
const notTested: ConnectionTestResult = {
  outcome: "not_tested",
  message: "This carrier's connections cannot be tested."
}

/** Sends a connection's values to its carrier's adapter to test them. */
const tryOut = (
  adapter: CarrierAdapter | undefined,
  { values, organization_id, environment, carrier_id }: Connection
): Effect.Effect<ConnectionTestResult> => {
  if (adapter?.connection === undefined) {
    return Effect.succeed(failed("No carrier in this program uses this connection."))
  }
  const { connection: fields } = adapter
  const connectionValues = valuesFor(fields, values)
  if (connectionValues === null) {
    return Effect.succeed(failed("The connection lacks a field that the carrier needs: set the connection again."))
  }
  if (adapter.testConnection === undefined) return Effect.succeed(notTested)
  return Effect.suspend(() => adapter.testConnection?.(connectionValues, environment) ?? Effect.succeed(faulty)).pipe(
    TimeBudget.withinLimit({ millis: testTimeoutMs }, () => Effect.succeed(late)),
    Effect.flatMap(checked),
    orIfThrown(() => faulty),
    Effect.annotateLogs({ carrier_id, organization_id, environment }),
    Effect.map((answer): ConnectionTestResult => {
      if (answer.ok) return { outcome: "ok", message: null }
      return failed(repeatsSecret(fields, values, answer.message) ? leftOut : clean(answer.message))
    })
  )
}

/** Replaces an invalid test result with `faulty`. Results are checked because adapters are third-party code. */
const checked = (answer: ConnectionTest): Effect.Effect<ConnectionTest> =>
  Result.match(AnswerRules.readConnectionTest(answer), {
    onSuccess: (read) => Effect.succeed(read),
    onFailure: (broken) => Effect.as(AnswerRules.log(broken), faulty)
  })

const late: ConnectionTest = { ok: false, message: "The carrier did not answer within 15 seconds." }
const faulty: ConnectionTest = { ok: false, message: "The carrier's adapter failed; see the log." }
const leftOut = "The carrier refused the connection. The carrier's message is omitted because it repeats a secret."

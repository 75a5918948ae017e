import { Clock, Context, Effect, Layer } from "effect"
import * as ApiKey from "../../access/ApiKey.ts"
import type { Environment } from "../../access/Caller.ts"
import { directoryWorkspace, Storage, type StorageUnavailable } from "../../storage/Storage.ts"
import * as ApiError from "../../wire/ApiError.ts"
import type { OrganizationId } from "../../wire/Ids.ts"
import { type CarrierAdapter, CarrierAdapters } from "../Carrier.ts"
import * as Connection from "../Connection.ts"
import * as CarrierLimits from "./CarrierLimits.ts"
import { type CarrierPlace, type CarrierStatus, type CarrierStatusPage, statusOf } from "./CarrierStatus.ts"

export { tally } from "./CarrierHealth.ts"

/** Which statuses to read, and where the page begins. */
export interface CarrierStatusOptions {
  /** Returns only this carrier; by default all carriers. */
  readonly carrier_id?: string | undefined
  /**
   * Returns only this organization's connections; by default all connections, and the carriers that need no connection.
   */
  readonly organization_id?: OrganizationId | undefined
  /** The `next` of the previous page; by default the first page. */
  readonly after?: string | null | undefined
}

/** Which of a carrier's circuits to close. An omitted field matches all values. */
export interface CircuitsToReset {
  readonly carrier_id: string
  readonly line?: string | undefined
  readonly environment?: Environment | undefined
  /** Selects one organization's connection; has no effect on carriers without connections. */
  readonly organization_id?: OrganizationId | undefined
}

/** Shows operators the status of carriers, and lets them close circuits. Fictional carriers have no circuits. */
export class Circuits extends Context.Service<
  Circuits,
  {
    /**
     * Returns the status of this program's carriers across all hosts: one for each line and environment or, if the
     * carrier has connections, for each line and connection.
     *
     * A page covers at most 100 connections. Fails with `invalid_input` if the carrier is unknown, and with `not_found`
     * if the organization does not exist.
     */
    readonly status: (
      options?: CarrierStatusOptions
    ) => Effect.Effect<
      CarrierStatusPage,
      ApiError.ApiError<"invalid_input"> | ApiError.ApiError<"not_found"> | StorageUnavailable
    >
    /**
     * Closes a carrier's open circuits for all hosts, and returns their new status. Asks resume, and earlier failures
     * no longer count.
     *
     * Fails with `invalid_input`, which names the wrong carrier, line or organization, and with `not_found` if the
     * organization does not exist.
     */
    readonly reset: (
      circuits: CircuitsToReset
    ) => Effect.Effect<
      ReadonlyArray<CarrierStatus>,
      ApiError.ApiError<"invalid_input"> | ApiError.ApiError<"not_found"> | StorageUnavailable
    >
  }
>()("@quotewire/core/Circuits") {
  /**
   * Uses a storage backend without the sealing layer. Only the IDs of connections are read, and these are not sealed.
   */
  static readonly layer: Layer.Layer<Circuits, never, Storage | CarrierAdapters> = Layer.effect(
    Circuits,
    Effect.suspend(() => make)
  )
}

/** The maximum number of connections on a page. */
const pageSize = 100
/** The maximum number of concurrent reads. */
const readAtOnce = 8

/** The scope of a circuit, and what is needed to read the circuit's health record. */
interface FoundCircuit {
  readonly place: CarrierPlace
  readonly adapter: CarrierAdapter
  readonly subject: CarrierLimits.HealthSubject
}

const make = Effect.gen(function* () {
  const all = yield* CarrierAdapters
  const adapters = all.filter(({ simulation }) => simulation === undefined)
  const pageOf = yield* makePages(adapters)
  const { apply, read } = yield* CarrierLimits.makeSharedHealth

  const statusAt = ({ adapter, place, subject }: FoundCircuit) =>
    Effect.gen(function* () {
      const line = adapter.lines[place.line]
      if (line === undefined) return []
      const { health } = yield* read(subject)
      return [statusOf(place, line, health, yield* Clock.currentTimeMillis)]
    })

  const status = Effect.fn("Circuits.status")(function* (options: CarrierStatusOptions = {}) {
    const { found, next } = yield* pageOf(options)
    const statuses = yield* Effect.forEach(found, statusAt, { concurrency: readAtOnce })
    return { carriers: statuses.flat(), next } satisfies CarrierStatusPage
  })

  const reset = Effect.fn("Circuits.reset")(function* (circuits: CircuitsToReset) {
    yield* checkKnown(adapters, circuits)
    const { environment, line, carrier_id, organization_id } = circuits
    const isMeant = ({ place }: FoundCircuit) =>
      (line ?? place.line) === place.line && (environment ?? place.environment) === place.environment
    const closed: Array<CarrierStatus> = []
    let after: string | null = null
    do {
      const page: { readonly found: ReadonlyArray<FoundCircuit>; readonly next: string | null } = yield* pageOf({
        carrier_id,
        organization_id,
        after
      })
      for (const circuit of page.found.filter(isMeant)) {
        if ((yield* apply(circuit.subject, { type: "reset" })).change !== null)
          closed.push(...(yield* statusAt(circuit)))
      }
      after = page.next
    } while (after !== null)
    return closed
  })

  return Circuits.of({ status, reset })
})

/** Reads the scopes of carriers' circuits page by page. */
const makePages = Effect.fnUntraced(function* (adapters: ReadonlyArray<CarrierAdapter>) {
  const storage = yield* Storage

  /** Reads the circuit scopes for one page of connections, and where the next page begins. */
  const connected = Effect.fnUntraced(function* ({ after, carrier_id, organization_id }: CarrierStatusOptions) {
    const { next, records } = yield* storage.page({
      workspace_id: directoryWorkspace,
      kind: Connection.kind.name,
      status: "set",
      order: "oldest",
      after: after ?? null,
      limit: pageSize,
      ...(organization_id !== undefined && { parent: organization_id })
    })
    const places = records.map(({ id }) => Connection.placeOfId(id)).filter((place) => place !== null)
    const circuits = yield* Effect.forEach(
      places.filter((place) => carrier_id === undefined || place.carrier_id === carrier_id),
      Effect.fnUntraced(function* (place) {
        const adapter = Connection.adapterOf(adapters, place)
        if (adapter?.connection === undefined) return []
        const organization = yield* ApiKey.findOrganization(storage, place.organization_id)
        const workspace_id = organization?.workspaces[place.environment]
        return workspace_id === undefined ? [] : placesOf(adapter, { ...place, workspace_id })
      }),
      { concurrency: readAtOnce }
    )
    return { found: circuits.flat(), next }
  })

  /** The circuit scopes of carriers that need no connection. */
  const unconnected = ({ carrier_id }: CarrierStatusOptions): ReadonlyArray<FoundCircuit> =>
    adapters
      .filter(({ carrier, connection }) => connection === undefined && (carrier_id ?? carrier.id) === carrier.id)
      .flatMap((adapter) =>
        adapter.environments.flatMap((environment) =>
          placesOf(adapter, { environment, organization_id: null, workspace_id: directoryWorkspace })
        )
      )

  return Effect.fnUntraced(function* (options: CarrierStatusOptions) {
    const { after, carrier_id, organization_id } = options
    if (carrier_id !== undefined) yield* checkKnown(adapters, { carrier_id })
    if (organization_id !== undefined && (yield* ApiKey.findOrganization(storage, organization_id)) === null) {
      return yield* ApiError.make("not_found")
    }
    const first = (after ?? null) === null && organization_id === undefined ? unconnected(options) : []
    const { found, next } = yield* connected(options)
    return { found: [...first, ...found], next }
  })
})

/** A carrier's circuit scopes in an environment, one for each line. */
const placesOf = (
  adapter: CarrierAdapter,
  {
    environment,
    organization_id,
    workspace_id
  }: Pick<CarrierPlace, "environment" | "organization_id"> & Pick<CarrierLimits.HealthSubject, "workspace_id">
): ReadonlyArray<FoundCircuit> =>
  Object.keys(adapter.lines).map((line) => ({
    place: { carrier_id: adapter.carrier.id, line, environment, organization_id },
    adapter,
    subject: CarrierLimits.healthSubjectOf(adapter, { environment, line, workspace_id })
  }))

/** Fails with `invalid_input` if no carrier of the program matches. */
const checkKnown = (
  adapters: ReadonlyArray<CarrierAdapter>,
  { carrier_id, line, organization_id }: CircuitsToReset
) => {
  const adapter = adapters.find(({ carrier }) => carrier.id === carrier_id)
  if (adapter === undefined) {
    return refused(
      "carrier_id",
      "Must be the id of one of this program's carriers.",
      adapters.map(({ carrier }) => carrier.id)
    )
  }
  const lines = Object.keys(adapter.lines)
  if (line !== undefined && !lines.includes(line)) {
    return refused("line", "Must be a line that the carrier offers.", lines)
  }
  return organization_id !== undefined && adapter.connection === undefined
    ? refused(
        "organization_id",
        "Must be omitted: this carrier has no connections, so all organizations share its circuit.",
        []
      )
    : Effect.void
}

const refused = (path: string, message: string, allowed_values: ReadonlyArray<string>) =>
  Effect.fail(ApiError.invalidInput([{ path, message, ...(allowed_values.length > 0 && { allowed_values }) }]))

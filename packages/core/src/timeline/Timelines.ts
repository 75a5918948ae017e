import { Context, Effect, Layer, Option, Schema, Struct } from "effect"
import * as FinishedCall from "../calls/FinishedCall.ts"
import * as StoredExchange from "../carriers/recorder/StoredExchange.ts"
import { Event } from "../events/Event.ts"
import * as CircuitNote from "../quoting/asking/CircuitNote.ts"
import * as ConsentRecord from "../quoting/ConsentRecord.ts"
import * as Erasure from "../quoting/erasing/Erasure.ts"
import * as Quote from "../quoting/Quote.ts"
import * as QuoteRequest from "../quoting/QuoteRequest.ts"
import type { StoredRecord } from "../storage/Change.ts"
import { readOne, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import * as Delivery from "../webhooks/records/Delivery.ts"
import * as ApiError from "../wire/ApiError.ts"
import { prefixes, type WorkspaceId } from "../wire/Ids.ts"
import { fromMillis } from "../wire/Timestamp.ts"
import * as Timeline from "./Timeline.ts"

/** Which part of a timeline to read. */
export interface TimelineOptions {
  /** Whether exchanges include their bodies, which can contain facts about a person; false by default. */
  readonly bodies?: boolean
  /** How many entries to skip: the previous page's `next`; 0 by default. */
  readonly after?: number
  /** The maximum number of entries to return: 200 by default, 1,000 at most. */
  readonly limit?: number
  /**
   * The workspace that has the request. By default all workspaces are searched, because a request's ID does not reveal
   * its workspace.
   */
  readonly workspace_id?: WorkspaceId
  /** Whether exchanges with carriers are included; true by default. */
  readonly exchanges?: boolean
  /** Whether failed delivery attempts include their cause, which only operators may see; true by default. */
  readonly causes?: boolean
}

/**
 * Reads what happened to a quote request. Operators see everything; the organization that started the request does not
 * see exchanges.
 */
export class Timelines extends Context.Service<
  Timelines,
  {
    /**
     * Reads a request's timeline. Fails with `not_found` if the given workspace does not have the request or, without a
     * workspace, if no workspace has it.
     */
    readonly read: (
      quote_request_id: string,
      options?: TimelineOptions
    ) => Effect.Effect<Timeline.Timeline, ApiError.ApiError<"not_found"> | StorageUnavailable>
  }
>()("@quotewire/core/Timelines") {
  static readonly layer: Layer.Layer<Timelines, never, Storage> = Layer.effect(
    Timelines,
    Effect.map(Storage, (storage) => Timelines.of({ read: (id, options = {}) => read(storage, id, options) }))
  )
}

const defaultLimit = 200
const maxLimit = 1_000
/** How many workspaces are searched in one step. */
const maxWorkspaces = 100
/**
 * How many of the calls logged before the request are searched for the call that started the request. Concurrent calls
 * can be logged in between.
 */
const maxCalls = 500
/**
 * The maximum number of records to read: quotes and events of a request, versions of a quote, and deliveries of an
 * event.
 */
const maxQuotes = 200
const maxEvents = 1_000
const maxVersions = 20
const maxDeliveries = 20
const maxExchanges = 500
const maxCircuitNotes = 500

type Port = Storage["Service"]

const read = Effect.fnUntraced(function* (storage: Port, id: string, options: TimelineOptions) {
  const {
    after = 0,
    bodies: hasBodies = false,
    causes: hasCauses = true,
    exchanges: hasExchanges = true,
    limit = defaultLimit
  } = options
  const workspaceId = options.workspace_id
  const located = yield* workspaceId === undefined ? findRequest(storage, id) : findIn(storage, workspaceId, id)
  if (located === null) return yield* ApiError.make("not_found")
  const { request, workspace_id } = located
  const quotes = yield* quotesOf(storage, workspace_id, id)
  const exchanges = hasExchanges ? yield* exchangesOf(storage, workspace_id, request, hasBodies) : none
  const circuits = yield* circuitsOf(storage, workspace_id, id)
  const events = yield* eventsOf(storage, workspace_id, request.id)
  const deliveries = yield* Effect.forEach(events.found, ({ id: event_id }) =>
    deliveriesOf(storage, workspace_id, { event_id, causes: hasCauses })
  )
  const entries = Timeline.sorted([
    ...(yield* startOf(storage, workspace_id, request)),
    ...(yield* consentOf(storage, workspace_id, request)),
    ...Timeline.ofCarriers(request),
    ...exchanges.found,
    ...circuits.found,
    ...(yield* erasureOf(storage, workspace_id, id)),
    ...quotes.found.map(ofQuote),
    ...events.found.map(ofEvent),
    ...deliveries.flatMap((delivery) => delivery.found)
  ])
  const completeness = {
    exchange: exchanges.isComplete,
    circuit: circuits.isComplete,
    quote: quotes.isComplete,
    event: events.isComplete,
    delivery: events.isComplete && deliveries.every((delivery) => delivery.isComplete)
  }
  const end = after + Math.min(maxLimit, Math.max(1, limit))
  const page: Timeline.Timeline = {
    quote_request_id: request.id,
    workspace_id,
    environment: request.environment,
    line: request.line,
    status: request.status,
    reason: request.status_details.reason,
    entries: entries.slice(after, end),
    next: end < entries.length ? end : null,
    incomplete: Struct.keys(completeness).filter((entryKind) => !completeness[entryKind])
  }
  return page
})

const none = { found: [], isComplete: true }

const findIn = (storage: Port, workspace_id: WorkspaceId, id: string) =>
  Effect.map(readOne(storage, QuoteRequest.kind, workspace_id, id), (request) =>
    request === null ? null : { workspace_id, request }
  )

const findRequest = Effect.fnUntraced(function* (storage: Port, id: string) {
  let after: WorkspaceId | null = null
  do {
    const workspaceIds: ReadonlyArray<WorkspaceId> = yield* storage.workspaces(after, maxWorkspaces)
    const stored = yield* Effect.forEach(
      workspaceIds,
      (candidate) => storage.get({ workspace_id: candidate, kind: QuoteRequest.kind.name, id }),
      { concurrency: 8 }
    )
    const index = stored.findIndex(Option.isSome)
    const workspace_id = workspaceIds[index]
    const record = stored[index]
    if (workspace_id !== undefined && record !== undefined && Option.isSome(record)) {
      return { workspace_id, request: QuoteRequest.kind.value(record.value) }
    }
    after = workspaceIds.at(-1) ?? null
  } while (after !== null)
  return null
})

/** A version of a quote, and when it was stored. */
interface QuoteVersion {
  readonly quote: Quote.Quote
  readonly at: number
}

const quotesOf = Effect.fnUntraced(function* (storage: Port, workspace_id: WorkspaceId, parent: string) {
  const kind = Quote.kind.name
  const page = yield* storage.page({ workspace_id, kind, parent, order: "oldest", after: null, limit: maxQuotes })
  const versionOf = (record: StoredRecord): QuoteVersion => ({ quote: Quote.kind.value(record), at: record.updated_at })
  const versions = yield* Effect.forEach(page.records, (newestVersion) =>
    Effect.forEach(
      Array.from({ length: Math.min(maxVersions, newestVersion.version) - 1 }, (_, index) => index + 1),
      (version) => storage.get({ workspace_id, kind, id: newestVersion.id, version })
    ).pipe(Effect.map((olderVersions) => [...olderVersions.flatMap(Option.toArray), newestVersion].map(versionOf)))
  )
  const isComplete = page.next === null && page.records.every(({ version }) => version <= maxVersions)
  return { found: versions.flat(), isComplete }
})

const ofQuote = ({ at, quote }: QuoteVersion): Timeline.Entry => ({
  at: fromMillis(at),
  what: "quote",
  details: {
    quote_id: quote.id,
    version: quote.version,
    carrier_id: quote.source.carrier.id,
    status: quote.status,
    reason: quote.status_details.reason
  }
})

/** The consent that the service recorded. Empty for callers with a key, because their own systems record consent. */
const consentOf = (storage: Port, workspace_id: WorkspaceId, { application_id: id }: QuoteRequest.QuoteRequest) =>
  Effect.map(readOne(storage, ConsentRecord.kind, workspace_id, id), (storedConsent) => {
    const consent = storedConsent?.quote_consent ?? null
    return consent === null ? [] : [Timeline.ofConsent(consent)]
  })

const exchangesOf = (
  storage: Port,
  workspace_id: WorkspaceId,
  request: QuoteRequest.QuoteRequest,
  hasBodies: boolean
) =>
  Effect.map(
    storage.page({
      workspace_id,
      kind: StoredExchange.kind.name,
      parent: request.application_id,
      order: "oldest",
      after: null,
      limit: maxExchanges
    }),
    ({ next, records }) => ({
      found: records.map((record) => Timeline.ofExchange(StoredExchange.kind.value(record), hasBodies)),
      isComplete: next === null
    })
  )

const circuitsOf = (storage: Port, workspace_id: WorkspaceId, parent: string) =>
  Effect.map(
    storage.page({
      workspace_id,
      kind: CircuitNote.kind.name,
      parent,
      order: "oldest",
      after: null,
      limit: maxCircuitNotes
    }),
    ({ next, records }) => ({
      found: records.map((record) => Timeline.ofCircuit(CircuitNote.kind.value(record))),
      isComplete: next === null
    })
  )

const erasureOf = (storage: Port, workspace_id: WorkspaceId, id: string) =>
  Effect.map(readOne(storage, Erasure.kind, workspace_id, id), (erased) =>
    erased === null ? [] : [Timeline.ofErasure(erased)]
  )

/** The events about the request and its quotes, and whether the list is complete. */
const eventsOf = (storage: Port, workspace_id: WorkspaceId, request_id: string) =>
  Effect.map(storage.feed({ workspace_id, after: 0, limit: maxEvents, about: [request_id] }), ({ events }) => ({
    found: events.map(({ body }) => readEvent(body)),
    isComplete: events.length < maxEvents
  }))

const readEvent = Schema.decodeSync(Schema.fromJsonString(Event))

const ofEvent = ({ id, occurred_at, resource, type }: Event): Timeline.Entry => ({
  at: occurred_at,
  what: "event",
  details: { id, type, resource }
})

/** The deliveries of an event. A delivery's ID begins with the event's ID. */
const deliveriesOf = Effect.fnUntraced(function* (
  storage: Port,
  workspace_id: WorkspaceId,
  { causes: hasCauses, event_id }: { readonly event_id: string; readonly causes: boolean }
) {
  const after = Delivery.idPrefixOf(event_id)
  const page = yield* storage.page({
    workspace_id,
    kind: Delivery.kind.name,
    order: "oldest",
    after,
    limit: maxDeliveries
  })
  const records = page.records.filter(({ id }) => id.startsWith(after))
  const entries = records.map((record): Timeline.Entry => {
    const { attempts: storedAttempts, created_at, event_type, status, subscription_id } = Delivery.kind.value(record)
    const attempts = hasCauses ? storedAttempts : storedAttempts.map(Delivery.withoutCause)
    const details = { subscription_id, event_id, event_type, status, attempts }
    return { at: fromMillis(created_at), what: "delivery", details }
  })
  return { found: entries, isComplete: page.next === null || records.length < page.records.length }
})

/**
 * Finds the call that started the request. IDs sort by real time, and the call's ID was made shortly before the
 * request's ID, so the call is among the last calls before the request.
 */
const startOf = Effect.fnUntraced(function* (
  storage: Port,
  workspace_id: WorkspaceId,
  { created_at, id }: QuoteRequest.QuoteRequest
) {
  const page = yield* storage.page({
    workspace_id,
    kind: FinishedCall.kind.name,
    order: "newest",
    after: `${prefixes.request}_${id.slice(prefixes.quote_request.length + 1)}`,
    limit: maxCalls,
    labels: FinishedCall.labels({ operation: "start_quote_request" })
  })
  const call = page.records.map(FinishedCall.kind.value).find(({ quote_request_id }) => quote_request_id === id)
  if (call === undefined) return []
  const { agent: _, ...details } = call
  const entry: Timeline.Entry = { at: created_at, what: "call", details }
  return [entry]
})

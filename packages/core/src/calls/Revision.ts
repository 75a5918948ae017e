import { Context, Effect, Layer, Option, Record, Result, Schema } from "effect"
import * as ApiKey from "../access/ApiKey.ts"
import { type Workspace, Workspaces } from "../access/Workspaces.ts"
import { BoundedMap } from "../concurrency/BoundedMap.ts"
import * as Fault from "../concurrency/Fault.ts"
import * as Change from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { commit, directoryWorkspace, retryOnConflict, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"

/*
 * Revisions of the API contract: how older revisions differ from the newest revision, how inputs and responses are
 * translated, and which revision a call gets.
 */

/** The members of a JSON object. */
export interface Fields {
  readonly [name: string]: unknown
}

/** How an operation's input differs in an older revision. */
export interface InputDifference {
  /** Upgrades an older input. A field that neither revision knows must stay unknown, so that the call is refused. */
  readonly upgrade: (input: Fields) => Fields
  /** Translates a field's path to the older revision, because errors name fields as the caller spells them. */
  readonly path: (path: string) => string
}

/** One difference between an older revision and the newest revision. Operations are identified by name. */
export interface Difference {
  /** One sentence about the difference, for readers of the older revision. */
  readonly summary: string
  readonly inputs?: { readonly [operation: string]: InputDifference }
  /** Downgrades responses, by operation. */
  readonly answers?: { readonly [operation: string]: (answer: Fields) => Fields }
  /** Downgrades an event wherever it appears: in the feed, in a webhook, and in the response to a webhook test. */
  readonly event?: (event: Fields) => Fields
  /** Downgrades a quote wherever it appears. */
  readonly quote?: (quote: Fields) => Fields
  /** Downgrades a quote request wherever it appears. */
  readonly quote_request?: (request: Fields) => Fields
}

/** The resources that a difference can change wherever they appear. */
export type Resource = "event" | "quote" | "quote_request"

/** A dated revision of the contract (api.md, Revisions). */
export interface Revision {
  /** The revision's date as in `Service-Version`, such as `2026-09-26`. */
  readonly date: string
  /**
   * The differences from the newest revision. They are applied in this order: the most recent difference first.
   *
   * The newest revision has no differences, so its responses are never decoded.
   */
  readonly differences: ReadonlyArray<Difference>
}

/** The revisions that a service serves, newest first. */
export type Served = readonly [Revision, ...ReadonlyArray<Revision>]

/** The revisions that this release serves. */
export const served: Served = [{ date: "2026-09-26", differences: [] }]

/**
 * Finds the revision that a `Service-Version` header names. Fails with `invalid_version` if the header is empty,
 * repeated, or names a revision that is not served.
 */
export const find = (
  revisions: Served,
  header: string
): Result.Result<Revision, ApiError.ApiError<"invalid_version">> => {
  const revision = revisions.find(({ date }) => date === header)
  return revision === undefined ? Result.fail(notServed(revisions)) : Result.succeed(revision)
}

/** The error for a revision that is not served. It lists the served revisions, newest first. */
export const notServed = (revisions: Served): ApiError.ApiError<"invalid_version"> =>
  ApiError.make("invalid_version", {
    field_errors: [
      {
        path: "Service-Version",
        message: "Must be a served revision.",
        allowed_values: revisions.map(({ date }) => date)
      }
    ]
  })

/**
 * The served revision that is closest to a pin.
 *
 * This is the pinned revision if it is served. Otherwise it is the oldest served revision that is newer than the pin.
 * If the pin is newer than every served revision, it is the newest revision.
 */
export const nearest = (revisions: Served, pin: string): Revision =>
  revisions.findLast(({ date }) => date >= pin) ?? revisions[0]

/** Translates an input from a revision to the newest revision. */
export const input = (revision: Revision, operation: string, value: unknown): unknown =>
  revision.differences.length > 0 && isFields(value)
    ? Fault.redactThrown(() =>
        revision.differences.reduceRight((fields, { inputs }) => inputs?.[operation]?.upgrade(fields) ?? fields, value)
      )
    : value

/**
 * Translates a response from the newest revision to the given revision. Decodes the response only if the revisions
 * differ.
 */
export const answer = (revision: Revision, operation: string, newestAnswer: Json.Json<unknown>): string => {
  if (revision.differences.length === 0) return newestAnswer.text
  const changes = revision.differences.flatMap((difference) => [
    ...(difference.answers?.[operation] === undefined ? [] : [difference.answers[operation]]),
    ...resourcesIn(operation).flatMap(({ field, resource: kind }) => {
      const change = difference[kind]
      return change === undefined ? [] : [within(field, change)]
    })
  ])
  return rewritten(newestAnswer, changes).text
}

/** Translates a resource from the newest revision to the given revision. */
export const resource = <A>(revision: Revision, kind: Resource, newestResource: Json.Json<A>): Json.Json<A | Fields> =>
  rewritten<A>(
    newestResource,
    revision.differences.flatMap((difference) => difference[kind] ?? [])
  )

/** Translates an error to a revision. Only field paths can differ between revisions. */
export const refusal = (revision: Revision, operation: string, newestRefusal: ApiError.ApiError): ApiError.ApiError =>
  ApiError.inRevision(newestRefusal, revision.date, (newestPath) =>
    Fault.redactThrown(() =>
      revision.differences.reduce((path, { inputs }) => inputs?.[operation]?.path(path) ?? path, newestPath)
    )
  )

/**
 * Makes the difference for an input field that has a different name in the newer revision. Swapping the names makes the
 * newer name an unknown field in the older revision.
 */
export const renamedInput = (olderName: string, newerName: string): InputDifference => swapped([[newerName, olderName]])

/**
 * Makes a function that downgrades an object in which a field has a different name in the newer revision. The field
 * keeps its position.
 */
export const renamed = (olderName: string, newerName: string): ((fields: Fields) => Fields) =>
  olderNames({ [newerName]: olderName })

/** Fields that have other names in an older revision, as a map from newer to older names. */
export type OlderNames = Readonly<Record<string, string>>

/** Renamed fields, grouped by where they appear. */
export interface Renames {
  /** One sentence about the difference, for readers of the older revision. */
  readonly summary: string
  /** The renamed fields of events, quotes and quote requests, wherever they appear. */
  readonly event?: OlderNames
  readonly quote?: OlderNames
  readonly quote_request?: OlderNames
  /** The renamed fields of inputs, by operation. */
  readonly inputs?: { readonly [operation: string]: OlderNames }
}

/**
 * Makes the difference for an older revision in which some fields had other names.
 *
 * @example
 * Revision.renames({
 *   summary: "Two fields had other names: `evidence` was `proof`, and `line` was `product`.",
 *   quote: { evidence: "proof" },
 *   event: { line: "product" }
 * })
 */
export const renames = ({ summary, inputs = {}, event, quote, quote_request }: Renames): Difference => ({
  summary,
  inputs: Record.map(inputs, (names) => swapped(Object.entries(names))),
  ...(event === undefined ? {} : { event: olderNames(event) }),
  ...(quote === undefined ? {} : { quote: olderNames(quote) }),
  ...(quote_request === undefined ? {} : { quote_request: olderNames(quote_request) })
})

const olderNames =
  (names: OlderNames) =>
  (fields: Fields): Fields =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [Object.hasOwn(names, name) ? (names[name] ?? name) : name, value])
    )

/** Swaps newer and older names, so that only the older names are valid. */
const swapped = (pairs: ReadonlyArray<readonly [newer: string, older: string]>): InputDifference => {
  const swaps = new Map(
    pairs.flatMap(([newerName, olderName]) => [[newerName, olderName] as const, [olderName, newerName] as const])
  )
  const swap = (name: string): string => swaps.get(name) ?? name
  return {
    upgrade: (fields) => Object.fromEntries(Object.entries(fields).map(([name, value]) => [swap(name), value])),
    path: (path) => {
      const [first = "", ...rest] = path.split(".")
      return [swap(first), ...rest].join(".")
    }
  }
}

/** Where a response contains a resource. A null `field` means that the whole response is the resource. */
interface ResourceField {
  readonly field: string | null
  readonly resource: Resource
}

const answersWithResources: { readonly [operation: string]: ReadonlyArray<ResourceField> } = {
  start_quote_request: [{ field: null, resource: "quote_request" }],
  get_quote_request: [
    { field: "quote_request", resource: "quote_request" },
    { field: "quotes", resource: "quote" }
  ],
  list_quote_requests: [{ field: "quote_requests", resource: "quote_request" }],
  get_quote: [{ field: null, resource: "quote" }],
  list_events: [{ field: "events", resource: "event" }],
  send_test_event: [{ field: "event", resource: "event" }]
}

const resourcesIn = (operation: string): ReadonlyArray<ResourceField> =>
  Object.hasOwn(answersWithResources, operation) ? (answersWithResources[operation] ?? []) : []

/**
 * Makes a function that changes one field of a response (each item, if the field is a list). If `field` is null, it
 * changes the whole response.
 */
const within = (field: string | null, change: (resource: Fields) => Fields) => {
  if (field === null) return change
  const translate = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(translate)
    return isFields(value) ? change(value) : value
  }
  return (fields: Fields): Fields => ({ ...fields, [field]: translate(fields[field]) })
}

const rewritten = <A>(
  newestValue: Json.Json<A>,
  changes: ReadonlyArray<(fields: Fields) => Fields>
): Json.Json<A | Fields> => {
  if (changes.length === 0) return newestValue
  const decoded: unknown = Json.decode(newestValue)
  if (!isFields(decoded)) return newestValue
  return Json.encode(Fault.redactThrown(() => changes.reduce((fields, change) => change(fields), decoded)))
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The served revisions, newest first; by default this release's revisions. */
export const ServedRevisions = Context.Reference<Served>("@quotewire/core/ServedRevisions", {
  defaultValue: () => served
})

/**
 * How a call selects its revision.
 *
 * A REST call passes its `Service-Version`, or null if the header was not sent; null lets the workspace's pin decide.
 * Hosts that always use the newest revision pass `current`, and neither read nor store a pin (api.md, Choosing a
 * revision).
 */
export type AskedRevision = { readonly header: string | null } | "current"

/** Chooses the revision for calls and webhooks, and keeps each workspace's pin (api.md, Versioning). */
export class Revisions extends Context.Service<
  Revisions,
  {
    /** The newest revision. */
    readonly current: Revision
    /**
     * Chooses the revision that a call asks for, otherwise the revision that the workspace is pinned to; null if the
     * workspace has no pin yet.
     */
    readonly choose: (
      asked: AskedRevision,
      workspace_id: WorkspaceId
    ) => Effect.Effect<Revision | null, ApiError.ApiError<"invalid_version"> | StorageUnavailable>
    /**
     * Returns the revision that a workspace is pinned to. If the workspace has no pin, pins the current revision or, in
     * a live workspace, the revision that the organization's sandbox is pinned to, if any. While storage is unavailable
     * and the pin cannot be stored, returns the current revision.
     */
    readonly pin: (workspace_id: WorkspaceId) => Effect.Effect<Revision, StorageUnavailable>
  }
>()("@quotewire/core/Revisions") {
  static readonly layer: Layer.Layer<Revisions, never, Storage | Workspaces> = Layer.effect(
    Revisions,
    Effect.gen(function* () {
      const revisions = yield* ServedRevisions
      const storage = yield* Storage
      const workspaces = yield* Workspaces
      // A pin never changes, so it is cached forever.
      const pins = new BoundedMap<WorkspaceId, string>(maxPins)
      const remember = (workspace_id: WorkspaceId, date: string) => pins.set(workspace_id, date)

      const pinned = (workspace_id: WorkspaceId): Effect.Effect<string | null, StorageUnavailable> => {
        const cachedPin = pins.get(workspace_id)
        if (cachedPin !== undefined) return Effect.succeed(cachedPin)
        return Effect.map(storage.get({ workspace_id, kind: pinKind.name, id: workspace_id }), (stored) => {
          if (Option.isNone(stored)) return null
          const { revision } = pinKind.value(stored.value)
          remember(workspace_id, revision)
          return revision
        })
      }

      /** The revision that a workspace's first pin names. */
      const firstPin = Effect.fnUntraced(function* ({ environment, organization_id }: Workspace) {
        if (environment === "sandbox") return revisions[0].date
        const stored = yield* storage.get({
          workspace_id: directoryWorkspace,
          kind: ApiKey.organizationKind.name,
          id: organization_id
        })
        if (Option.isNone(stored)) return revisions[0].date
        const organization = ApiKey.organizationKind.value(stored.value)
        return (yield* pinned(organization.workspaces.sandbox)) ?? revisions[0].date
      })

      const pin = Effect.fnUntraced(function* (workspace_id: WorkspaceId) {
        const storedPin = yield* pinned(workspace_id)
        if (storedPin !== null) return nearest(revisions, storedPin)
        const { workspace, now } = yield* workspaces.moment(workspace_id)
        const revision = yield* firstPin(workspace)
        const record = pinKind.record({ revision }, { id: workspace_id, version: 1, created_at: now, updated_at: now })
        const change = Change.make(workspace_id, { writes: [record] })
        const isStored = yield* commit(storage, change).pipe(
          Effect.as(true),
          Effect.catchTag("StorageUnavailable", () => Effect.succeed(false))
        )
        if (!isStored) return revisions[0]
        remember(workspace_id, revision)
        return nearest(revisions, revision)
      })

      return Revisions.of({
        current: revisions[0],
        choose: (askedRevision, workspace_id) => {
          if (askedRevision === "current") return Effect.succeed(revisions[0])
          if (askedRevision.header !== null) return Effect.fromResult(find(revisions, askedRevision.header))
          return Effect.map(pinned(workspace_id), (date) => (date === null ? null : nearest(revisions, date)))
        },
        // If another host stores the pin first, the retry finds that pin.
        pin: (workspace_id) => retryOnConflict(pin(workspace_id))
      })
    })
  )
}

const maxPins = 10_000

/** The revision that a workspace is pinned to: a date, even if that revision is no longer served (api.md, Pins). */
export const Pin = Schema.Struct({ revision: Schema.String })
export type Pin = typeof Pin.Type

/** The record kind for pins: one record for each workspace, keyed by workspace ID. */
export const pinKind = Kind.make({ name: "pin", schema: Pin, survives_reset: true })

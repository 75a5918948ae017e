import type { WorkspaceId } from "../wire/Ids.ts"
import type { Lease, NewJob } from "./Job.ts"

/**
 * One version of a record: an encoded body, and the fields that lists filter by.
 *
 * Times are milliseconds of workspace time: whole numbers, at most 2^51 before or after 1970. All strings except the
 * body have 1 to 1,000 printable ASCII characters (space to `~`). `Checks` contains all rules.
 */
export interface StoredRecord {
  /** The name of the record's kind (`Kind`). */
  readonly kind: string
  readonly id: string
  /** The version number, counted from 1 without gaps. */
  readonly version: number
  /** The body as JSON text. It is served as stored, without decoding. */
  readonly body: string
  /** The ID of the record that this record belongs to. A quote belongs to its quote request, for example. */
  readonly parent: string | null
  readonly status: string | null
  /** The insurance line, for filters. */
  readonly line: string | null
  /** More values that lists filter by: a few short strings of the form `name:value`. */
  readonly labels: ReadonlyArray<string>
  /**
   * The IDs that the record is about, at most two different IDs, such as a quote and its request. A list by one of
   * these IDs needs no scan.
   */
  readonly about: ReadonlyArray<string>
  readonly created_at: number
  readonly updated_at: number
  /**
   * When the record's content becomes outdated because time passes; null for never. After this time, a reader must not
   * serve the body unchanged.
   */
  readonly expires_at: number | null
}

/** The fields that most records do not use. */
type OptionalFields = Pick<StoredRecord, "parent" | "status" | "line" | "labels" | "about" | "expires_at">

/** Makes a record. Omitted fields are null or empty. */
export const record = (fields: Omit<StoredRecord, keyof OptionalFields> & Partial<OptionalFields>): StoredRecord => ({
  kind: fields.kind,
  id: fields.id,
  version: fields.version,
  body: fields.body,
  parent: fields.parent ?? null,
  status: fields.status ?? null,
  line: fields.line ?? null,
  labels: fields.labels ?? none,
  about: fields.about ?? none,
  created_at: fields.created_at,
  updated_at: fields.updated_at,
  expires_at: fields.expires_at ?? null
})

const none: ReadonlyArray<never> = []

/** The version of a record on which a decision is based; 0 if the record did not exist. */
export interface Expectation {
  readonly kind: string
  readonly id: string
  readonly version: number
}

/**
 * An event that a change appends to its workspace's feed. The body is the feed item as JSON text. Strings and times
 * follow the same rules as in `StoredRecord`.
 */
export interface NewEvent {
  readonly id: string
  readonly occurred_at: number
  /**
   * The IDs that the event is about, at most two different IDs, such as a quote and its request. The feed finds events
   * by these IDs.
   */
  readonly about: ReadonlyArray<string>
  readonly body: string
  /**
   * The event's type, which the body contains as well. Code that creates an event can set it, so that readers need not
   * decode the body.
   */
  readonly type?: string
}

/** An event with its number in the feed. A workspace's numbers have no gaps and follow the commit order. */
export interface StoredEvent extends NewEvent {
  readonly number: number
}

/** Everything that one step writes. It is stored as a whole, or not at all. */
export interface Change {
  readonly workspace_id: WorkspaceId
  /**
   * The record versions to write. Each requires the previous version in storage, and version 1 requires that the record
   * does not exist. Otherwise the change fails with `VersionConflict`.
   */
  readonly writes: ReadonlyArray<StoredRecord>
  /**
   * The records that the decision used. Each must still have the version that the decision saw; otherwise the change
   * fails with `VersionConflict`. This lets a decision use cached data: if the data was outdated, the change is
   * rejected.
   */
  readonly expects: ReadonlyArray<Expectation>
  readonly events: ReadonlyArray<NewEvent>
  readonly jobs: ReadonlyArray<NewJob>
  /**
   * The jobs of this workspace that the change finishes. All their leases must still be held; otherwise the change
   * fails with `LeaseLost`, which names the first lost lease.
   */
  readonly finishes: ReadonlyArray<Lease>
  /**
   * Moves the workspace's clock: workspace time becomes real time plus this many milliseconds. Null leaves the clock as
   * it is.
   */
  readonly clock_offset_ms: number | null
  /**
   * Requires that no ordered job of this workspace is due before this workspace time, in milliseconds, except the jobs
   * that the change finishes; null requires nothing. If there is such a job, the change fails with a `VersionConflict`
   * that names the workspace. This keeps a change that runs jobs ahead of the clock from skipping a job that was stored
   * in the meantime.
   */
  readonly none_due_before: number | null
}

/** Makes a change in a workspace. Omitted parts are empty. */
export const make = (workspace_id: WorkspaceId, parts: Partial<Omit<Change, "workspace_id">>): Change => ({
  workspace_id,
  writes: parts.writes ?? [],
  expects: parts.expects ?? [],
  events: parts.events ?? [],
  jobs: parts.jobs ?? [],
  finishes: parts.finishes ?? [],
  clock_offset_ms: parts.clock_offset_ms ?? null,
  none_due_before: parts.none_due_before ?? null
})

/** The approximate size of a row without its text, in bytes. */
const rowBytes = 200

/** The approximate size of a change, in bytes. */
export const bytesOf = ({ writes, events, jobs }: Change): number =>
  writes.reduce((sum, { body }) => sum + body.length + rowBytes, 0) +
  events.reduce((sum, { body }) => sum + body.length + rowBytes, 0) +
  jobs.reduce((sum, { payload }) => sum + payload.length + rowBytes, 0)

/** A notice that something may have changed. It is a reason to read again, never a guarantee. */
export type Hint =
  /** All data of a workspace was erased. */
  | { readonly about: "workspace"; readonly workspace_id: WorkspaceId }
  | { readonly about: "record"; readonly id: string }
  /** The feed of a workspace has new events. */
  | { readonly about: "events"; readonly workspace_id: WorkspaceId }
  | { readonly about: "jobs"; readonly workspace_id: WorkspaceId }
  /** Hints may have been lost, so anything may have changed. */
  | { readonly about: "everything" }

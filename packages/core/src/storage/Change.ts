import type { WorkspaceId } from "../wire/Ids.ts"
import type { Lease, NewJob } from "./Job.ts"

/**
 * One version of a record: an encoded body, and the fields that lists filter by. Times are milliseconds of workspace
 * time.
 */
export interface StoredRecord {
  /** The name of the record's kind (`Kind`). */
  readonly kind: string
  readonly id: string
  /** The version number, counted from 1 without gaps. */
  readonly version: number
  /** The body as JSON text. It is served as stored, without decoding. */
  readonly body: string
  /** The ID of the record that this one belongs to. A quote belongs to its quote request, for example. */
  readonly parent: string | null
  readonly status: string | null
  /** The insurance line, for filters. */
  readonly line: string | null
  /** More to filter by: a few short strings, `name:value`. */
  readonly labels: ReadonlyArray<string>
  /**
   * The IDs that the record is about, at most two, such as a quote and its request. Lists find records by them without
   * a scan.
   */
  readonly about: ReadonlyArray<string>
  readonly created_at: number
  readonly updated_at: number
  /**
   * When the record's content becomes outdated by time alone; null for never. After that, a reader must not serve the
   * body unchanged.
   */
  readonly expires_at: number | null
}

/** The fields that most records do not use. */
type OptionalFields = Pick<StoredRecord, "parent" | "status" | "line" | "labels" | "about" | "expires_at">

/** Makes a record. Omitted fields are null or empty. */
export const record = (of: Omit<StoredRecord, keyof OptionalFields> & Partial<OptionalFields>): StoredRecord => ({
  kind: of.kind,
  id: of.id,
  version: of.version,
  body: of.body,
  parent: of.parent ?? null,
  status: of.status ?? null,
  line: of.line ?? null,
  labels: of.labels ?? none,
  about: of.about ?? none,
  created_at: of.created_at,
  updated_at: of.updated_at,
  expires_at: of.expires_at ?? null
})

const none: ReadonlyArray<never> = []

/** A record as a decision has seen it: its newest version at that time, or 0 if it did not exist. */
export interface Expectation {
  readonly kind: string
  readonly id: string
  readonly version: number
}

/** An event that a change appends to its workspace's feed. The body is the feed item as JSON text. */
export interface NewEvent {
  readonly id: string
  readonly occurred_at: number
  /** The IDs that the event is about, at most two, such as a quote and its request. The feed finds events by them. */
  readonly about: ReadonlyArray<string>
  readonly body: string
  /** Its type, which the body has as well. Whoever makes an event can name it, so that nobody must decode the body. */
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
   * The record versions to write. Each needs the previous version in storage, and version 1 needs the record not to
   * exist; otherwise `VersionConflict`.
   */
  readonly writes: ReadonlyArray<StoredRecord>
  /**
   * The records that the decision used: each must still have the version that was seen, otherwise `VersionConflict`. So
   * a decision may use cached data, and is never stored if the data was outdated.
   */
  readonly expects: ReadonlyArray<Expectation>
  readonly events: ReadonlyArray<NewEvent>
  readonly jobs: ReadonlyArray<NewJob>
  /**
   * The jobs of this workspace that the change finishes. Each lease must still be held; `LeaseLost` names the first one
   * that is not.
   */
  readonly finishes: ReadonlyArray<Lease>
  /** Moves the workspace's clock, unless null: workspace time becomes real time plus this many milliseconds. */
  readonly clock_offset_ms: number | null
  /**
   * No ordered job of this workspace may be due before this workspace time, in milliseconds, except those that the
   * change finishes; otherwise `VersionConflict`, which names the workspace. So a change that runs jobs ahead of the
   * clock skips no job that was stored in the meantime.
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

/** About how many bytes a row has without its text. */
const rowBytes = 200

/** About how many bytes a change has. */
export const bytesOf = ({ writes, events, jobs }: Change): number =>
  writes.reduce((sum, { body }) => sum + body.length + rowBytes, 0) +
  events.reduce((sum, { body }) => sum + body.length + rowBytes, 0) +
  jobs.reduce((sum, { payload }) => sum + payload.length + rowBytes, 0)

/** Says that something has changed: a reason to look, never a guarantee. */
export type Hint =
  /** All data of a workspace was erased. */
  | { readonly about: "workspace"; readonly workspace_id: WorkspaceId }
  | { readonly about: "record"; readonly id: string }
  /** The feed of a workspace has new events. */
  | { readonly about: "events"; readonly workspace_id: WorkspaceId }
  | { readonly about: "jobs"; readonly workspace_id: WorkspaceId }
  /** Hints may have been lost, so anything may have changed. */
  | { readonly about: "everything" }

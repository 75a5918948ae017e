import type { WorkspaceId } from "../wire/Ids.ts"
import type { Lease, NewJob } from "./Job.ts"

/**
 * One version of a record: an encoded body, and the fields that lists filter by. Times are milliseconds of workspace
 * time.
 */
export interface StoredRecord {
  /** The name of its kind (`Kind`). */
  readonly kind: string
  readonly id: string
  /** Counted from 1, without gaps. */
  readonly version: number
  /** JSON text. It is served as stored, without decoding. */
  readonly body: string
  /** The id of the record that this one belongs to, such as a quote's request. */
  readonly parent: string | null
  readonly status: string | null
  /** The insurance line, for filters. */
  readonly line: string | null
  /** Further filters: a few short texts, `name:value`. */
  readonly labels: ReadonlyArray<string>
  /**
   * The ids of what it is about, at most two, such as a quote and its request. Lists find records by them without a
   * scan.
   */
  readonly about: ReadonlyArray<string>
  readonly created_at: number
  readonly updated_at: number
  /** When the record expires by time alone; null for never. After it, a reader must not serve the body unchanged. */
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

/** A record as a decision has seen it: its newest version then, or 0 if there was none. */
export interface Expectation {
  readonly kind: string
  readonly id: string
  readonly version: number
}

/** An event that a change appends to the feed of its workspace. Its body is the feed item as JSON text. */
export interface NewEvent {
  readonly id: string
  readonly occurred_at: number
  /** The ids of what it is about, at most two, such as a quote and its request. The feed finds events by them. */
  readonly about: ReadonlyArray<string>
  readonly body: string
}

/** An event with its number in the feed. A workspace's numbers have no gaps and follow the commit order. */
export interface StoredEvent extends NewEvent {
  readonly number: number
}

/** Everything that one step writes. It is stored together, or not at all. */
export interface Change {
  readonly workspace_id: WorkspaceId
  /**
   * Each needs the previous version in storage; version 1 needs the absence of the record. Otherwise `VersionConflict`.
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
   * The jobs of this workspace that the change finishes. Each lease must still be held; `LeaseLost` names the first
   * lost one.
   */
  readonly finishes: ReadonlyArray<Lease>
  /** Moves the workspace's clock: workspace time is real time plus this many milliseconds. */
  readonly clock_offset_ms: number | null
  /**
   * No ordered job of this workspace may be due before this workspace time, in milliseconds, except those that the
   * change finishes; otherwise `VersionConflict`, which names the workspace. So a change that runs jobs ahead of the
   * clock passes none that was stored in the meantime.
   */
  readonly none_due_before: number | null
}

/** Makes a change of a workspace. Omitted parts are empty. */
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

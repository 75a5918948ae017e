import type { WorkspaceId } from "../wire/Ids.ts"
import type { Lease, NewJob } from "./Job.ts"

/**
 * One version of a record: an encoded body, and what lists can filter by. Times are milliseconds of workspace time.
 */
export interface StoredRecord {
  /** The name of its kind (`Kind`). */
  readonly kind: string
  readonly id: string
  /** From 1, without gaps. */
  readonly version: number
  /** JSON text: what is served as it was stored is never decoded on its way. */
  readonly body: string
  /** The record this one belongs to: a quote's request. */
  readonly parent: string | null
  readonly status: string | null
  /** A word that lists can filter by: the insurance line. */
  readonly line: string | null
  /** What else lists can filter by: a few short words, `name:value`. */
  readonly labels: ReadonlyArray<string>
  readonly created_at: number
  readonly updated_at: number
  /** When the record ceases to hold by time alone: a reader after it must not serve the body as it is. Null: never. */
  readonly expires_at: number | null
}

/** What most records have no use for. */
type Rare = Pick<StoredRecord, "parent" | "status" | "line" | "labels" | "expires_at">

/** A record to be written; what is left out is nothing. */
export const record = (of: Omit<StoredRecord, keyof Rare> & Partial<Rare>): StoredRecord => ({
  kind: of.kind,
  id: of.id,
  version: of.version,
  body: of.body,
  parent: of.parent ?? null,
  status: of.status ?? null,
  line: of.line ?? null,
  labels: of.labels ?? none,
  created_at: of.created_at,
  updated_at: of.updated_at,
  expires_at: of.expires_at ?? null
})

const none: ReadonlyArray<never> = []

/** A record as somebody who decides has seen it: the version that was the newest then, 0 where there was none. */
export interface Seen {
  readonly kind: string
  readonly id: string
  readonly version: number
}

/** An event that a change appends to the feed of its workspace; its body is the feed item as JSON text. */
export interface NewEvent {
  readonly id: string
  readonly occurred_at: number
  readonly body: string
}

/** An event with its place in the feed: numbers of a workspace have no gaps and follow the order of the commits. */
export interface StoredEvent extends NewEvent {
  readonly number: number
}

/** Everything that one step writes: all of it is stored, or nothing. */
export interface Change {
  readonly workspace_id: WorkspaceId
  /** Each needs the version before it in store, version 1 the absence of the record: else `VersionConflict`. */
  readonly writes: ReadonlyArray<StoredRecord>
  /**
   * What was decided by: each of these records must be as it was seen, else `VersionConflict`. So a decision can be
   * made by what a process remembers, and is never stored where that has changed.
   */
  readonly expects: ReadonlyArray<Seen>
  readonly events: ReadonlyArray<NewEvent>
  readonly jobs: ReadonlyArray<NewJob>
  /** The jobs that this change is the outcome of; each lease must still be held, else `LeaseLost` names the first lost one. */
  readonly finishes: ReadonlyArray<Lease>
  /** Moves the workspace's clock: workspace time is real time plus this many milliseconds. */
  readonly clock_offset_ms: number | null
}

/** A change of the named workspace; what `parts` leaves out is empty. */
export const make = (workspace_id: WorkspaceId, parts: Partial<Omit<Change, "workspace_id">>): Change => ({
  workspace_id,
  writes: parts.writes ?? [],
  expects: parts.expects ?? [],
  events: parts.events ?? [],
  jobs: parts.jobs ?? [],
  finishes: parts.finishes ?? [],
  clock_offset_ms: parts.clock_offset_ms ?? null
})

/** Says that something changed: a reason to look, never a guarantee. */
export type Hint =
  /** Everything of a workspace was erased. */
  | { readonly about: "workspace"; readonly workspace_id: WorkspaceId }
  | { readonly about: "record"; readonly id: string }
  | { readonly about: "jobs"; readonly workspace_id: WorkspaceId }
  /** Hints may have been lost: whatever anybody waits for may have changed. */
  | { readonly about: "everything" }

import { Context, Data, type Effect, type Option, type Scope } from "effect"
import { WorkspaceId } from "../wire/Ids.ts"
import type { Change, Hint, Seen, StoredRecord } from "./Change.ts"
import type { ClaimedJob, Lease } from "./Job.ts"
import type { FeedPage, FeedQuery, RecordPage, RecordQuery } from "./Page.ts"

/** Where organizations and keys are kept: what must be found before a caller's workspace is known. */
export const directory: WorkspaceId = WorkspaceId.make(`wks_${"0".repeat(26)}`)

/** A write did not follow the version in store, or what the change rests on has changed: read again and decide again. */
export class VersionConflict extends Data.TaggedError("VersionConflict")<{
  readonly kind: string
  readonly id: string
}> {}

/** The job's lease has ended and someone else may hold the job: drop the outcome. */
export class LeaseLost extends Data.TaggedError("LeaseLost")<{ readonly lease: Lease }> {}

/** Storage cannot be reached now. */
export class StorageUnavailable extends Data.TaggedError("StorageUnavailable")<{
  readonly retry_after_seconds: number
}> {}

/** Names one record; without a version the newest. */
export interface RecordKey {
  readonly workspace_id: WorkspaceId
  readonly kind: string
  readonly id: string
  readonly version?: number
}

/** Asks for due work. */
export interface ClaimQuery {
  /** Real time, in milliseconds. */
  readonly now: number
  readonly lease_ms: number
  readonly limit: number
  /** Only the ordered work of this workspace: what a sandbox's clock moves through. */
  readonly workspace_id?: WorkspaceId
}

/** Due work, and when to look again. */
export interface Claim {
  readonly jobs: ReadonlyArray<ClaimedJob>
  /**
   * When the next job that this claim did not return comes due, in milliseconds of real time; for an ordered job behind
   * a leased one, and for a job of a full lane, this is no earlier than the end of a lease. Null where nothing waits.
   */
  readonly next_due_at: number | null
  /** Whether ordered work of the one workspace that was asked for is leased, by this claim or another; else false. */
  readonly busy: boolean
}

/** What to erase. */
export type Erasure =
  /**
   * Everything of a workspace but what survives a reset. Each record that it `expects` must be as it was seen, else nothing
   * is erased: `VersionConflict`.
   */
  | { readonly what: "workspace"; readonly workspace_id: WorkspaceId; readonly expects?: ReadonlyArray<Seen> }
  /** Records of one kind that were created before a moment of workspace time, with their children where the kind says so. */
  | {
      readonly what: "records"
      readonly workspace_id: WorkspaceId
      readonly kind: string
      readonly created_before: number
      readonly limit: number
    }
  /** Events that occurred before a moment of workspace time, oldest first. */
  | {
      readonly what: "events"
      readonly workspace_id: WorkspaceId
      readonly occurred_before: number
      readonly limit: number
    }

/** How much was erased. */
export interface Erased {
  /** By the names of the kinds. */
  readonly records: { readonly [kind: string]: number }
  readonly events: number
  readonly jobs: number
}

/** What one host adds to a count that all hosts share, in one window of real time. */
export interface Tally {
  /** The workspace that is counted for; `directory` where it is not known. */
  readonly workspace_id: WorkspaceId
  /** What is counted. */
  readonly name: string
  /** Milliseconds of real time. */
  readonly window_start: number
  readonly window_ms: number
  /** May be negative, or 0 to read the count only. */
  readonly added: number
}

/**
 * Where everything is kept: the port that storages implement.
 *
 * One way to write (`commit`), and one way to find work (`claim`). Everything belongs to a workspace. Real time comes in
 * as an argument, so that one suite under a test clock checks every storage alike (`@quotewire/core/testing`).
 *
 * 1. Version rule: a write of version n needs version n - 1 in store, and what a change rests on the version that was
 *    seen. It is the only rule of concurrency, and what makes an answer to a repeated key unique: the answer is a record
 *    whose first version can be written once.
 * 2. Fence: a change that finishes jobs needs every lease of them still held.
 * 3. Feed order: events are numbered in commit order without gaps; no reader can pass a number that is committed later.
 * 4. Clock: jobs are due in workspace time; a change that moves the workspace's clock moves its waiting jobs.
 */
export class Storage extends Context.Service<
  Storage,
  {
    /** Stores everything in the change, or nothing. */
    readonly commit: (change: Change) => Effect.Effect<void, VersionConflict | LeaseLost | StorageUnavailable>
    /** Reads one record. */
    readonly get: (key: RecordKey) => Effect.Effect<Option.Option<StoredRecord>, StorageUnavailable>
    /** Reads one page of the newest versions of one kind of record. */
    readonly page: (query: RecordQuery) => Effect.Effect<RecordPage, StorageUnavailable>
    /** Reads events of the feed, oldest first. */
    readonly feed: (query: FeedQuery) => Effect.Effect<FeedPage, StorageUnavailable>
    /** Leases due jobs, urgent ones first and else the earliest: nobody else gets them until the lease ends. */
    readonly claim: (query: ClaimQuery) => Effect.Effect<Claim, StorageUnavailable>
    /** Gives jobs back before their leases end, as due as they were. Leases that are lost already are passed over. */
    readonly release: (leases: ReadonlyArray<Lease>) => Effect.Effect<void, StorageUnavailable>
    /** Erases for good. Only what expects something can be refused. */
    readonly erase: (erasure: Erasure) => Effect.Effect<Erased, VersionConflict | StorageUnavailable>
    /**
     * Adds to shared counts, each named once, and answers their totals in the same order. A count is forgotten when its
     * window is over at `now`.
     */
    readonly tally: (
      now: number,
      tallies: ReadonlyArray<Tally>
    ) => Effect.Effect<ReadonlyArray<number>, StorageUnavailable>
    /** Calls the listener after commits, its own and other hosts', until the scope closes. */
    readonly watch: (listener: (hint: Hint) => void) => Effect.Effect<void, never, Scope.Scope>
    /** The workspaces that hold anything, for the retention sweep: ids after the given one, in order. */
    readonly workspaces: (
      after: WorkspaceId | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<WorkspaceId>, StorageUnavailable>
    /** Whether storage answers and has the schema that this program needs. */
    readonly ready: Effect.Effect<void, StorageUnavailable>
  }
>()("@quotewire/core/Storage") {}

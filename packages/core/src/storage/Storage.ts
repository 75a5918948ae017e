import { Context, Data, Effect, Option, type Scope } from "effect"
import { WorkspaceId } from "../wire/Ids.ts"
import type { Change, Expectation, Hint, StoredRecord } from "./Change.ts"
import type { ClaimedJob, JobKind, Lease, NewJob } from "./Job.ts"
import type { Kind } from "./Kind.ts"
import type { FeedPage, FeedQuery, RecordPage, RecordQuery } from "./Page.ts"

/** The workspace for organizations and keys. A host looks them up before it knows a caller's workspace. */
export const directoryWorkspace: WorkspaceId = WorkspaceId.make(`wks_${"0".repeat(26)}`)

/** A write is not based on the stored version, or an expected record has changed. Read again, and decide again. */
export class VersionConflict extends Data.TaggedError("VersionConflict")<{
  readonly kind: string
  readonly id: string
}> {
  override readonly message = `The ${this.kind} ${this.id} has changed since it was read.`
}

/** The job was claimed again after its lease had expired, or is already finished. Drop the result. */
export class LeaseLost extends Data.TaggedError("LeaseLost")<{ readonly lease: Lease }> {
  override readonly message = `The lease of the job with the number ${this.lease.number} is lost.`
}

/** Storage cannot be reached for now. */
export class StorageUnavailable extends Data.TaggedError("StorageUnavailable")<{
  readonly retry_after_seconds: number
  /**
   * The unavailable cell, if only one cell is unavailable. Until it is available again, claims return none of its jobs.
   */
  readonly cell?: string
  /** What the database reports, such as `SQLSTATE 53100`. It contains no values. Hosts log it. */
  readonly why?: string
}> {
  override readonly message = `Storage is unavailable${this.why === undefined ? "" : `: ${this.why}`}.`
}

/** Identifies one record, in its newest version or in the given version. */
export interface RecordKey {
  readonly workspace_id: WorkspaceId
  readonly kind: string
  readonly id: string
  readonly version?: number
}

/** A request for due work. */
export interface ClaimQuery {
  /** The current real time, in milliseconds. */
  readonly now: number
  readonly lease_ms: number
  readonly limit: number
  /** Claims only the ordered jobs of this workspace, which an advance of a sandbox's clock runs. */
  readonly workspace_id?: WorkspaceId
  /**
   * Also claims ordered jobs that come due within this many milliseconds. By default a claim returns only the ordered
   * jobs with the earliest due time. Without `workspace_id`, this has no effect.
   */
  readonly ahead_ms?: number
}

/** Claimed jobs, and when to look again. */
export interface JobClaim {
  readonly jobs: ReadonlyArray<ClaimedJob>
  /**
   * When the next job that this claim did not return is due, in milliseconds of real time; null if no job is waiting.
   *
   * If that job must wait for a lease (an ordered job behind a leased ordered job, or a job in a full lane), this is no
   * earlier than the lease's expiry. If the claim returned as many jobs as its limit, this may be earlier than
   * necessary.
   */
  readonly next_due_at: number | null
  /**
   * Whether ordered jobs of the requested workspace are leased, by this claim or by another claim; false without a
   * workspace.
   */
  readonly busy: boolean
}

/** A query for jobs in a workspace's lanes. */
export interface LaneQuery {
  readonly workspace_id: WorkspaceId
  /** The name of the lane. By default the query covers all lanes, and the ordered jobs. */
  readonly lane?: string
  readonly limit: number
}

/** A job as listed by `lane`. */
export interface LaneJob extends Pick<NewJob, "kind" | "due_at" | "payload"> {
  /**
   * How many times the job has been claimed, including the current claim. If this is 0, no host can have run the job.
   */
  readonly lease: number
}

/** A query for the jobs that are due in any workspace. */
export interface BacklogQuery {
  /** The current real time, in milliseconds. */
  readonly now: number
  /** The maximum number of jobs to count in each cell. */
  readonly limit: number
}

/** How many jobs of one kind are due and not claimed. */
export interface Backlog {
  readonly kind: JobKind
  readonly due: number
  /** When the oldest of these jobs was due, in milliseconds of real time. */
  readonly oldest_due_at: number
}

/** A process that is connected to a storage backend. */
export interface StorageProcess {
  /** The process ID and the machine's name, such as `4711@host-1`. A long name may be truncated. */
  readonly name: string
  /** When the process's oldest connection was opened, in milliseconds of real time. */
  readonly since: number
}

/** What to erase. */
export type Erasure =
  /**
   * Everything in a workspace except what survives a reset. If an expected record has changed, nothing is erased, and
   * the call fails with `VersionConflict`.
   */
  | { readonly what: "workspace"; readonly workspace_id: WorkspaceId; readonly expects?: ReadonlyArray<Expectation> }
  /**
   * Records of one kind that were created before a time in the workspace, and their children if the kind's
   * `erases_children` is true.
   */
  | {
      readonly what: "records"
      readonly workspace_id: WorkspaceId
      readonly kind: string
      readonly created_before: number
      readonly limit: number
    }
  /** The records of one kind that belong to one parent, regardless of their age, or only their older versions. */
  | {
      readonly what: "children"
      readonly workspace_id: WorkspaceId
      readonly kind: string
      readonly parent: string
      readonly versions: "all" | "older"
    }
  /** Events that occurred before a time in the workspace, oldest first. */
  | {
      readonly what: "events"
      readonly workspace_id: WorkspaceId
      readonly occurred_before: number
      readonly limit: number
    }

/** How many records, events and jobs were erased. */
export interface Erased {
  /** By kind: the number of records, or of versions if only older versions were erased. */
  readonly records: { readonly [kind: string]: number }
  readonly events: number
  readonly jobs: number
}

/** A new body for one stored version of a record, to replace the body that was read. */
export interface Rewrite {
  readonly kind: string
  readonly id: string
  readonly version: number
  /** The body that was read. If storage has a different body by now, the rewrite does nothing. */
  readonly before: string
  readonly body: string
}

/** What one host adds to a shared count, in one window of real time. */
export interface CountAddition {
  /** The workspace that the count belongs to; `directoryWorkspace` if the workspace is unknown. */
  readonly workspace_id: WorkspaceId
  /** The name of the count. */
  readonly name: string
  /** When the window starts, in milliseconds of real time. */
  readonly window_start: number
  readonly window_ms: number
  /** The amount to add. It may be negative; with 0, the count is only read. */
  readonly added: number
}

/** The former name of `CountAddition`. */
export type Tally = CountAddition

/**
 * A cell: a part of a storage backend that holds all data of some workspaces, and can be unavailable while other cells
 * are available.
 */
export interface StorageCell {
  readonly name: string
  /** Whether the cell can be used now. If not, this fails within seconds. */
  readonly ready: Effect.Effect<void, StorageUnavailable>
  /** Whether the cell is being moved to another database. */
  readonly moving?: Effect.Effect<boolean, StorageUnavailable>
  /** Lists the IDs of the cell's workspaces that have data, sorted, starting after the given ID. */
  readonly workspaces: (
    after: WorkspaceId | null,
    limit: number
  ) => Effect.Effect<ReadonlyArray<WorkspaceId>, StorageUnavailable>
}

/**
 * The port that storage backends implement.
 *
 * There is one way to write (`commit`) and one way to find work (`claim`). Everything belongs to a workspace. Real time
 * is an argument, so that one suite of contract tests with a test clock can check every storage backend
 * (`@quotewire/core/testing`).
 *
 * 1. Version rule: a write of version n requires version n - 1 in storage, and every expected record must have its
 *    expected version. This is the only concurrency rule. It also makes retries safe: the response to a call with an
 *    idempotency key is a record, and its first version can be written only once.
 * 2. Fence: a change that finishes jobs must have the latest leases of all of them. An expired lease is still the latest
 *    until another claim takes the job.
 * 3. Feed order: events are numbered in commit order without gaps. No event ever appears before one that was already
 *    read.
 * 4. Clock: jobs are due in workspace time. A change that moves the workspace's clock moves its waiting jobs.
 *
 * `Checks` has the rules for the values of changes and counts. A read or claim whose values break these rules finds
 * nothing or dies, depending on the storage.
 */
export class Storage extends Context.Service<
  Storage,
  {
    /** Stores the whole change, or nothing. Dies if the change breaks a rule of `Checks`. */
    readonly commit: (change: Change) => Effect.Effect<void, VersionConflict | LeaseLost | StorageUnavailable>
    /** Reads one record. */
    readonly get: (key: RecordKey) => Effect.Effect<Option.Option<StoredRecord>, StorageUnavailable>
    /** Reads one page of the newest versions of one kind of record. */
    readonly page: (query: RecordQuery) => Effect.Effect<RecordPage, StorageUnavailable>
    /** Reads events of the feed, oldest first. */
    readonly feed: (query: FeedQuery) => Effect.Effect<FeedPage, StorageUnavailable>
    /**
     * Leases due jobs. No other host can claim a leased job until the lease expires. Jobs of one workspace come in
     * order: urgent jobs first, then by due time. Jobs of different workspaces come in any order, but no job waits
     * forever while others come due.
     */
    readonly claim: (query: ClaimQuery) => Effect.Effect<JobClaim, StorageUnavailable>
    /** Reads the first jobs in a lane, or in all lanes, by due time, whether they are waiting or leased. */
    readonly lane: (query: LaneQuery) => Effect.Effect<ReadonlyArray<LaneJob>, StorageUnavailable>
    /** Releases leases early; the due times stay the same. Ignores leases that were lost. */
    readonly release: (leases: ReadonlyArray<Lease>) => Effect.Effect<void, StorageUnavailable>
    /** Erases permanently. Fails with `VersionConflict` only if the erasure has expectations. */
    readonly erase: (erasure: Erasure) => Effect.Effect<Erased, VersionConflict | StorageUnavailable>
    /**
     * Replaces bodies of stored versions, newest or older, without a new version, an event or a hint. Each body is
     * replaced separately, and only if the stored body is still the body that was read. Returns how many were replaced.
     *
     * Use it only for a different encoding of the same content, such as sealing with a newer key. Everything else is a
     * `commit`.
     */
    readonly rewrite: (
      workspace_id: WorkspaceId,
      rewrites: ReadonlyArray<Rewrite>
    ) => Effect.Effect<number, StorageUnavailable>
    /**
     * Adds to shared counts and returns their totals in the same order. Each count may be named only once. Drops counts
     * whose window has ended by `now`. Dies if an addition breaks a rule of `Checks`.
     */
    readonly addCounts: (
      now: number,
      additions: ReadonlyArray<CountAddition>
    ) => Effect.Effect<ReadonlyArray<number>, StorageUnavailable>
    /** Calls the listener after commits by this and other hosts, until the scope closes. */
    readonly watch: (listener: (hint: Hint) => void) => Effect.Effect<void, never, Scope.Scope>
    /**
     * Lists the IDs of the workspaces that have data, sorted, starting after the given ID. Fails if a cell is
     * unavailable.
     */
    readonly workspaces: (
      after: WorkspaceId | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<WorkspaceId>, StorageUnavailable>
    /** Succeeds if storage responds and has the schema that this program needs. */
    readonly ready: Effect.Effect<void, StorageUnavailable>
    /**
     * Counts the jobs that are due and could be claimed, in all workspaces, by kind and sorted by the kind's name.
     * Optional: without this method, operators see only when the oldest job was due.
     */
    readonly backlog?: (query: BacklogQuery) => Effect.Effect<ReadonlyArray<Backlog>, StorageUnavailable>
    /** The connected processes, at most a thousand, sorted by name. Optional: for operators only. */
    readonly processes?: Effect.Effect<ReadonlyArray<StorageProcess>, StorageUnavailable>
    /** Whether the storage's data is being moved to another database. Optional: for operators only. */
    readonly moving?: Effect.Effect<boolean, StorageUnavailable>
    /**
     * The cells, if the storage is divided into cells. `ready` then reports on the first cell, which all other cells
     * need.
     */
    readonly cells?: ReadonlyArray<StorageCell>
  }
>()("@quotewire/core/Storage") {}

/** Commits a change that finishes no job and therefore cannot lose a lease. */
export const commit = (
  storage: Pick<Storage["Service"], "commit">,
  change: Change
): Effect.Effect<void, VersionConflict | StorageUnavailable> =>
  Effect.catchTag(storage.commit(change), "LeaseLost", (leaseLost) => Effect.die(leaseLost))

/**
 * The maximum number of attempts at a decision. In every round one of the competing writers succeeds, so contention
 * never needs this many attempts. A decision that still conflicts would conflict forever, which is a defect.
 */
const maxAttempts = 100

/** Makes a decision. After each conflict, makes the decision again from the newest data. */
export const retryOnConflict = <A, E, R>(decision: Effect.Effect<A, E | VersionConflict, R>): Effect.Effect<A, E, R> =>
  Effect.catch(
    Effect.retry(decision, { times: maxAttempts - 1, while: (error) => error instanceof VersionConflict }),
    (error) => (error instanceof VersionConflict ? Effect.die(endlessConflict(error)) : Effect.fail(error))
  )

const endlessConflict = (conflict: VersionConflict) =>
  new Error(`A change of the ${conflict.kind} ${conflict.id} still conflicted at attempt ${maxAttempts}.`, {
    cause: conflict
  })

/** Reads the newest value of a record; null if it does not exist. */
export const readOne = <A>(
  storage: Pick<Storage["Service"], "get">,
  kind: Pick<Kind<string, A>, "name" | "value">,
  workspace_id: WorkspaceId,
  id: string
): Effect.Effect<A | null, StorageUnavailable> =>
  Effect.map(storage.get({ workspace_id, kind: kind.name, id }), (stored) =>
    Option.isNone(stored) ? null : kind.value(stored.value)
  )

/** The number of the newest event in a feed. If all events were erased, the number of the newest erased event. */
export const endOfFeed = (
  storage: Pick<Storage["Service"], "feed">,
  workspace_id: WorkspaceId
): Effect.Effect<number, StorageUnavailable> =>
  Effect.map(storage.feed({ workspace_id, after: 0, limit: 0 }), ({ reached }) => reached)

/** Reads a list to its end, and passes each page's records to `onPage` before it reads the next page. */
export const eachPage = Effect.fnUntraced(function* <E, R>(
  storage: Pick<Storage["Service"], "page">,
  query: Omit<RecordQuery, "after">,
  onPage: (records: ReadonlyArray<StoredRecord>) => Effect.Effect<void, E, R>
): Effect.fn.Return<void, E | StorageUnavailable, R> {
  let after: string | null = null
  do {
    const { records, next }: RecordPage = yield* storage.page({ ...query, after })
    yield* onPage(records)
    after = next
  } while (after !== null)
})

/** Reads a whole list into memory. Use this only for short lists, and `eachPage` for all other lists. */
export const readAll = Effect.fnUntraced(function* (
  storage: Pick<Storage["Service"], "page">,
  query: Omit<RecordQuery, "after">
) {
  const all: Array<StoredRecord> = []
  yield* eachPage(storage, query, (records) => Effect.sync(() => void all.push(...records)))
  return all
})

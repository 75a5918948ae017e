import { kinds } from "../../kinds.ts"
import type { Change, Expectation, NewEvent, StoredRecord } from "../../storage/Change.ts"
import type { Lease, NewJob } from "../../storage/Job.ts"
import type { FeedPage, FeedQuery, RecordQuery } from "../../storage/Page.ts"
import type { Erased, Erasure, RecordKey, Rewrite } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"

/** A version of a record, and its workspace. */
interface Version {
  readonly workspace_id: WorkspaceId
  readonly record: StoredRecord
}

/** An event, and its number and workspace. */
interface Numbered {
  readonly workspace_id: WorkspaceId
  readonly number: number
  readonly event: NewEvent
}

/** An unfinished job. */
export interface ModelJob {
  readonly workspace_id: WorkspaceId
  readonly job: NewJob
  /** The job's position among all jobs that were ever stored. */
  readonly serial: number
  /** The storage's number for the job; null until a claim reveals it. */
  number: number | null
  lease: number
  /** How many of the job's claims ended because their lease expired. */
  expired_leases: number
  /** When the job's lease expires; null if the job was never claimed, or was released. */
  leased_until: number | null
}

/** Why the model refuses a change. */
type Refusal =
  | { readonly _tag: "LeaseLost"; readonly lease: Lease }
  | { readonly _tag: "VersionConflict"; readonly kind: string; readonly id: string }

const sameRecord = (a: StoredRecord, b: StoredRecord) => a.kind === b.kind && a.id === b.id

const isAbout = (ids: ReadonlyArray<string>, { about }: Pick<RecordQuery, "about">) =>
  about === undefined || about.every((id) => ids.includes(id))

/**
 * A reference model of a storage backend. It is as simple as possible: arrays and filters, without regard to
 * performance.
 *
 * The model decides what is stored and which jobs can be claimed. It must be told which of those jobs a storage backend
 * returns first.
 */
export class Model {
  versions: ReadonlyArray<Version> = []
  events: ReadonlyArray<Numbered> = []
  jobs: ReadonlyArray<ModelJob> = []
  private serial = 0
  private readonly clock_offsets = new Map<WorkspaceId, number>()
  private readonly last_numbers = new Map<WorkspaceId, number>()
  private readonly erased_through = new Map<WorkspaceId, number>()

  /** Why a change is refused; null if the change is accepted. */
  refusal(change: Change): Refusal | null {
    const lostLease = change.finishes.find((lease) => this.held(lease) === undefined)
    if (lostLease !== undefined) return { _tag: "LeaseLost", lease: lostLease }
    if (this.passesJobs(change)) return { _tag: "VersionConflict", kind: "workspace", id: change.workspace_id }
    const changed = this.changed(change.workspace_id, change.expects)
    if (changed !== null) return changed
    for (const [index, write] of change.writes.entries()) {
      const repeated = change.writes.slice(0, index).some((earlierWrite) => sameRecord(earlierWrite, write))
      if (repeated || this.version(change.workspace_id, write) !== write.version - 1)
        return { _tag: "VersionConflict", kind: write.kind, id: write.id }
    }
    return null
  }

  /** Stores a change that was not refused. */
  commit(change: Change): void {
    const { workspace_id } = change
    const done = change.finishes.map((lease) => this.held(lease))
    this.jobs = this.jobs.filter((job) => !done.includes(job))
    this.versions = [...this.versions, ...change.writes.map((record) => ({ workspace_id, record }))]
    for (const event of change.events) {
      const number = (this.last_numbers.get(workspace_id) ?? 0) + 1
      this.last_numbers.set(workspace_id, number)
      this.events = [...this.events, { workspace_id, number, event }]
    }
    for (const job of change.jobs) {
      this.serial += 1
      const unclaimed = { number: null, lease: 0, expired_leases: 0, leased_until: null }
      this.jobs = [...this.jobs, { workspace_id, job, serial: this.serial, ...unclaimed }]
    }
    if (change.clock_offset_ms !== null) this.clock_offsets.set(workspace_id, change.clock_offset_ms)
  }

  /** The job that a lease holds. Only the lease from the job's latest claim holds it. */
  held(lease: Lease): ModelJob | undefined {
    return this.jobs.find(
      (job) =>
        job.workspace_id === lease.workspace_id &&
        job.number === lease.number &&
        job.lease === lease.lease &&
        job.leased_until !== null
    )
  }

  release(leases: ReadonlyArray<Lease>): void {
    for (const lease of leases) {
      const job = this.held(lease)
      if (job !== undefined) job.leased_until = null
    }
  }

  clockOffset(workspace_id: WorkspaceId): number {
    return this.clock_offsets.get(workspace_id) ?? 0
  }

  get({ workspace_id, kind, id, version }: RecordKey): StoredRecord | null {
    const newest = this.newest(workspace_id, kind, id)
    if (version === undefined || newest === undefined || newest.version === version) return newest ?? null
    if (!kinds.byName(kind).keeps_history) return null
    return this.all(workspace_id, kind).find((record) => record.id === id && record.version === version) ?? null
  }

  /** All records that match a query, starting after `after` and ignoring the limit. */
  list(query: RecordQuery): ReadonlyArray<StoredRecord> {
    const { after, order } = query
    const sign = order === "oldest" ? 1 : -1
    return this.newestOf(query.workspace_id, query.kind)
      .filter(({ parent }) => query.parent === undefined || parent === query.parent)
      .filter(({ status }) => query.status === undefined || status === query.status)
      .filter(({ line }) => query.line === undefined || line === query.line)
      .filter(({ labels }) => query.labels === undefined || query.labels.every((label) => labels.includes(label)))
      .filter(({ about }) => isAbout(about, query))
      .filter(({ created_at }) => query.created_after === undefined || created_at >= query.created_after)
      .filter(({ created_at }) => query.created_before === undefined || created_at < query.created_before)
      .filter(({ updated_at }) => query.updated_since === undefined || updated_at >= query.updated_since)
      .filter(({ id }) => after === null || (order === "oldest" ? id > after : id < after))
      .sort((a, b) => (a.id < b.id ? -sign : sign))
  }

  feed(query: FeedQuery): FeedPage {
    const { workspace_id, after, limit } = query
    const events = this.events
      .filter((event) => event.workspace_id === workspace_id && event.number > after)
      .filter(({ event }) => isAbout(event.about, query))
      .slice(0, limit)
      .map(({ event, number }) => ({ ...event, number }))
    const last = (events.length === limit ? events.at(-1)?.number : undefined) ?? this.last_numbers.get(workspace_id)
    const reached = Math.max(after, last ?? 0)
    return { events, reached, erased_through: this.erased_through.get(workspace_id) ?? 0 }
  }

  /** Why an erasure is refused; null if the erasure is accepted. */
  erasureRefusal(erasure: Erasure): Refusal | null {
    return erasure.what === "workspace" ? this.changed(erasure.workspace_id, erasure.expects ?? []) : null
  }

  erase(erasure: Erasure): Erased {
    switch (erasure.what) {
      case "workspace":
        return this.eraseWorkspace(erasure.workspace_id)
      case "records": {
        const { workspace_id, kind, created_before, limit } = erasure
        const old = this.newestOf(workspace_id, kind)
          .filter(({ created_at }) => created_at < created_before)
          .sort((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1))
          .slice(0, limit)
        const children = this.newestEverywhere(workspace_id).filter(
          ({ parent }) => kinds.byName(kind).erases_children && old.some(({ id }) => id === parent)
        )
        return { records: this.drop(workspace_id, [...old, ...children]), events: 0, jobs: 0 }
      }
      case "children": {
        const { workspace_id, kind, parent, versions } = erasure
        const children = this.newestOf(workspace_id, kind).filter((record) => record.parent === parent)
        const records =
          versions === "all" ? this.drop(workspace_id, children) : this.dropOlder(workspace_id, kind, children)
        return { records, events: 0, jobs: 0 }
      }
      case "events": {
        const { workspace_id, occurred_before, limit } = erasure
        const workspaceEvents = this.events.filter((event) => event.workspace_id === workspace_id)
        const young = workspaceEvents.findIndex(({ event }) => event.occurred_at >= occurred_before)
        const gone = workspaceEvents.slice(0, Math.min(limit, young === -1 ? workspaceEvents.length : young))
        this.events = this.events.filter((event) => !gone.includes(event))
        const last = gone.at(-1)
        if (last !== undefined) this.erased_through.set(workspace_id, last.number)
        return { records: {}, events: gone.length, jobs: 0 }
      }
    }
  }

  /** Replaces the body of a version if it is still the body that was read. Returns how many bodies were replaced. */
  rewrite(workspace_id: WorkspaceId, { before, body, ...at }: Rewrite): number {
    const stored = this.get({ workspace_id, ...at })
    if (stored === null || stored.body !== before) return 0
    this.versions = this.versions.map((version) =>
      version.workspace_id === workspace_id && version.record === stored
        ? { workspace_id, record: { ...stored, body } }
        : version
    )
    return 1
  }

  /** The workspaces that have data, sorted. */
  workspaces(): ReadonlyArray<WorkspaceId> {
    const workspaceIds = [...this.versions, ...this.events, ...this.jobs].map(({ workspace_id }) => workspace_id)
    return [...new Set(workspaceIds)].sort()
  }

  /** The newest version of a record. */
  newest(workspace_id: WorkspaceId, kind: string, id: string): StoredRecord | undefined {
    return this.newestOf(workspace_id, kind).find((record) => record.id === id)
  }

  private passesJobs({ workspace_id, finishes, none_due_before }: Change): boolean {
    const finished = finishes.map((lease) => this.held(lease))
    return this.jobs.some(
      (job) =>
        none_due_before !== null &&
        job.workspace_id === workspace_id &&
        job.job.ordered &&
        job.job.due_at < none_due_before &&
        !finished.includes(job)
    )
  }

  private version(workspace_id: WorkspaceId, { kind, id }: Pick<Expectation, "kind" | "id">): number {
    return this.newest(workspace_id, kind, id)?.version ?? 0
  }

  private changed(workspace_id: WorkspaceId, expects: ReadonlyArray<Expectation>): Refusal | null {
    const changed = expects.find((expectation) => this.version(workspace_id, expectation) !== expectation.version)
    return changed === undefined ? null : { _tag: "VersionConflict", kind: changed.kind, id: changed.id }
  }

  private all(workspace_id: WorkspaceId, kind: string): ReadonlyArray<StoredRecord> {
    return this.versions
      .filter((version) => version.workspace_id === workspace_id && version.record.kind === kind)
      .map(({ record }) => record)
  }

  private newestOf(workspace_id: WorkspaceId, kind: string): Array<StoredRecord> {
    const versions = this.all(workspace_id, kind)
    return versions.filter(
      (record) => !versions.some((other) => other.id === record.id && other.version > record.version)
    )
  }

  private newestEverywhere(workspace_id: WorkspaceId): ReadonlyArray<StoredRecord> {
    const kindNames = new Set(this.versions.map(({ record }) => record.kind))
    return [...kindNames].flatMap((kind) => this.newestOf(workspace_id, kind))
  }

  private eraseWorkspace(workspace_id: WorkspaceId): Erased {
    const records = this.newestEverywhere(workspace_id).filter(({ kind }) => !kinds.byName(kind).survives_reset)
    const events = this.events.filter((event) => event.workspace_id === workspace_id)
    const jobs = this.jobs.filter((job) => job.workspace_id === workspace_id)
    this.events = this.events.filter((event) => !events.includes(event))
    this.jobs = this.jobs.filter((job) => !jobs.includes(job))
    this.erased_through.set(workspace_id, this.last_numbers.get(workspace_id) ?? 0)
    return { records: this.drop(workspace_id, records), events: events.length, jobs: jobs.length }
  }

  /**
   * Drops all versions that are older than these newest versions. Returns how many of the dropped versions a storage
   * backend would have kept.
   */
  private dropOlder(
    workspace_id: WorkspaceId,
    kind: string,
    newestRecords: ReadonlyArray<StoredRecord>
  ): Erased["records"] {
    const isOlder = (version: Version) =>
      version.workspace_id === workspace_id &&
      newestRecords.some((record) => sameRecord(record, version.record) && version.record.version < record.version)
    const versionCount = kinds.byName(kind).keeps_history ? this.versions.filter(isOlder).length : 0
    this.versions = this.versions.filter((version) => !isOlder(version))
    return versionCount === 0 ? {} : { [kind]: versionCount }
  }

  /** Drops all versions of these records. Returns how many records of each kind were dropped. */
  private drop(workspace_id: WorkspaceId, records: ReadonlyArray<StoredRecord>): Erased["records"] {
    this.versions = this.versions.filter(
      (version) =>
        version.workspace_id !== workspace_id || !records.some((record) => sameRecord(record, version.record))
    )
    const counts: { [kind: string]: number } = {}
    for (const { kind } of records) counts[kind] = (counts[kind] ?? 0) + 1
    return counts
  }
}

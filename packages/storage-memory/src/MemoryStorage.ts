import { type Change, Checks, Hints, type Ids, kinds, Storage } from "@quotewire/core"
import { Effect, Layer, Option } from "effect"
import { MemoryJobs } from "./MemoryJobs.ts"
import { Feed, Workspace } from "./Workspace.ts"

/**
 * A storage backend in the memory of this process, for development, tests and embedding. Its data is lost when the
 * layer closes.
 *
 * @example
 * program.pipe(Effect.provide(MemoryStorage.layer))
 */
export const layer: Layer.Layer<Storage.Storage> = Layer.suspend(() => layerOf(new Store()))

const layerOf = (store: Store): Layer.Layer<Storage.Storage> =>
  Layer.sync(Storage.Storage, () => {
    const hints = new Hints.Hints()
    return Storage.Storage.of({
      commit: (change) =>
        Effect.suspend(() => {
          Checks.change(change, kinds)
          const refusal = store.commit(change)
          if (refusal !== null) return Effect.fail(refusal)
          return hints.notify(Hints.hintsOf(change, kinds))
        }),
      get: ({ workspace_id, kind, id, version }) =>
        Effect.sync(() => Option.fromUndefinedOr(store.workspace(workspace_id).table(kind).get(id, version))),
      page: (query) => Effect.sync(() => store.workspace(query.workspace_id).table(query.kind).page(query)),
      feed: (query) => Effect.sync(() => store.workspace(query.workspace_id).feed.read(query)),
      claim: (query) => Effect.sync(() => store.jobs.claim(query)),
      lane: (query) => Effect.sync(() => store.jobs.list(query)),
      backlog: (query) => Effect.sync(() => store.jobs.backlog(query)),
      release: (leases) => Effect.sync(() => store.jobs.release(leases)),
      erase: (erasure) =>
        Effect.suspend(() => {
          const erased = store.erase(erasure)
          if (erased instanceof Storage.VersionConflict) return Effect.fail(erased)
          const { workspace_id } = erasure
          return Effect.as(
            hints.notify(erasure.what === "workspace" ? [{ about: "workspace", workspace_id }] : []),
            erased
          )
        }),
      rewrite: (workspaceId, rewrites) => Effect.sync(() => store.rewrite(workspaceId, rewrites)),
      addCounts: (now, additions) =>
        Effect.sync(() => {
          Checks.counts(additions)
          return addCounts(store.counts, now, additions)
        }),
      watch: hints.watch,
      workspaces: (after, limit) => Effect.sync(() => store.workspaceIds(after, limit)),
      ready: Effect.void
    })
  })

/**
 * Everything that is stored.
 *
 * The methods are synchronous, so only one runs at a time. They need no locks, and every change is atomic.
 */
class Store {
  readonly jobs: MemoryJobs
  readonly counts: CountsByEnd
  private readonly workspaces = new Map<Ids.WorkspaceId, Workspace>()

  constructor(jobs = new MemoryJobs(), counts: CountsByEnd = new Map()) {
    this.jobs = jobs
    this.counts = counts
  }

  /**
   * Stores a change, or returns why it is refused. Every rule is checked before anything is written.
   *
   * The storage port has four rules. A change that breaks rule 1 (versions) or 2 (leases) is refused. Rules 3 (feed
   * order) and 4 (clock) say how a change is written: see `Feed.append` and `dueAt`.
   */
  commit(change: Change.Change): Storage.LeaseLost | Storage.VersionConflict | null {
    // Leases are checked first: a caller that has lost a lease drops its result and need not decide again.
    const refusal =
      this.lostLease(change) ?? this.passedJob(change) ?? this.changedRecord(change) ?? this.wrongVersion(change)
    if (refusal !== undefined) return refusal

    const { clock_offset_ms, workspace_id } = change
    const workspace = this.workspace(workspace_id)
    this.workspaces.set(workspace_id, workspace)
    for (const record of change.writes) workspace.write(record)
    for (const event of change.events) workspace.feed.append(event)
    this.jobs.finish(change.finishes)
    if (clock_offset_ms !== null) this.jobs.moveClock(workspace_id, clock_offset_ms)
    this.jobs.add(workspace_id, change.jobs)
    return null
  }

  /** A workspace, for reading only. If nothing is stored for it, it is empty. */
  workspace(id: Ids.WorkspaceId): Workspace {
    return this.workspaces.get(id) ?? new Workspace()
  }

  erase(erasure: Storage.Erasure): Storage.Erased | Storage.VersionConflict {
    const { what, workspace_id } = erasure
    const none: Storage.Erased = { records: {}, events: 0, jobs: 0 }
    const workspace = this.workspace(workspace_id)
    switch (what) {
      case "workspace": {
        const refusal = this.changedRecord({ workspace_id, expects: erasure.expects ?? [] })
        if (refusal !== undefined) return refusal
        return {
          records: workspace.eraseForReset(),
          events: workspace.feed.eraseAll(),
          jobs: this.jobs.erase(workspace_id)
        }
      }
      case "records":
        return { ...none, records: workspace.eraseRecords(erasure.kind, erasure.created_before, erasure.limit) }
      case "children":
        return { ...none, records: workspace.eraseChildren(erasure.kind, erasure.parent, erasure.versions) }
      case "events":
        return { ...none, events: workspace.feed.eraseBefore(erasure.occurred_before, erasure.limit) }
    }
  }

  /** Replaces bodies that have not changed since they were read, and returns how many were replaced. */
  rewrite(workspaceId: Ids.WorkspaceId, rewrites: ReadonlyArray<Storage.Rewrite>): number {
    const workspace = this.workspace(workspaceId)
    return rewrites.filter((rewrite) => workspace.table(rewrite.kind).rewrite(rewrite)).length
  }

  /** The workspaces that have data, in ID order, after the given ID. */
  workspaceIds(after: Ids.WorkspaceId | null, limit: number): ReadonlyArray<Ids.WorkspaceId> {
    const ids = [...this.workspaces].flatMap(([id, { isEmpty }]) => (isEmpty && !this.jobs.hasJobs(id) ? [] : [id]))
    return ids
      .filter((id) => after === null || id > after)
      .sort()
      .slice(0, limit)
  }

  /** Creates a store with the same content, in which no job is leased. */
  copy(): Store {
    const copy = new Store(this.jobs.copy(), structuredClone(this.counts))
    for (const [id, { feed, tables }] of this.workspaces) {
      const workspace = new Workspace(new Feed(feed.erased_through))
      copy.workspaces.set(id, workspace)
      for (const event of feed.events) workspace.feed.append(event)
      for (const table of tables.values()) {
        for (const newest of table.records.values())
          for (const record of [...table.olderThanNewest(newest.id), newest]) workspace.write(record)
      }
    }
    return copy
  }

  /** Rule 2: the refusal for the first job that the change finishes without holding the job's lease. */
  private lostLease({ finishes }: Change.Change): Storage.LeaseLost | undefined {
    const lostLease = finishes.find((lease) => !this.jobs.holds(lease))
    return lostLease && new Storage.LeaseLost({ lease: lostLease })
  }

  /** Rule 4: the refusal if the change runs jobs ahead of the clock and would overtake an ordered job. */
  private passedJob({ finishes, none_due_before, workspace_id }: Change.Change): Storage.VersionConflict | undefined {
    const isPassed = none_due_before !== null && this.jobs.hasOrderedBefore(workspace_id, none_due_before, finishes)
    return isPassed ? new Storage.VersionConflict({ kind: "workspace", id: workspace_id }) : undefined
  }

  /** Rule 1: the refusal for the first record that does not have its expected version. */
  private changedRecord({ expects, workspace_id }: Pick<Change.Change, "expects" | "workspace_id">) {
    const workspace = this.workspace(workspace_id)
    const changed = expects.find(({ kind, id, version }) => workspace.table(kind).version(id) !== version)
    return changed && new Storage.VersionConflict({ kind: changed.kind, id: changed.id })
  }

  /**
   * Rule 1: the refusal for the first write that does not follow the stored version. A second write of the same record
   * never follows it.
   */
  private wrongVersion({ workspace_id, writes }: Change.Change): Storage.VersionConflict | undefined {
    const workspace = this.workspace(workspace_id)
    const written = new Set<string>()
    const conflict = writes.find(({ kind, id, version }) => {
      const name = `${kind} ${id}`
      if (written.has(name) || workspace.table(kind).version(id) !== version - 1) return true
      written.add(name)
      return false
    })
    return conflict && new Storage.VersionConflict({ kind: conflict.kind, id: conflict.id })
  }
}

/** Counts that workspaces share, by the end of their time windows, so that expired counts are dropped together. */
type CountsByEnd = Map<number, Map<string, number>>

/** Adds to counts, and returns their totals. */
const addCounts = (
  byEnd: CountsByEnd,
  now: number,
  additions: ReadonlyArray<Storage.CountAddition>
): ReadonlyArray<number> => {
  for (const end of byEnd.keys()) if (end <= now) byEnd.delete(end)
  return additions.map(({ workspace_id, name, window_start, window_ms, added }) => {
    const end = window_start + window_ms
    if (end <= now) return added
    const counts = byEnd.get(end) ?? new Map<string, number>()
    byEnd.set(end, counts)
    // The key contains the length of the window, because windows of different lengths can end together.
    const key = `${workspace_id} ${window_ms} ${name}`
    const total = (counts.get(key) ?? 0) + added
    counts.set(key, total)
    return total
  })
}

// The rest of this file is used only by tests.

/** A storage backend that can be copied, so that many tests start from the same data. */
export interface Copyable {
  readonly layer: Layer.Layer<Storage.Storage>
  /**
   * Copies the current content. Later changes to either storage do not affect the other. Jobs that are leased now are
   * due again in the copy.
   */
  readonly copy: () => Copyable
  /** Whether no job is leased and no job is due at this real time, in milliseconds. */
  readonly isIdle: (now: number) => boolean
  /** When a workspace's next job is due, in milliseconds of real time; null if no job is waiting. */
  readonly nextDueAt: (workspace_id: Ids.WorkspaceId) => number | null
}

/** Creates an empty storage that can be copied. Unlike `layer`, its layer provides the same data each time. */
export const copyable = (): Copyable => copyableOf(new Store())

const copyableOf = (store: Store): Copyable => ({
  layer: layerOf(store),
  copy: () => copyableOf(store.copy()),
  isIdle: (now) => store.jobs.isIdle(now),
  nextDueAt: (workspaceId) => store.jobs.nextDueAt(workspaceId)
})

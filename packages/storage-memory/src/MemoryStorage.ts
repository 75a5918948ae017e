import { type Change, Hints, type Ids, type Job, kinds, type Page, Storage } from "@quotewire/core"
import { Effect, Layer, Option } from "effect"
import { JobQueue } from "./JobQueue.ts"
import { SortedList } from "./Ordered.ts"
import { Workspace } from "./Workspace.ts"

/**
 * A storage in the memory of this process, for development, tests and embedding. Its data is lost when the layer closes.
 *
 * @example
 * program.pipe(Effect.provide(MemoryStorage.layer))
 */
export const layer: Layer.Layer<Storage.Storage> = Layer.suspend(() => layerOf(new Store()))

/** A storage that can be copied, so that many tests start from the same data. */
export interface Copyable {
  readonly layer: Layer.Layer<Storage.Storage>
  /** A copy of what is stored now. Neither changes the other; jobs that are leased now are due again in the copy. */
  readonly copy: () => Copyable
  /** Whether no job is leased, and none is due at this real time, in milliseconds. */
  readonly isIdle: (now: number) => boolean
  /** When the next job of a workspace is due, in milliseconds of real time; null if none waits. */
  readonly nextDueAt: (workspace_id: Ids.WorkspaceId) => number | null
}

/** An empty storage that can be copied. Unlike `layer`, its layer always holds the same data. */
export const copyable = (): Copyable => copyableOf(new Store())

const copyableOf = (store: Store): Copyable => ({
  layer: layerOf(store),
  copy: () => copyableOf(store.copy()),
  isIdle: (now) => store.jobs.isIdle(now),
  nextDueAt: (workspace_id) => store.jobs.nextDueAt(workspace_id)
})

const layerOf = (store: Store): Layer.Layer<Storage.Storage> =>
  Layer.sync(Storage.Storage, () => {
    const hints = new Hints.Hints()
    return Storage.Storage.of({
      commit: (change) =>
        Effect.suspend(() => {
          const refusal = store.commit(change)
          if (refusal !== null) return Effect.fail(refusal)
          return hints.notify(Hints.hintsOf(change, kinds))
        }),
      get: (key) => Effect.sync(() => Option.fromUndefinedOr(store.get(key))),
      page: (query) => Effect.sync(() => store.page(query)),
      feed: (query) => Effect.sync(() => store.feed(query)),
      claim: (query) => Effect.sync(() => store.claim(query)),
      release: (leases) => Effect.sync(() => store.release(leases)),
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
      addCounts: (now, tallies) => Effect.sync(() => store.tally(now, tallies)),
      watch: hints.watch,
      workspaces: (after, limit) => Effect.sync(() => store.workspaceIds(after, limit)),
      ready: Effect.void
    })
  })

const byId = (first: Workspace, second: Workspace): number => (first.id < second.id ? -1 : first.id > second.id ? 1 : 0)

/**
 * Everything that is stored, as plain data.
 *
 * Its methods are synchronous, so nothing else runs meanwhile: they need no locks, and every change is atomic.
 */
class Store {
  private readonly workspaces = new Map<Ids.WorkspaceId, Workspace>()
  private readonly inOrder = new SortedList<Workspace>(byId)
  readonly jobs = new JobQueue()
  private readonly counts = new Counts()

  copy(): Store {
    const copy = new Store()
    for (const [id, workspace] of this.workspaces) {
      const copied = workspace.copy()
      copy.workspaces.set(id, copied)
      copy.inOrder.insert(copied)
    }
    this.jobs.copyTo(copy.jobs)
    this.counts.copyTo(copy.counts)
    return copy
  }

  /** Checks all rules before it writes anything. Returns why the change is refused, or null if it is stored. */
  commit(change: Change.Change): Storage.LeaseLost | Storage.VersionConflict | null {
    // Leases first: if a lease is lost, the result is dropped, so it need not be decided again.
    const lost = change.finishes.find((lease) => !this.jobs.holds(lease))
    if (lost !== undefined) return new Storage.LeaseLost({ lease: lost })
    const { finishes, none_due_before, workspace_id } = change
    if (none_due_before !== null && this.jobs.hasOrderedBefore(workspace_id, none_due_before, finishes)) {
      return new Storage.VersionConflict({ kind: "workspace", id: workspace_id })
    }
    const conflict = this.firstConflict(change)
    if (conflict !== undefined) return new Storage.VersionConflict({ kind: conflict.kind, id: conflict.id })

    const workspace = this.workspace(change.workspace_id)
    for (const record of change.writes) workspace.write(record)
    for (const event of change.events) workspace.feed.append(event)
    for (const lease of change.finishes) this.jobs.finish(lease)
    if (change.clock_offset_ms !== null) this.jobs.moveClock(change.workspace_id, change.clock_offset_ms)
    if (change.jobs.length > 0) this.jobs.add(change.workspace_id, change.jobs)
    return null
  }

  get(key: Storage.RecordKey): Change.StoredRecord | undefined {
    return this.workspaces.get(key.workspace_id)?.get(key)
  }

  page(query: Page.RecordQuery): Page.RecordPage {
    return this.workspaces.get(query.workspace_id)?.page(query) ?? { records: [], next: null }
  }

  feed(query: Page.FeedQuery): Page.FeedPage {
    return (
      this.workspaces.get(query.workspace_id)?.feed.read(query.after, query.limit) ?? { events: [], erased_through: 0 }
    )
  }

  claim(query: Storage.ClaimQuery): Storage.JobClaim {
    return this.jobs.claim(query)
  }

  release(leases: ReadonlyArray<Job.Lease>): void {
    for (const lease of leases) this.jobs.release(lease)
  }

  erase(erasure: Storage.Erasure): Storage.Erased | Storage.VersionConflict {
    const workspace = this.workspaces.get(erasure.workspace_id)
    const expects = erasure.what === "workspace" ? (erasure.expects ?? []) : []
    const changed = expects.find(({ kind, id, version }) => (workspace?.version(kind, id) ?? 0) !== version)
    if (changed !== undefined) return new Storage.VersionConflict({ kind: changed.kind, id: changed.id })
    if (workspace === undefined) return { records: {}, events: 0, jobs: 0 }
    switch (erasure.what) {
      case "workspace":
        return {
          records: workspace.eraseForReset(),
          events: workspace.feed.eraseAll(),
          jobs: this.jobs.erase(workspace.id)
        }
      case "records":
        return {
          records: workspace.eraseRecords(erasure.kind, erasure.created_before, erasure.limit),
          events: 0,
          jobs: 0
        }
      case "children":
        return {
          records: workspace.eraseChildren(erasure.kind, erasure.parent, erasure.versions),
          events: 0,
          jobs: 0
        }
      case "events":
        return { records: {}, events: workspace.feed.eraseBefore(erasure.occurred_before, erasure.limit), jobs: 0 }
    }
  }

  tally(now: number, tallies: ReadonlyArray<Storage.Tally>): ReadonlyArray<number> {
    return this.counts.add(now, tallies)
  }

  workspaceIds(after: Ids.WorkspaceId | null, limit: number): ReadonlyArray<Ids.WorkspaceId> {
    const ids: Array<Ids.WorkspaceId> = []
    this.inOrder.upwards(
      ({ id }) => (after === null || id > after ? 1 : id < after ? -1 : 0),
      (workspace) => {
        if (ids.length >= limit) return false
        if (workspace.holdsAnything || this.jobs.size(workspace.id) > 0) ids.push(workspace.id)
        return true
      }
    )
    return ids
  }

  /**
   * The first expected record with another version, otherwise the first write that does not follow the stored version. A
   * second write of the same record never follows.
   */
  private firstConflict({ workspace_id, expects, writes }: Change.Change): Change.Expectation | undefined {
    const workspace = this.workspaces.get(workspace_id)
    const changed = expects.find(({ kind, id, version }) => (workspace?.version(kind, id) ?? 0) !== version)
    if (changed !== undefined) return changed
    const seen = new Set<string>()
    return writes.find(({ kind, id, version }, at) => {
      if ((workspace?.version(kind, id) ?? 0) !== version - 1) return true
      // A set of ids is cheaper than one of combined keys. Different kinds rarely share an id.
      if (seen.has(id)) return writes.slice(0, at).some((before) => before.id === id && before.kind === kind)
      seen.add(id)
      return false
    })
  }

  private workspace(id: Ids.WorkspaceId): Workspace {
    const found = this.workspaces.get(id)
    if (found !== undefined) return found
    const workspace = new Workspace(id)
    this.workspaces.set(id, workspace)
    this.inOrder.insert(workspace)
    return workspace
  }
}

/** Counts, grouped by the end of their windows, so that ended ones are dropped together. */
class Counts {
  private readonly byEnd = new Map<number, Map<string, number>>()

  copyTo(copy: Counts): void {
    for (const [end, counts] of this.byEnd) copy.byEnd.set(end, new Map(counts))
  }

  /** Adds to counts, and returns their totals. */
  add(now: number, tallies: ReadonlyArray<Storage.Tally>): ReadonlyArray<number> {
    for (const end of this.byEnd.keys()) if (end <= now) this.byEnd.delete(end)
    return tallies.map(({ workspace_id, name, window_start, window_ms, added }) => {
      const end = window_start + window_ms
      if (end <= now) return added
      const counts = this.byEnd.get(end) ?? new Map<string, number>()
      this.byEnd.set(end, counts)
      // Windows of different lengths can end together.
      const key = `${workspace_id} ${window_ms} ${name}`
      const total = (counts.get(key) ?? 0) + added
      counts.set(key, total)
      return total
    })
  }
}

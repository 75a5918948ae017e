import { Change, Checks, Hints, type Ids, type Job, kinds, Page, Storage } from "@quotewire/core"
import { Effect, Layer, Option } from "effect"

/*
 * The simplest possible storage: plain lists with linear search. It is written from the rules of the port, and shares
 * no code with the shipped storage backends.
 */

interface StoredJob extends Job.NewJob {
  readonly workspace_id: Ids.WorkspaceId
  readonly number: number
  lease: number
  expired_leases: number
  /** When its latest lease expires; null if the job has no lease or the lease was released. */
  leased_until: number | null
}

/** Everything in a workspace except its jobs. */
interface Workspace {
  readonly id: Ids.WorkspaceId
  /** All versions of each record, oldest first, by kind and id. */
  readonly records: Map<string, Map<string, Array<Change.StoredRecord>>>
  events: Array<Change.StoredEvent>
  last_number: number
  erased_through: number
  clock_offset_ms: number
}

interface State {
  readonly workspaces: Map<Ids.WorkspaceId, Workspace>
  jobs: Array<StoredJob>
  last_job: number
  counts: Array<{ readonly key: string; readonly ends_at: number; total: number }>
}

/** A storage backend that can be copied, so that stories start from the same data. */
export interface Copyable {
  readonly layer: Layer.Layer<Storage.Storage>
  readonly copy: () => Copyable
}

const byId = (one: { readonly id: string }, other: { readonly id: string }) => (one.id < other.id ? -1 : 1)

const workspaceOf = ({ workspaces: known }: State, id: Ids.WorkspaceId): Workspace => {
  const found = known.get(id)
  if (found !== undefined) return found
  const made = { id, records: new Map(), events: [], last_number: 0, erased_through: 0, clock_offset_ms: 0 }
  known.set(id, made)
  return made
}

const versionsOf = (workspace: Workspace, kind: string, id: string): ReadonlyArray<Change.StoredRecord> =>
  workspace.records.get(kind)?.get(id) ?? []

/** The latest versions of a kind's records. */
const newestOf = (workspace: Workspace, kind: string): ReadonlyArray<Change.StoredRecord> =>
  [...(workspace.records.get(kind)?.values() ?? [])].flatMap((versions) => versions.at(-1) ?? [])

/**
 * Whether a lease is its job's latest and was not released. It stays valid after it expires, until a new lease is
 * granted.
 */
const holds = (job: StoredJob, lease: Job.Lease) =>
  job.workspace_id === lease.workspace_id &&
  job.number === lease.number &&
  job.lease === lease.lease &&
  job.leased_until !== null

const conflictOf = (workspace: Workspace, expects: ReadonlyArray<Change.Expectation>) => {
  const changed = expects.find(
    ({ id, kind, version }) => (versionsOf(workspace, kind, id).at(-1)?.version ?? 0) !== version
  )
  return changed === undefined ? null : new Storage.VersionConflict({ kind: changed.kind, id: changed.id })
}

const refusalOf = (state: State, change: Change.Change): Storage.LeaseLost | Storage.VersionConflict | null => {
  const { expects, finishes, none_due_before, workspace_id, writes } = change
  const lost = finishes.find((lease) => !state.jobs.some((job) => holds(job, lease)))
  if (lost !== undefined) return new Storage.LeaseLost({ lease: lost })
  const isPassed = state.jobs.some(
    (job) =>
      none_due_before !== null &&
      job.workspace_id === workspace_id &&
      job.ordered &&
      job.due_at < none_due_before &&
      !finishes.some((lease) => holds(job, lease))
  )
  if (isPassed) return new Storage.VersionConflict({ kind: "workspace", id: workspace_id })
  const isTwice = (at: number) =>
    writes.slice(0, at).some(({ id, kind }) => writes[at]?.kind === kind && writes[at]?.id === id)
  // For a second write of a record, a version that no record has, because it must always conflict.
  const previous = writes.map(({ id, kind, version }, at) => ({ kind, id, version: isTwice(at) ? -1 : version - 1 }))
  return conflictOf(workspaceOf(state, workspace_id), [...expects, ...previous])
}

const commit = (state: State, change: Change.Change): Storage.LeaseLost | Storage.VersionConflict | null => {
  const refusal = refusalOf(state, change)
  if (refusal !== null) return refusal
  const { clock_offset_ms, finishes, workspace_id } = change
  const workspace = workspaceOf(state, workspace_id)
  for (const write of change.writes) {
    const { id, kind } = write
    const ofKind = workspace.records.get(kind) ?? new Map<string, Array<Change.StoredRecord>>()
    workspace.records.set(kind, ofKind)
    const older = kinds.byName(kind).keeps_history ? (ofKind.get(id) ?? []) : []
    ofKind.set(id, [...older, Change.record(write)])
  }
  for (const { about, body, id, occurred_at } of change.events) {
    workspace.events.push({ id, occurred_at, about, body, number: ++workspace.last_number })
  }
  state.jobs = state.jobs.filter((job) => !finishes.some((lease) => holds(job, lease)))
  for (const job of change.jobs) {
    state.jobs.push({ ...job, workspace_id, number: ++state.last_job, lease: 0, expired_leases: 0, leased_until: null })
  }
  if (clock_offset_ms !== null) workspace.clock_offset_ms = clock_offset_ms
  return null
}

const get = (state: State, { id, kind, version, workspace_id }: Storage.RecordKey) => {
  const versions = versionsOf(workspaceOf(state, workspace_id), kind, id)
  return version === undefined ? versions.at(-1) : versions.find((one) => one.version === version)
}

const isAbout = (ids: ReadonlyArray<string>, { about = [] }: Pick<Page.RecordQuery, "about">): boolean =>
  about.every((id) => ids.includes(id))

const matches = (record: Change.StoredRecord, query: Page.RecordQuery): boolean =>
  (query.status === undefined || record.status === query.status) &&
  (query.line === undefined || record.line === query.line) &&
  (query.labels ?? []).every((label) => record.labels.includes(label)) &&
  record.created_at >= (query.created_after ?? Number.NEGATIVE_INFINITY) &&
  record.created_at < (query.created_before ?? Number.POSITIVE_INFINITY) &&
  record.updated_at >= (query.updated_since ?? Number.NEGATIVE_INFINITY)

const page = (state: State, query: Page.RecordQuery): Page.RecordPage => {
  const { after, kind, limit, order, parent, workspace_id } = query
  const sign = order === "oldest" ? 1 : -1
  const list = newestOf(workspaceOf(state, workspace_id), kind)
    .filter((record) => parent === undefined || record.parent === parent)
    .filter((record) => isAbout(record.about, query))
    .filter(({ id }) => after === null || (id < after ? -1 : id > after ? 1 : 0) === sign)
    .toSorted((one, other) => sign * byId(one, other))
  const scanned = list.slice(0, Page.pageScanRecords)
  const found = scanned.filter((record) => matches(record, query))
  const records = found.slice(0, limit)
  if (found.length > limit) return { records, next: records.at(-1)?.id ?? after }
  return { records, next: scanned.length < list.length ? (scanned.at(-1)?.id ?? null) : null }
}

const feed = (state: State, query: Page.FeedQuery): Page.FeedPage => {
  const { after, limit, workspace_id } = query
  const { erased_through, events: all, last_number } = workspaceOf(state, workspace_id)
  const events = all.filter(({ about, number }) => number > after && isAbout(about, query)).slice(0, limit)
  const last = (events.length === limit ? events.at(-1)?.number : undefined) ?? last_number
  return { events, reached: Math.max(after, last ?? 0), erased_through }
}

const isUrgent = ({ lane }: Job.NewJob) => lane?.urgent === true

/**
 * Whether two jobs of a workspace are in the same queue: both ordered, or in the same lane. Other jobs are in no queue.
 */
const isQueuedWith = (one: StoredJob, other: StoredJob) =>
  one.workspace_id === other.workspace_id &&
  (one.ordered ? other.ordered : one.lane !== undefined && one.lane.name === other.lane?.name)

const claim = (
  state: State,
  { lease_ms, limit, now, workspace_id, ...query }: Storage.ClaimQuery
): Storage.JobClaim => {
  const ahead_ms = workspace_id === undefined ? undefined : query.ahead_ms
  const dueAt = (job: StoredJob) => job.due_at - workspaceOf(state, job.workspace_id).clock_offset_ms
  const isLeased = ({ leased_until }: StoredJob) => leased_until !== null && leased_until > now
  const scope = state.jobs
    .filter((job) => workspace_id === undefined || (job.ordered && job.workspace_id === workspace_id))
    .toSorted(
      (one, other) =>
        Number(isUrgent(other)) - Number(isUrgent(one)) || dueAt(one) - dueAt(other) || one.number - other.number
    )
  const taken: Array<StoredJob> = []
  const ahead = (job: StoredJob): boolean => {
    const queue = scope.filter((other) => isQueuedWith(job, other))
    if (!job.ordered) {
      const room = (job.lane?.limit ?? Number.POSITIVE_INFINITY) - queue.filter(isLeased).length
      return queue.filter((other) => taken.includes(other)).length < room
    }
    return !queue.some(isLeased) && (ahead_ms !== undefined || queue[0]?.due_at === job.due_at)
  }
  for (const job of scope) {
    if (taken.length === limit) break
    if (!isLeased(job) && dueAt(job) <= now + (ahead_ms ?? 0) && ahead(job)) taken.push(job)
  }
  for (const job of taken) {
    if (job.leased_until !== null) job.expired_leases += 1
    job.lease += 1
    job.leased_until = now + lease_ms
  }
  const freeAt = (job: StoredJob): number => {
    if (isLeased(job)) return job.leased_until ?? now
    const ends = scope.flatMap((other) =>
      isLeased(other) && isQueuedWith(job, other) ? [other.leased_until ?? now] : []
    )
    if (ends.length < (job.ordered ? 1 : (job.lane?.limit ?? Number.POSITIVE_INFINITY))) return dueAt(job)
    return Math.max(dueAt(job), job.ordered ? Math.max(...ends) : Math.min(...ends))
  }
  const later = scope.filter((job) => !taken.includes(job)).map(freeAt)
  return {
    jobs: taken.map(({ leased_until, ...job }) => job),
    next_due_at: later.length === 0 ? null : Math.min(...later),
    busy: workspace_id !== undefined && scope.some(isLeased)
  }
}

/** Drops records, and counts them by kind. */
const drop = (workspace: Workspace, records: ReadonlyArray<Change.StoredRecord>): Storage.Erased["records"] => {
  for (const { id, kind } of records) workspace.records.get(kind)?.delete(id)
  return Object.fromEntries([...Map.groupBy(records, ({ kind }) => kind)].map(([kind, all]) => [kind, all.length]))
}

const eraseWorkspace = (state: State, workspace: Workspace): Storage.Erased => {
  const jobs = state.jobs.filter((job) => job.workspace_id === workspace.id)
  const events = workspace.events.length
  state.jobs = state.jobs.filter((job) => !jobs.includes(job))
  workspace.events = []
  workspace.erased_through = workspace.last_number
  const gone = [...workspace.records.keys()].filter((kind) => !kinds.byName(kind).survives_reset)
  const records = drop(
    workspace,
    gone.flatMap((kind) => newestOf(workspace, kind))
  )
  return { records, events, jobs: jobs.length }
}

const erase = (state: State, erasure: Storage.Erasure): Storage.Erased | Storage.VersionConflict => {
  const workspace = workspaceOf(state, erasure.workspace_id)
  switch (erasure.what) {
    case "workspace":
      return conflictOf(workspace, erasure.expects ?? []) ?? eraseWorkspace(state, workspace)
    case "records": {
      const old = newestOf(workspace, erasure.kind)
        .filter(({ created_at }) => created_at < erasure.created_before)
        .toSorted((one, other) => one.created_at - other.created_at || byId(one, other))
        .slice(0, erasure.limit)
      const others = kinds.byName(erasure.kind).erases_children ? [...workspace.records.keys()] : []
      const children = others
        .flatMap((kind) => newestOf(workspace, kind))
        .filter(({ parent }) => old.some(({ id }) => id === parent))
      return { records: drop(workspace, [...old, ...children]), events: 0, jobs: 0 }
    }
    case "children": {
      const children = newestOf(workspace, erasure.kind).filter(({ parent }) => parent === erasure.parent)
      if (erasure.versions === "all") return { records: drop(workspace, children), events: 0, jobs: 0 }
      const older = children.map(({ id, kind }) =>
        workspace.records
          .get(kind)
          ?.get(id)
          ?.splice(0, versionsOf(workspace, kind, id).length - 1)
      )
      return { records: { [erasure.kind]: older.flat().length }, events: 0, jobs: 0 }
    }
    case "events": {
      const young = workspace.events.findIndex(({ occurred_at }) => occurred_at >= erasure.occurred_before)
      const gone = workspace.events.splice(0, Math.min(erasure.limit, young === -1 ? workspace.events.length : young))
      workspace.erased_through = gone.at(-1)?.number ?? workspace.erased_through
      return { records: {}, events: gone.length, jobs: 0 }
    }
  }
}

const rewrite = (workspace: Workspace, { before, body, id, kind, version }: Storage.Rewrite): boolean => {
  const versions = workspace.records.get(kind)?.get(id) ?? []
  const at = versions.findIndex((one) => one.version === version && one.body === before)
  const found = versions[at]
  if (found !== undefined) versions[at] = { ...found, body }
  return found !== undefined
}

const addCounts = (
  state: State,
  now: number,
  additions: ReadonlyArray<Storage.CountAddition>
): ReadonlyArray<number> => {
  state.counts = state.counts.filter(({ ends_at }) => ends_at > now)
  return additions.map(({ added, name, window_ms, window_start, workspace_id }) => {
    const key = `${workspace_id} ${window_start} ${window_ms} ${name}`
    const count = state.counts.find((one) => one.key === key) ?? { key, ends_at: window_start + window_ms, total: 0 }
    count.total += added
    if (count.ends_at > now && !state.counts.includes(count)) state.counts.push(count)
    return count.total
  })
}

const workspaces = (state: State, after: Ids.WorkspaceId | null, limit: number): ReadonlyArray<Ids.WorkspaceId> =>
  [...state.workspaces.values()]
    .filter(({ id }) => after === null || id > after)
    .filter(
      ({ events, id, records }) =>
        events.length > 0 ||
        [...records.values()].some(({ size }) => size > 0) ||
        state.jobs.some(({ workspace_id }) => workspace_id === id)
    )
    .toSorted(byId)
    .slice(0, limit)
    .map(({ id }) => id)

const layerOf = (state: State): Layer.Layer<Storage.Storage> =>
  Layer.sync(Storage.Storage, () => {
    const hints = new Hints.Hints()
    return {
      commit: (change) =>
        Effect.suspend(() => {
          Checks.change(change, kinds)
          const refusal = commit(state, change)
          return refusal === null ? hints.notify(Hints.hintsOf(change, kinds)) : Effect.fail(refusal)
        }),
      get: (key) => Effect.sync(() => Option.fromUndefinedOr(get(state, key))),
      page: (query) => Effect.sync(() => page(state, query)),
      feed: (query) => Effect.sync(() => feed(state, query)),
      claim: (query) => Effect.sync(() => claim(state, query)),
      lane: ({ lane, limit, workspace_id }) =>
        Effect.sync(() =>
          state.jobs
            .filter((job) => job.workspace_id === workspace_id)
            .filter((job) => (lane === undefined ? job.ordered || job.lane !== undefined : job.lane?.name === lane))
            .toSorted((one, other) => one.due_at - other.due_at || one.number - other.number)
            .slice(0, limit)
            .map(({ due_at, kind, lease, payload }) => ({ kind, due_at, payload, lease }))
        ),
      release: (leases) =>
        Effect.sync(() => {
          for (const job of state.jobs) if (leases.some((lease) => holds(job, lease))) job.leased_until = null
        }),
      erase: (erasure) =>
        Effect.suspend(() => {
          const erased = erase(state, erasure)
          if (erased instanceof Storage.VersionConflict) return Effect.fail(erased)
          const { what, workspace_id } = erasure
          return Effect.as(hints.notify(what === "workspace" ? [{ about: what, workspace_id }] : []), erased)
        }),
      rewrite: (workspaceId, rewrites) =>
        Effect.sync(() => rewrites.filter((one) => rewrite(workspaceOf(state, workspaceId), one)).length),
      addCounts: (now, additions) =>
        Effect.sync(() => {
          Checks.counts(additions)
          return addCounts(state, now, additions)
        }),
      watch: hints.watch,
      workspaces: (after, limit) => Effect.sync(() => workspaces(state, after, limit)),
      ready: Effect.void
    }
  })

const copyableOf = (state: State): Copyable => ({
  layer: layerOf(state),
  copy: () => copyableOf(structuredClone(state))
})

/** An empty storage, whose layer always holds the same data. */
export const copyable = (): Copyable => copyableOf({ workspaces: new Map(), jobs: [], last_job: 0, counts: [] })

import { Data, Effect, Option } from "effect"
import { kinds } from "../kinds.ts"
import type { Expectation, StoredRecord } from "../storage/Change.ts"
import type { Lease, NewJob } from "../storage/Job.ts"
import type { FeedQuery, RecordQuery } from "../storage/Page.ts"
import {
  type ClaimQuery,
  type LeaseLost,
  Storage,
  type StorageUnavailable,
  type VersionConflict
} from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { follow } from "./model/claims.ts"
import { type History, histories, type Step } from "./model/History.ts"
import { Model } from "./model/Model.ts"
import { expectSame, expectTrue } from "./storage/expect.ts"
import * as Sample from "./storage/samples.ts"
import type { StorageService } from "./storage/storageRule.ts"

export { type History, histories, type Step }

/** A step at which a storage backend and the model disagree. */
export class Difference extends Data.TaggedError("Difference")<{
  /** The step's index in its history; the length of the history for the comparison at the end. */
  readonly step: number
  readonly doing: string
  readonly message: string
}> {}

/** The state of a run. */
interface ModelRun {
  readonly storage: StorageService
  readonly model: Model
  /** All leases that were granted, newest last. */
  readonly leases: Array<Lease>
  now: number
  changes: number
}

type StepOf<Tag extends Step["_tag"]> = Extract<Step, { readonly _tag: Tag }>

const idOf = (kind: string, place: number) => `${kind}_${Sample.idBody(place)}`

/** Most records have a quote request as their parent; some have a quote, and some have no parent. */
const parentOf = (kind: string, place: number): string | null => {
  if (kind === "quote_request" || place === 5) return null
  return idOf(kind === "idempotency_record" ? "quote" : "quote_request", (place % 3) + 1)
}

/**
 * The IDs that a record or event is about, derived from one of its times. There are zero, one or two IDs, and two
 * records can have the same IDs in a different order.
 */
const aboutOf = (time: number): ReadonlyArray<string> => {
  const ids = [`parity_${time % 2}`, `third_${time % 3}`]
  return (time % 5 < 2 ? ids : ids.toReversed()).slice(0, time % 4)
}

/** Makes a version of the record with this index. Fields that all versions share depend only on the index. */
const recordOf = (write: StepOf<"commit">["writes"][number], stored: StoredRecord | undefined): StoredRecord => ({
  kind: write.kind,
  id: idOf(write.kind, write.place),
  version: (stored?.version ?? 0) + write.step,
  body: JSON.stringify(write),
  parent: parentOf(write.kind, write.place),
  status: write.status,
  line: write.place % 2 === 0 ? "renters" : "pet",
  labels: [`place:${write.place}`, `parity:${write.updated_at % 2}`],
  about: aboutOf(write.updated_at),
  // All versions of a quote have the `created_at` of its first version.
  created_at: write.kind === "quote" ? (write.place * 17) % 60 : write.created_at,
  updated_at: write.updated_at,
  expires_at: write.updated_at % 2 === 0 ? null : write.updated_at
})

const lanes = {
  narrow: { name: "narrow", limit: 1, urgent: false },
  wide: { name: "wide", limit: 3, urgent: false },
  urgent: { name: "urgent", limit: 2, urgent: true }
} as const

const jobOf = ({ due_at, ordered, lane }: StepOf<"commit">["jobs"][number], payload: string): NewJob =>
  Sample.job(due_at, { ordered, payload, ...(lane !== null && !ordered && { lane: lanes[lane] }) })

const leasesAt = (leases: ReadonlyArray<Lease>, fromNewest: ReadonlyArray<number>): ReadonlyArray<Lease> =>
  fromNewest.flatMap((place) => leases.at(-1 - place) ?? [])

/** The expectations of the change in a step, given what is stored now. */
const expectsOf = (
  model: Model,
  workspace_id: WorkspaceId,
  expects: StepOf<"commit">["expects"]
): ReadonlyArray<Expectation> =>
  expects.map(({ kind, place, step }) => {
    const id = idOf(kind, place)
    return { kind, id, version: Math.max(0, (model.newest(workspace_id, kind, id)?.version ?? 0) + step) }
  })

/** An error in the form that the model uses. */
const refusalOf = (error: VersionConflict | LeaseLost | StorageUnavailable) => {
  if (error._tag === "VersionConflict") return { _tag: error._tag, kind: error.kind, id: error.id }
  return error._tag === "LeaseLost" ? { _tag: error._tag, lease: error.lease } : { _tag: error._tag }
}

const commit = Effect.fnUntraced(function* (run: ModelRun, step: StepOf<"commit">) {
  const { model } = run
  const workspace_id = Sample.workspace(step.workspace)
  run.changes += 1
  const change = Sample.change({
    workspace_id,
    writes: step.writes.map((write) =>
      recordOf(write, model.newest(workspace_id, write.kind, idOf(write.kind, write.place)))
    ),
    expects: expectsOf(model, workspace_id, step.expects),
    events: step.events.map((occurredAt, index) =>
      Sample.event(run.changes * 10 + index, occurredAt, aboutOf(occurredAt))
    ),
    // Jobs are identified by payload, because a storage backend's own job numbers become known only by a claim.
    jobs: step.jobs.map((job, index) => jobOf(job, `"job ${run.changes}.${index}"`)),
    finishes: leasesAt(
      run.leases.filter((lease) => lease.workspace_id === workspace_id),
      step.finishes
    ),
    clock_offset_ms: step.forward_ms === null ? null : model.clockOffset(workspace_id) + step.forward_ms,
    none_due_before: step.none_due_before
  })
  const refusal = yield* Effect.match(run.storage.commit(change), { onFailure: refusalOf, onSuccess: () => null })
  expectSame("why the change is refused", refusal, model.refusal(change))
  if (refusal === null) model.commit(change)
})

const claim = Effect.fnUntraced(function* (run: ModelRun, query: ClaimQuery) {
  const claimed = yield* run.storage.claim(query)
  follow(run.model, query, claimed)
  run.leases.push(...claimed.jobs.map(Sample.leaseOf))
  return claimed.jobs
})

/** Reads a list to its end. Checks that every page except the last is full, as it must be below the scan limit. */
const pages = Effect.fnUntraced(function* (run: ModelRun, query: RecordQuery) {
  const expected = run.model.list(query)
  let after = query.after
  for (let first = 0; first === 0 || first < expected.length; first += query.limit) {
    const page = yield* run.storage.page({ ...query, after })
    expectSame("a page", page.records, expected.slice(first, first + query.limit))
    expectSame("the list continues", page.next !== null, first + query.limit < expected.length)
    after = page.next
  }
})

const queryOf = (step: StepOf<"pages">): RecordQuery => ({
  workspace_id: Sample.workspace(step.workspace),
  kind: step.kind,
  order: step.order,
  after: step.after === null ? null : idOf(step.kind, step.after),
  limit: step.limit,
  ...(step.parent === null ? {} : { parent: idOf("quote_request", step.parent) }),
  ...(step.status === null ? {} : { status: step.status }),
  ...(step.line === null ? {} : { line: step.line }),
  ...(step.parity === null ? {} : { labels: [`parity:${step.parity}`] }),
  ...(step.about === null ? {} : { about: step.about }),
  ...(step.created_after === null ? {} : { created_after: step.created_after }),
  ...(step.created_before === null ? {} : { created_before: step.created_before }),
  ...(step.updated_since === null ? {} : { updated_since: step.updated_since })
})

const feedQueryOf = (step: StepOf<"feed">): FeedQuery => ({
  workspace_id: Sample.workspace(step.workspace),
  after: step.after,
  limit: step.limit,
  ...(step.about === null ? {} : { about: step.about })
})

const feed = Effect.fnUntraced(function* (run: ModelRun, query: FeedQuery) {
  expectSame("the feed", yield* run.storage.feed(query), run.model.feed(query))
})

const erase = Effect.fnUntraced(function* (run: ModelRun, erasure: Parameters<StorageService["erase"]>[0]) {
  const refusal = run.model.erasureRefusal(erasure)
  if (refusal !== null) {
    const answer = yield* Effect.match(run.storage.erase(erasure), { onFailure: refusalOf, onSuccess: () => null })
    return expectSame("why the erasure is refused", answer, refusal)
  }
  const erased = yield* run.storage.erase(erasure)
  const records = Object.fromEntries(Object.entries(erased.records).filter(([, count]) => count > 0))
  expectSame("what was erased", { ...erased, records }, run.model.erase(erasure))
})

const rewrite = Effect.fnUntraced(function* (run: ModelRun, step: StepOf<"rewrite">) {
  const { kind, version } = step
  const workspace_id = Sample.workspace(step.workspace)
  const at = { kind, id: idOf(kind, step.place), version }
  const stored = run.model.get({ workspace_id, ...at })
  run.changes += 1
  const oldBody = step.is_stored && stored !== null ? stored.body : '"another"'
  const bodyRewrite = { ...at, before: oldBody, body: `{"rewritten":${run.changes}}` }
  expectSame(
    "what was rewritten",
    yield* run.storage.rewrite(workspace_id, [bodyRewrite]),
    run.model.rewrite(workspace_id, bodyRewrite)
  )
})

const eraseWorkspace = (run: ModelRun, { workspace, expects }: StepOf<"erase_workspace">) => {
  const workspace_id = Sample.workspace(workspace)
  return erase(run, { what: "workspace", workspace_id, expects: expectsOf(run.model, workspace_id, expects) })
}

/** A record to read; `version` is null for its newest version. */
interface RecordToGet {
  readonly workspace: number
  readonly kind: string
  readonly place: number
  readonly version: number | null
}

const get = Effect.fnUntraced(function* (run: ModelRun, { kind, place, version, workspace }: RecordToGet) {
  const name = { workspace_id: Sample.workspace(workspace), kind, id: idOf(kind, place) }
  const key = version === null ? name : { ...name, version }
  expectSame("a record", Option.getOrNull(yield* run.storage.get(key)), run.model.get(key))
})

const workspaces = Effect.fnUntraced(function* (run: ModelRun, after: number | null, limit: number) {
  const id = after === null ? null : Sample.workspace(after)
  const expected = run.model.workspaces().filter((other) => id === null || other > id)
  expectSame("the workspaces", yield* run.storage.workspaces(id, limit), expected.slice(0, limit))
})

const take = (run: ModelRun, step: Step): Effect.Effect<unknown, unknown> => {
  switch (step._tag) {
    case "commit":
      return commit(run, step)
    case "claim": {
      run.now += step.passed_ms
      const query = { now: run.now, lease_ms: step.lease_ms, limit: step.limit }
      if (step.workspace === null) return claim(run, query)
      const ahead = step.ahead_ms === null ? {} : { ahead_ms: step.ahead_ms }
      return claim(run, { ...query, ...ahead, workspace_id: Sample.workspace(step.workspace) })
    }
    case "release": {
      const leases = leasesAt(run.leases, step.leases)
      run.model.release(leases)
      return run.storage.release(leases)
    }
    case "get":
      return get(run, step)
    case "pages":
      return pages(run, queryOf(step))
    case "feed":
      return feed(run, feedQueryOf(step))
    case "erase_workspace":
      return eraseWorkspace(run, step)
    case "erase_records":
      return erase(run, { ...step, what: "records", workspace_id: Sample.workspace(step.workspace) })
    case "erase_children":
      return erase(run, {
        ...step,
        what: "children",
        workspace_id: Sample.workspace(step.workspace),
        parent: idOf(step.kind === "idempotency_record" ? "quote" : "quote_request", step.parent)
      })
    case "erase_events":
      return erase(run, { ...step, what: "events", workspace_id: Sample.workspace(step.workspace) })
    case "rewrite":
      return rewrite(run, step)
    case "workspaces":
      return workspaces(run, step.after, step.limit)
  }
}

/** Makes the effects that read all pages and versions of a kind. */
const readsOf = (run: ModelRun, workspace: number, kind: string) => {
  const query = { workspace_id: Sample.workspace(workspace), kind, after: null, limit: 2 }
  const gets = [1, 2, 3, 4, 5].flatMap((place) =>
    [null, 1, 2, 3].map((version) => get(run, { workspace, kind, place, version }))
  )
  return [pages(run, { ...query, order: "oldest" }), pages(run, { ...query, order: "newest" }), ...gets]
}

/** The comparison at the end: compares everything that is stored, and runs every job until none is left. */
const compareAll = Effect.fnUntraced(function* (run: ModelRun) {
  // The reads for a workspace run concurrently, because a storage backend may answer many reads with one statement.
  for (const workspace of [1, 2, 3]) {
    const reads = kinds.all.flatMap(({ name }) => readsOf(run, workspace, name))
    const whole = { workspace_id: Sample.workspace(workspace), after: 0, limit: 1_000 }
    yield* Effect.all([feed(run, whole), ...reads], { concurrency: 100, discard: true })
  }
  yield* workspaces(run, null, 10)
  run.now += 10_000
  for (let rounds = run.model.jobs.length; run.model.jobs.length > 0; rounds--) {
    expectTrue("every job is finished", rounds > 0)
    for (const { workspace_id, number, lease } of yield* claim(run, { now: run.now, lease_ms: 10, limit: 100 })) {
      const change = Sample.change({ workspace_id, finishes: [{ workspace_id, number, lease }] })
      yield* run.storage.commit(change)
      run.model.commit(change)
    }
  }
})

/** Runs a history on an empty storage and on the model, and fails at the first difference. */
export const compare: (history: History) => Effect.Effect<void, Difference, Storage> = Effect.fnUntraced(
  function* (history) {
    const run: ModelRun = { storage: yield* Storage, model: new Model(), leases: [], now: 0, changes: 0 }
    const located = (step: number, action: string) => (program: Effect.Effect<unknown, unknown>) => {
      const fail = (cause: unknown) =>
        Effect.fail(
          new Difference({ step, doing: action, message: cause instanceof Error ? cause.message : String(cause) })
        )
      return program.pipe(Effect.catchDefect(fail), Effect.catch(fail))
    }
    for (const [index, step] of history.entries()) yield* located(index, step._tag)(take(run, step))
    yield* located(history.length, "the end")(compareAll(run))
  }
)

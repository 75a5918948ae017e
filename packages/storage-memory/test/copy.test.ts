import { assert, describe, it } from "@effect/vitest"
import { Change, Ids, type Job, kinds, Storage } from "@quotewire/core"
import { StorageContract, StorageModel } from "@quotewire/core/testing"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Arbitrary, Context, Effect, Layer, Schema, type Scope } from "effect"

type StorageService = Context.Service.Shape<typeof Storage.Storage>

const serviceOf = (layer: Layer.Layer<Storage.Storage>) =>
  Effect.map(Layer.build(layer), (services) => Context.get(services, Storage.Storage))

/** A stored job that is not finished. */
interface OpenJob {
  readonly workspace_id: Ids.WorkspaceId
  readonly job: Job.NewJob
}

/** Records the calls to a storage backend, and calls `at` before the step with this index. */
const observed = (storage: StorageService, cut: number, at: Effect.Effect<void, unknown>) => {
  const open = new Map<string, OpenJob>()
  const offsets = new Map<Ids.WorkspaceId, number>()
  const workspaces = new Set<Ids.WorkspaceId>()
  const payloads = new Map<number, string>()
  const leases: Array<Job.Lease> = []
  let steps = 0
  const first = Effect.suspend(() => (steps++ === cut ? Effect.orDie(at) : Effect.void))
  const service: StorageService = {
    ...storage,
    commit: (change) =>
      Effect.andThen(first, storage.commit(change)).pipe(
        Effect.tap(() =>
          Effect.sync(() => {
            const { workspace_id } = change
            workspaces.add(workspace_id)
            for (const { number } of change.finishes) open.delete(payloads.get(number) ?? "")
            for (const job of change.jobs) open.set(job.payload, { workspace_id, job })
            if (change.clock_offset_ms !== null) offsets.set(workspace_id, change.clock_offset_ms)
          })
        )
      ),
    claim: (query) =>
      Effect.andThen(first, storage.claim(query)).pipe(
        Effect.tap(({ jobs }) =>
          Effect.sync(() => {
            for (const { lease, number, payload, workspace_id } of jobs) {
              payloads.set(number, payload)
              leases.push({ workspace_id, number, lease })
            }
          })
        )
      ),
    erase: (erasure) =>
      Effect.tap(storage.erase(erasure), () =>
        Effect.sync(() => {
          if (erasure.what !== "workspace") return
          for (const [payload, { workspace_id }] of open)
            if (workspace_id === erasure.workspace_id) open.delete(payload)
        })
      )
  }
  return { service, open, offsets, workspaces, leases }
}

/** Everything that can be read in these workspaces. */
const everythingIn = Effect.fnUntraced(function* (storage: StorageService, workspaces: Iterable<Ids.WorkspaceId>) {
  const found: Array<unknown> = [yield* storage.workspaces(null, 100)]
  for (const workspace_id of workspaces) {
    found.push(yield* storage.feed({ workspace_id, after: 0, limit: 1_000 }))
    for (const { name: kind } of kinds.all) {
      const query = { workspace_id, kind, after: null, limit: 1_000 }
      const { records } = yield* storage.page({ ...query, order: "oldest" })
      found.push(records, yield* storage.page({ ...query, order: "newest" }))
      for (const { id, version } of records) {
        for (let older = 1; older <= version; older++) {
          found.push(yield* storage.get({ workspace_id, kind, id, version: older }))
        }
      }
    }
  }
  return found
})

const laneOf = (workspaceId: string, { lane, ordered }: Pick<Job.NewJob, "lane" | "ordered">) =>
  `${workspaceId} ${lane === undefined ? ordered : JSON.stringify(lane)}`

/** The payloads of jobs by lane, in claim order. */
const byLane = (jobs: ReadonlyArray<readonly [lane: string, payload: string]>) =>
  Object.fromEntries(
    Array.from(
      Map.groupBy(jobs, ([lane]) => lane),
      ([lane, own]) => [lane, own.map(([, payload]) => payload)]
    )
  )

/** Claims and finishes every job, one after another. */
const runOut = Effect.fnUntraced(function* (storage: StorageService) {
  const done: Array<readonly [string, string]> = []
  while (true) {
    const { jobs } = yield* storage.claim({ now: 1_000_000, lease_ms: 1_000, limit: 1 })
    for (const job of jobs) {
      const { lease, number, payload, workspace_id } = job
      yield* storage.commit(Change.make(workspace_id, { finishes: [{ workspace_id, number, lease }] }))
      done.push([laneOf(workspace_id, job), payload])
    }
    if (jobs.length === 0) return byLane(done)
  }
})

describe("a copy of the in-memory storage", () => {
  it.effect.prop(
    "equals its original, but shares no later changes with the original",
    [StorageModel.histories, Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 })))],
    ([history, cut]) =>
      Effect.scoped(
        Effect.gen(function* () {
          const original = MemoryStorage.copyable()
          const storage = yield* serviceOf(original.layer)
          let atTheEnd: Effect.Effect<void, unknown, Scope.Scope> = Effect.void
          const seen = observed(
            storage,
            cut,
            Effect.suspend(() => Effect.scoped(compareCopies()))
          )
          const compareCopies = Effect.fnUntraced(function* () {
            const [kept, spent] = [original.copy(), original.copy()]
            const before = yield* everythingIn(storage, seen.workspaces)
            const open = [...seen.open.values()].toSorted((one, other) => one.job.due_at - other.job.due_at)
            // The copy knows what is due next, and rejects the original's leases.
            for (const workspaceId of seen.workspaces) {
              const due = open
                .filter((job) => job.workspace_id === workspaceId)
                .map(({ job }) => job.due_at - (seen.offsets.get(workspaceId) ?? 0))
              assert.strictEqual(spent.nextDueAt(workspaceId), due.length === 0 ? null : Math.min(...due))
            }
            const other = yield* serviceOf(spent.layer)
            for (const lease of seen.leases) {
              const change = Change.make(lease.workspace_id, { finishes: [lease] })
              assert.strictEqual((yield* Effect.flip(other.commit(change)))._tag, "LeaseLost")
            }
            // The original continues, and the model would notice if a change to the copy affected it.
            const expected = byLane(open.map(({ job, workspace_id }) => [laneOf(workspace_id, job), job.payload]))
            assert.deepStrictEqual(yield* runOut(other), expected)
            for (const workspace_id of seen.workspaces) yield* other.erase({ what: "workspace", workspace_id })
            const workspaces = [...seen.workspaces]
            atTheEnd = Effect.gen(function* () {
              const unchanged = yield* serviceOf(kept.layer)
              assert.deepStrictEqual(yield* everythingIn(unchanged, workspaces), before)
              assert.deepStrictEqual(yield* runOut(unchanged), expected)
            })
          })
          yield* Effect.provideService(StorageModel.compare(history), Storage.Storage, seen.service)
          yield* Effect.scoped(atTheEnd)
        })
      ),
    { arbitrary: { runs: 200, size: 100 } }
  )

  it.effect("starts from its original's counts, and then counts separately", () =>
    Effect.gen(function* () {
      const original = MemoryStorage.copyable()
      const storage = yield* serviceOf(original.layer)
      const workspace_id = Ids.WorkspaceId.make(`wks_${"1".padStart(26, "0")}`)
      const tally = { workspace_id, name: "calls", window_start: 0, window_ms: 60_000, added: 2 }
      yield* storage.addCounts(0, [tally])
      const copy = yield* serviceOf(original.copy().layer)
      assert.deepStrictEqual(yield* copy.addCounts(0, [tally]), [4])
      assert.deepStrictEqual(yield* storage.addCounts(0, [{ ...tally, added: 1 }]), [3])
    })
  )
})

describe("a copied in-memory storage", () => {
  const layer = Layer.suspend(() => MemoryStorage.copyable().copy().layer)
  for (const { name, needs, run } of StorageContract.cases) {
    it.effect.skipIf(needs !== undefined && needs !== "backlog")(name, () => run.pipe(Effect.provide(layer)))
  }
})

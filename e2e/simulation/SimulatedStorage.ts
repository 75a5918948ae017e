import { type Change, Hints, type Job, Storage } from "@quotewire/core"
import { Effect, Exit, Layer, type Scope } from "effect"
import * as Claimer from "../../packages/storage-pg/src/jobs/Claimer.ts"
import { DueWork } from "../../packages/storage-pg/src/jobs/DueWork.ts"
import type * as Chance from "../chaos/Chance.ts"
import * as Hearing from "./Hearing.ts"
import type { Ledger } from "./Ledger.ts"
import type { Machine, Process } from "./Machine.ts"
import type { HintFault, StorageFault } from "./Story.ts"

/*
 * The shared storage as hosts see it. Each call travels to it, and its response travels back, as steps of the machine:
 * a host can die or pause in between, and faults can lose either.
 */

/** The current faults of storage. */
export interface StorageWeather {
  /** The fault that affects this host now; null if none does. */
  readonly fault: (host: number) => StorageFault | null
  /** Whether no host, storage or hint has failed lately. */
  readonly isCalm: () => boolean
  /** What happens to the hints for this host now. */
  readonly hints: (host: number) => HintFault | null
}

/** What is needed to open a storage backend. */
export interface StorageParts {
  readonly chance: Chance.Chance
  readonly ledger: Ledger
  readonly machine: Machine
  readonly weather: StorageWeather
  /** Called with every change at the moment when it is stored. */
  readonly see: (change: Stored) => void
}

/** What is observed of a stored change. */
export interface Stored {
  readonly workspace_id: Change.Change["workspace_id"]
  readonly events: ReadonlyArray<Pick<Change.NewEvent, "id">>
  readonly writes: ReadonlyArray<Pick<Change.StoredRecord, "kind" | "id" | "body">>
}

/** The storage that the hosts of a story share. Each host opens it in its own process. */
export type Shared = (process: Process, host: number) => Layer.Layer<Storage.Storage, Storage.StorageUnavailable>

/** Opens a storage backend for one story. */
export type Open = (parts: StorageParts) => Shared

export type Operation =
  | "commit"
  | "get"
  | "page"
  | "feed"
  | "claim"
  | "lane"
  | "release"
  | "erase"
  | "rewrite"
  | "addCounts"
  | "other"

const writing: ReadonlySet<Operation> = new Set(["commit", "claim", "release", "erase", "rewrite", "addCounts"])
/** A full disk accepts no new rows. Claims only change existing ones. */
const growing: ReadonlySet<Operation> = new Set(["commit", "addCounts"])

const unavailable = new Storage.StorageUnavailable({ retry_after_seconds: 1 })

/** Where a fault loses a call. */
type Loss = "before" | "after" | null

const lossOf = (fault: StorageFault | null, operation: Operation, chance: Chance.Chance): Loss => {
  switch (fault) {
    case "is down":
      return "before"
    case "is read-only":
      return writing.has(operation) ? "before" : null
    case "is full":
      return growing.has(operation) ? "before" : null
    case "loses statements":
      return chance.next() < 0.3 ? "before" : null
    case "loses responses":
      return chance.next() < 0.3 ? "after" : null
    default:
      return null
  }
}

/** Records each stored change in the ledger at the moment it is stored. */
export const witness = ({ ledger, machine, see }: StorageParts, stored: Stored): void => {
  for (const { id } of stored.events) {
    ledger.committed.push({ workspace_id: stored.workspace_id, id, at: machine.now(), step: machine.steps() })
  }
  see(stored)
}

/** Records why storage refused a change, and which of the host's data was outdated. */
export const noteRefusal = (
  { reached }: Ledger,
  process: Process,
  refusal: Storage.VersionConflict | Storage.LeaseLost | Storage.StorageUnavailable
): void => {
  if (refusal._tag === "StorageUnavailable") return
  reached.add(`storage: ${refusal._tag}`)
  if (refusal._tag === "LeaseLost" && process.wasPaused()) reached.add("outdated: a lease, in a pause")
  if (refusal._tag === "VersionConflict" && refusal.kind === "workspace") reached.add("outdated: a cached workspace")
  if (refusal._tag === "VersionConflict" && refusal.kind === "recipients") reached.add("outdated: cached subscriptions")
}

/** Sends a call to the shared service, and waits for its response. */
export type Through = <A, E>(
  operation: Operation,
  call: Effect.Effect<A, E>
) => Effect.Effect<A, E | Storage.StorageUnavailable>

/**
 * A host's connection to what hosts share. The host gives up on a call that gets no response in time, but the call
 * continues on the other side.
 */
export const wayOf =
  (
    process: Process,
    host: number,
    { chance, ledger, machine, weather }: StorageParts,
    { patience_ms }: { readonly patience_ms?: number } = {}
  ): Through =>
  <A, E>(operation: Operation, call: Effect.Effect<A, E>) =>
    Effect.callback<A, E | Storage.StorageUnavailable>((resume) => {
      const fault = weather.fault(host)
      const travel = () => (fault === "is slow" ? 1_000 + chance.below(7_000) : chance.below(4))
      const loss = lossOf(fault, operation, chance)
      if (fault !== null) ledger.reached.add(`fault: storage ${fault}`)
      const stopWaiting =
        patience_ms === undefined ? () => {} : machine.later(patience_ms, process, () => resume(Exit.fail(unavailable)))
      const answer = (exit: Exit.Exit<A, E | Storage.StorageUnavailable>) =>
        machine.later(travel(), process, () => {
          stopWaiting()
          resume(exit)
        })
      machine.later(travel(), null, () => {
        if (loss === "before") return answer(Exit.fail(unavailable))
        const exit = Effect.runSyncExit(call)
        answer(loss === "after" ? Exit.fail(unavailable) : exit)
      })
    })

/** A hint on its way to a host. */
export const passHint = (
  process: Process,
  host: number,
  { chance, ledger, machine, weather }: StorageParts,
  deliver: () => void
): void => {
  const fault = weather.hints(host)
  if (fault !== null) ledger.reached.add(`fault: hints ${fault}`)
  if (fault === "lost" || fault === "cut") return
  machine.later(fault === "late" ? chance.below(20_000) : chance.below(4), process, deliver)
}

/** Checks who holds which job: only the latest lease may finish it, and only once. */
export interface Fence {
  readonly claimed: (leases: ReadonlyArray<Job.Lease>) => void
  readonly released: (leases: ReadonlyArray<Job.Lease>) => void
  readonly finished: (leases: ReadonlyArray<Job.Lease>) => void
}

/** A fence that records in the ledger every wrong use of a lease. */
export const makeFence = ({ ledger }: StorageParts): Fence => {
  const newest = new Map<string, number>()
  const nameOf = ({ number, workspace_id }: Job.Lease) => `${workspace_id} ${number}`
  return {
    claimed: (leases) => {
      for (const lease of leases) newest.set(nameOf(lease), lease.lease)
    },
    released: (leases) => {
      for (const lease of leases) if (newest.get(nameOf(lease)) === lease.lease) newest.delete(nameOf(lease))
    },
    finished: (leases) => {
      for (const lease of leases) {
        if (newest.get(nameOf(lease)) !== lease.lease) {
          ledger.wrong.push(`A job was finished with lease ${lease.lease}, which had ended`)
        }
        newest.delete(nameOf(lease))
      }
    }
  }
}

/**
 * Shares a storage backend whose calls return immediately. Hosts that hear answer claims themselves as long as nothing
 * is due, as on PostgreSQL.
 */
export const share =
  (shared: Storage.Storage["Service"], { hears }: { readonly hears: boolean }): Open =>
  (parts) => {
    const fence = makeFence(parts)
    return (process, host) => {
      const storage = ofHost(shared, fence, process, host, parts)
      return Layer.effect(
        Storage.Storage,
        hears ? hearing(shared, storage, process, host, parts) : Effect.succeed(storage)
      )
    }
  }

/** A claim at time 0 takes no jobs. */
const nothing: Storage.ClaimQuery = { now: 0, lease_ms: 1, limit: 1 }

/** The storage of a host that claims only if there may be due work. */
const hearing = Effect.fnUntraced(function* (
  shared: Storage.Storage["Service"],
  storage: Storage.Storage["Service"],
  process: Process,
  host: number,
  parts: StorageParts
): Effect.fn.Return<Storage.Storage["Service"], never, Scope.Scope> {
  const due = new DueWork()
  const hints = new Hints.Hints()
  yield* hints.watch(({ about }) => {
    if (about !== "record") due.hint()
  })
  yield* storage.watch((hint) => Effect.runSync(hints.notify([hint])))
  const nextDue = Effect.map(shared.claim(nothing), ({ next_due_at }) => next_due_at)
  const through = wayOf(process, host, parts)
  yield* Hearing.listen(parts, host, { ...due.newsFromHere(), notify: hints.notify }, through("other", nextDue))
  const { asked, watching } = Hearing.watch(parts, process, () => Effect.runSync(nextDue))
  const claim = yield* Claimer.make((query) => {
    if (query.workspace_id === undefined) asked()
    return storage.claim(query)
  }, due)
  const hinting = Effect.sync(due.hint)
  return {
    ...storage,
    claim: watching(claim),
    commit: (change) => Effect.tapErrorTag(storage.commit(change), "StorageUnavailable", () => hinting),
    release: (leases) => Effect.ensuring(storage.release(leases), hinting),
    watch: hints.watch
  }
})

const ofHost = (
  shared: Storage.Storage["Service"],
  fence: Fence,
  process: Process,
  host: number,
  parts: StorageParts
): Storage.Storage["Service"] => {
  const through = wayOf(process, host, parts)
  const commit: typeof shared.commit = (change) =>
    shared.commit(change).pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          fence.finished(change.finishes)
          witness(parts, change)
        })
      ),
      Effect.tapError((refusal) => Effect.sync(() => noteRefusal(parts.ledger, process, refusal)))
    )
  return {
    ...shared,
    commit: (change) => through("commit", commit(change)),
    get: (key) => through("get", shared.get(key)),
    page: (query) => through("page", shared.page(query)),
    feed: (query) => through("feed", shared.feed(query)),
    claim: (query) =>
      through(
        "claim",
        Effect.tap(shared.claim(query), ({ jobs }) => Effect.sync(() => fence.claimed(jobs)))
      ),
    lane: (query) => through("lane", shared.lane(query)),
    release: (leases) =>
      through(
        "release",
        Effect.tap(shared.release(leases), () => Effect.sync(() => fence.released(leases)))
      ),
    erase: (erasure) => through("erase", shared.erase(erasure)),
    rewrite: (workspaceId, rewrites) => through("rewrite", shared.rewrite(workspaceId, rewrites)),
    addCounts: (now, additions) => through("addCounts", shared.addCounts(now, additions)),
    workspaces: (after, limit) => through("other", shared.workspaces(after, limit)),
    ready: through("other", shared.ready),
    watch: (listener) => shared.watch((hint) => passHint(process, host, parts, () => listener(hint)))
  }
}

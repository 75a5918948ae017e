import { Clock, Context, Effect, Layer } from "effect"
import { Workspaces } from "../access/Workspaces.ts"
import * as Supervise from "../concurrency/Supervise.ts"
import type { Kinds } from "../storage/Kind.ts"
import {
  directoryWorkspace,
  type Erasure,
  Storage,
  type StorageCell,
  type StorageUnavailable
} from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { dayMs, minuteMs } from "../wire/Timestamp.ts"
import { RetentionPeriods } from "./RetentionPeriods.ts"

export { type Periods, RetentionPeriods } from "./RetentionPeriods.ts"

const batch = 1_000
const everyMs = minuteMs
/** Each workspace is swept once an hour, in one of this many one-minute slots. */
const slotsPerHour = 60
/** Records that are kept only for minutes are swept once in this many slots. */
const briefSlots = 15

/**
 * The minute of the hour in which a workspace is swept. The ID decides the minute, so that workspaces are spread evenly
 * over the hour.
 */
const slotOf = (id: WorkspaceId): number =>
  Array.from(id, (letter) => letter.charCodeAt(0)).reduce((hash, code) => (31 * hash + code) % slotsPerHour, 0)

/**
 * Makes a function that sweeps a slot, for a storage backend or one of its cells. A slot that was missed because the
 * storage or cell was unavailable is swept together with the next slot.
 */
const makeSweepSlot = <E>(
  list: StorageCell["workspaces"],
  sweep: Sweep<E>
): ((slot: number) => Effect.Effect<void, E | StorageUnavailable>) => {
  const missed = new Set<number>()
  return Effect.fnUntraced(function* (slot: number) {
    missed.add(slot)
    const slots = new Set(missed)
    const brief = new Set([...missed].map((missedSlot) => missedSlot % briefSlots))
    let after: WorkspaceId | null = null
    do {
      const workspaceIds: ReadonlyArray<WorkspaceId> = yield* list(after, 100)
      yield* Effect.forEach(
        workspaceIds.filter((id) => brief.has(slotOf(id) % briefSlots)),
        (id) => sweep(id, slots.has(slotOf(id)) ? "everything" : "brief"),
        { discard: true }
      )
      after = workspaceIds.at(-1) ?? null
    } while (after !== null)
    for (const swept of slots) missed.delete(swept)
  })
}

const logUnavailable = (cell: string | null) =>
  cell === null
    ? Effect.logWarning("Storage is unreachable; no expired records were erased")
    : Effect.annotateLogs(Effect.logWarning("A cell is unreachable; its expired records are erased later"), { cell })

/** Erases what is older than its retention period, in small batches. */
export class Retention extends Context.Service<
  Retention,
  {
    /** Erases everything in a workspace, or in the directory, that is older than its retention period. */
    readonly sweep: (workspace_id: WorkspaceId) => Effect.Effect<void, StorageUnavailable>
    /**
     * Sweeps every workspace once an hour, forever. Each minute, one host sweeps some of the workspaces. Records that
     * are kept only for minutes are swept four times an hour.
     */
    readonly forever: Effect.Effect<never>
  }
>()("@quotewire/core/Retention") {
  static readonly layer = (kinds: Kinds): Layer.Layer<Retention, never, Storage | Workspaces> =>
    Layer.effect(
      Retention,
      Effect.gen(function* () {
        const sweep = yield* makeSweep(kinds)
        const forever = yield* makeForever(sweep)
        return Retention.of({ sweep: (workspace_id) => sweep(workspace_id, "everything"), forever })
      })
    )

  /** Sweeps all workspaces, as long as the layer exists. */
  static readonly layerForever: Layer.Layer<never, never, Retention> = Layer.effectDiscard(
    Retention.use((retention) => Effect.forkScoped(retention.forever))
  )
}

/**
 * Which records to erase: everything that is older than its retention period, or only records that are kept for
 * minutes.
 */
type SweepTarget = "everything" | "brief"

type Sweep<E> = (workspace_id: WorkspaceId, what: SweepTarget) => Effect.Effect<void, E>

/** Makes a function that sweeps one workspace, or the directory. */
const makeSweep = Effect.fnUntraced(function* (
  kinds: Kinds
): Effect.fn.Return<Sweep<StorageUnavailable>, never, Storage | Workspaces> {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const periods = yield* RetentionPeriods

  // Erasing old records has no expectations, so it cannot conflict.
  const erase = (erasure: Erasure) =>
    Effect.catchTag(storage.erase(erasure), "VersionConflict", (conflict) => Effect.die(conflict))

  const sweepKind = Effect.fnUntraced(function* (workspace_id: WorkspaceId, kind: string, created_before: number) {
    while (true) {
      const erased = yield* erase({ what: "records", workspace_id, kind, created_before, limit: batch })
      if ((erased.records[kind] ?? 0) < batch) return
    }
  })

  const sweepEvents = Effect.fnUntraced(function* (workspace_id: WorkspaceId, occurred_before: number) {
    while (true) {
      const erased = yield* erase({ what: "events", workspace_id, occurred_before, limit: batch })
      if (erased.events < batch) return
    }
  })

  return Effect.fnUntraced(function* (workspace_id: WorkspaceId, target: SweepTarget) {
    const realNow = yield* Clock.currentTimeMillis
    // The directory has neither a clock nor a feed.
    const isDirectory = workspace_id === directoryWorkspace
    const now = isDirectory ? realNow : (yield* workspaces.moment(workspace_id)).now
    if (!isDirectory && target === "everything") yield* sweepEvents(workspace_id, now - periods.events_days * dayMs)
    for (const { kept_for, name } of kinds.all) {
      if (kept_for === null || (target === "brief" && "period" in kept_for)) continue
      const time = kept_for.clock === "real" ? realNow : now
      const keptMs = "minutes" in kept_for ? kept_for.minutes * minuteMs : periods[`${kept_for.period}_days`] * dayMs
      yield* sweepKind(workspace_id, name, time - keptMs)
    }
  })
})

/** Makes the loop that sweeps all workspaces every hour. */
const makeForever = Effect.fnUntraced(function* (sweep: Sweep<StorageUnavailable>) {
  const storage = yield* Storage

  /**
   * Sweeps a workspace. Logs a defect, so that it does not stop the sweep of other workspaces. Fails only if storage is
   * unavailable.
   */
  const sweepLogged = (workspace_id: WorkspaceId, target: SweepTarget) =>
    Effect.catchDefect(sweep(workspace_id, target), (defect) =>
      Effect.annotateLogs(Effect.logWarning("Could not erase expired records", defect), { workspace_id })
    )

  const parts =
    storage.cells === undefined
      ? [{ cell: null, sweepSlot: makeSweepSlot(storage.workspaces, sweepLogged) }]
      : storage.cells.map((cell) => ({ cell: cell.name, sweepSlot: makeSweepSlot(cell.workspaces, sweepLogged) }))

  /** Whether this host is the first to begin this minute's sweep. */
  const claimsThisMinute = (now: number) => {
    const window = { window_start: now - (now % everyMs), window_ms: everyMs }
    const addition = { workspace_id: directoryWorkspace, name: "retention", ...window, added: 1 }
    return Effect.map(storage.addCounts(now, [addition]), ([hosts = 1]) => hosts === 1)
  }

  const round = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (!(yield* claimsThisMinute(now))) return
    const slot = Math.floor(now / everyMs) % slotsPerHour
    const sweepOne = ({ cell, sweepSlot }: (typeof parts)[number]) =>
      Effect.catchTag(sweepSlot(slot), "StorageUnavailable", () => logUnavailable(cell))
    yield* Effect.forEach(parts, sweepOne, { concurrency: "unbounded", discard: true })
  }).pipe(Effect.catchTag("StorageUnavailable", () => logUnavailable(null)))
  const nextMinute = Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.sleep(everyMs - (now % everyMs)))
  return Supervise.repeatForever("Retention", Effect.andThen(round, nextMinute), everyMs)
})

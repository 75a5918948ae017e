import { Clock, Context, Effect, Layer, Option } from "effect"
import { type Periods, RetentionPeriods } from "../runner/RetentionPeriods.ts"
import * as CellReadiness from "../storage/CellReadiness.ts"
import {
  type Backlog,
  Storage,
  type StorageCell,
  type StorageProcess,
  type StorageUnavailable
} from "../storage/Storage.ts"

/** Whether a service's due jobs run in time, and how long the service keeps data. */
export interface WorkReport {
  /** When the oldest unclaimed job is due, in milliseconds of real time; null if no job is waiting. */
  readonly next_due_at: number | null
  /** How long the oldest unclaimed job has been due, in milliseconds; 0 if it is not due yet. */
  readonly waits_ms: number
  /** How many jobs are due and unclaimed, by kind; null if the storage cannot count them. */
  readonly backlog: ReadonlyArray<Backlog> | null
  readonly retention: Periods
  /** The processes that are connected to the storage; null if the storage cannot list them. */
  readonly processes: ReadonlyArray<StorageProcess> | null
  /** The storage's cells; empty if the storage is not divided into cells. */
  readonly cells: ReadonlyArray<CellReadiness.CellReadiness & { readonly moving: boolean }>
}

/** The maximum number of due jobs that are counted in each cell. */
export const maxCounted = 10_000

/** Tells operators about due work, cells and retention. */
export class WorkReports extends Context.Service<
  WorkReports,
  {
    /** Reads the current state, and changes nothing. */
    readonly read: Effect.Effect<WorkReport, StorageUnavailable>
  }
>()("@quotewire/core/WorkReports") {
  static readonly layer: Layer.Layer<WorkReports, never, Storage> = Layer.effect(
    WorkReports,
    Effect.gen(function* () {
      const storage = yield* Storage
      const retention = yield* RetentionPeriods

      const read = Effect.gen(function* () {
        // A claim at time 0 gets no jobs, but its result tells when the next job is due.
        const { next_due_at } = yield* storage.claim({ now: 0, lease_ms: 1, limit: 1 })
        const processes = storage.processes === undefined ? null : yield* storage.processes
        const ready = yield* CellReadiness.ask(storage.cells ?? [])
        const moving = yield* movesOf(storage.cells ?? [])
        const cells = ready.map((cell) => ({ ...cell, moving: moving.has(cell.name) }))
        const now = yield* Clock.currentTimeMillis
        const backlog = storage.backlog === undefined ? null : yield* storage.backlog({ now, limit: maxCounted })
        const waits_ms = next_due_at === null ? 0 : Math.max(0, now - next_due_at)
        return { next_due_at, waits_ms, backlog, processes, retention, cells } satisfies WorkReport
      }).pipe(Effect.withSpan("WorkReports.read"))

      return WorkReports.of({ read })
    })
  )
}

/** The names of the cells that are being moved. If a cell does not respond within a second, it is left out. */
const movesOf = (cells: ReadonlyArray<StorageCell>): Effect.Effect<ReadonlySet<string>> =>
  Effect.filter(
    cells,
    ({ moving = Effect.succeed(false) }) =>
      Effect.map(
        Effect.timeoutOption(
          Effect.orElseSucceed(moving, () => false),
          "1 second"
        ),
        Option.getOrElse(() => false)
      ),
    { concurrency: "unbounded" }
  ).pipe(Effect.map((moves) => new Set(moves.map(({ name }) => name))))

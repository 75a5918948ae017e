import { Metrics } from "@quotewire/http"
import { Effect, Semaphore } from "effect"
import * as MergedMetrics from "./MergedMetrics.ts"
import type { WorkerProcess } from "./WorkerProcess.ts"
import type { Settings } from "./Workers.ts"

/** How long a worker may take to report its metrics, in milliseconds. */
const longestAnswerMs = 1_000

/** Collects the metrics of all workers, and keeps the totals of workers that have ended. */
export interface CollectedMetrics {
  /** Adds a worker whose metrics are collected. */
  readonly onReady: Settings["onReady"]
  /** Keeps the totals of a worker that has ended. */
  readonly onEnded: Settings["onEnded"]
  /**
   * The merged metrics of the workers and this process, in the Prometheus text format.
   *
   * If a worker does not respond within a second, only the totals in its last report are used.
   */
  readonly text: Effect.Effect<string>
}

/** Creates a collector that has no workers yet. */
export const make = (): CollectedMetrics => {
  const oneAtATime = Semaphore.makeUnsafe(1)
  const serving = new Set<WorkerProcess>()
  let past: MergedMetrics.Families = new Map()
  let replaced = 0

  const textOf = (workers: ReadonlyArray<WorkerProcess>, answered: ReadonlySet<WorkerProcess>): string => {
    const reports = workers.map((worker) =>
      answered.has(worker) ? worker.reported() : MergedMetrics.totals(worker.reported())
    )
    const heard = workers.filter((worker) => answered.has(worker)).length
    const primaryMetrics = MergedMetrics.read(Metrics.processText())
    return MergedMetrics.write(
      MergedMetrics.merge([...reports, past, primaryMetrics, ...counts(heard, workers.length - heard, replaced)])
    )
  }

  return {
    onReady: (worker) => void serving.add(worker),
    onEnded: (worker, isUnexpected) => {
      serving.delete(worker)
      past = MergedMetrics.totals(MergedMetrics.merge([past, worker.reported()]))
      if (isUnexpected) replaced += 1
    },
    text: oneAtATime.withPermit(
      Effect.gen(function* () {
        const askedWorkers = Array.from(serving)
        const answered = new Set<WorkerProcess>()
        const ask = (worker: WorkerProcess) =>
          Effect.tap(worker.metrics, () => Effect.sync(() => answered.add(worker))).pipe(
            Effect.raceFirst(worker.ended),
            Effect.timeoutOption(longestAnswerMs)
          )
        yield* Effect.forEach(askedWorkers, ask, { concurrency: "unbounded", discard: true })
        // If a worker ended while the others responded, the totals already contain its counts.
        return textOf(
          askedWorkers.filter((worker) => serving.has(worker)),
          answered
        )
      })
    )
  }
}

/** Metrics that count the processes behind the merged metrics. */
const counts = (heard: number, silent: number, replaced: number): ReadonlyArray<MergedMetrics.Families> => [
  MergedMetrics.single("quotewire_processes", "gauge", "Workers whose metrics are in this response.", heard),
  MergedMetrics.single("quotewire_processes_silent", "gauge", "Workers that have not reported their metrics.", silent),
  MergedMetrics.single("quotewire_processes_replaced_total", "counter", "Workers that ended unexpectedly.", replaced)
]

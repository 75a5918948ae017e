import { Effect, Option } from "effect"
import type { StorageCell } from "./Storage.ts"

/** Whether this process can use a cell of the storage. */
export interface CellReadiness {
  readonly name: string
  /** Whether calls for the cell's workspaces can be handled now. */
  readonly ready: boolean
}

/** How long a cell may take to report that it is ready, in milliseconds. */
const answerMs = 1_000

/** Checks all cells concurrently. A cell that does not respond within a second is not ready. */
export const ask = (cells: ReadonlyArray<StorageCell>): Effect.Effect<ReadonlyArray<CellReadiness>> =>
  Effect.forEach(
    cells,
    ({ name, ready }) =>
      Effect.map(Effect.timeoutOption(Effect.isSuccess(ready), answerMs), (answer) => ({
        name,
        ready: Option.getOrElse(answer, () => false)
      })),
    { concurrency: "unbounded" }
  )

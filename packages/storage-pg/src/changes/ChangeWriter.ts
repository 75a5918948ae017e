import { Batcher, Change, type Storage } from "@quotewire/core"
import { Effect, Exit, type Scope } from "effect"
import { unavailable } from "../connection/StatementRefused.ts"
import type { Database } from "../database/Database.ts"
import { type CommitResult, parameters, resultsOf, statement } from "./commit.ts"

/** The maximum number of changes in one statement, and roughly the maximum number of bytes. */
const maxBatch = 200
const maxBatchBytes = 4_000_000
/** The maximum number of changes that wait in each queue. */
const maxWaiting = 5_000

/**
 * The keys that a change locks. Because of these locks, no two changes in a statement write the same record, finish the
 * same job or move the same clock, and no change expects a record that another change writes. The result is then the
 * same as storing the changes one after another.
 */
const locksOf = ({ workspace_id, writes, finishes, clock_offset_ms, expects }: Change.Change): Batcher.Locks => ({
  exclusive: [
    ...writes.map(({ kind, id }) => `${workspace_id} ${kind} ${id}`),
    ...finishes.map((lease) => `${lease.workspace_id} job ${lease.number}`),
    ...(clock_offset_ms === null ? [] : [`${workspace_id} clock`])
  ],
  shared: expects.map(({ kind, id }) => `${workspace_id} ${kind} ${id}`)
})

/** Assigns workspaces to queues. The changes of one workspace always use the same queue. */
const queueOf =
  (queues: number) =>
  ({ workspace_id }: Change.Change): string => {
    let sum = 0
    for (let index = 0; index < workspace_id.length; index++) sum = (sum * 31 + workspace_id.charCodeAt(index)) >>> 0
    return `${sum % queues}`
  }

/** Options of a writer. */
export interface Options {
  /** How many statements may write concurrently. */
  readonly queues: number
  /** Runs after each change that was stored, even if its caller no longer waits. */
  readonly stored: (change: Change.Change) => Effect.Effect<void>
}

/** Creates a writer of changes. Changes that arrive while others are being written share the next statement. */
export const make = (
  database: Database,
  { queues, stored }: Options
): Effect.Effect<Storage.Storage["Service"]["commit"], never, Scope.Scope> => {
  const write = (batch: ReadonlyArray<Change.Change>) =>
    Effect.gen(function* () {
      const results = resultsOf(batch, yield* database.write(statement, parameters(batch)))
      for (const [place, change] of batch.entries()) {
        if (results[place]?._tag === "Success") yield* stored(change)
      }
      return results
    })

  const writeOne = (change: Change.Change): Effect.Effect<CommitResult, Storage.StorageUnavailable> =>
    write([change]).pipe(
      Effect.map(([outcome]) => outcome ?? Exit.void),
      Effect.catchDefect((defect) => Effect.succeed(Exit.die(defect)))
    )

  /**
   * Writes changes one by one. Stops as soon as the storage is unavailable. Otherwise each change in turn would wait
   * for the storage.
   */
  const writeOneByOne = (batch: ReadonlyArray<Change.Change>): Effect.Effect<ReadonlyArray<CommitResult>> =>
    Effect.suspend(() => {
      let failure: CommitResult | null = null
      return Effect.forEach(batch, (change) =>
        failure !== null
          ? Effect.succeed(failure)
          : Effect.catchTag(writeOne(change), "StorageUnavailable", (error) => {
              failure = Exit.fail(error)
              return Effect.succeed(failure)
            })
      )
    })

  return Batcher.make({
    // If PostgreSQL refuses the statement, it stores none of the changes. Writing them one by one isolates the change
    // that causes the refusal.
    send: (batch: ReadonlyArray<Change.Change>) => Effect.catchDefect(write(batch), () => writeOneByOne(batch)),
    unavailable,
    max_batch: maxBatch,
    max_waiting: maxWaiting,
    max_wait_ms: database.call_ms,
    queueOf: queueOf(queues),
    size: { of: Change.bytesOf, max: maxBatchBytes },
    locksOf
  })
}

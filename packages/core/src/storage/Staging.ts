import { Context, Effect, type Option } from "effect"
import type { Change, StoredRecord } from "./Change.ts"
import type { RecordKey, Storage, StorageUnavailable } from "./Storage.ts"

/** What stands between a job and storage, if the changes of several jobs are committed together. */
export interface Stage {
  /** Reads a record as the jobs before have left it. `read` reads it from storage. */
  readonly get: (
    key: RecordKey,
    read: Effect.Effect<Option.Option<StoredRecord>, StorageUnavailable>
  ) => Effect.Effect<Option.Option<StoredRecord>, StorageUnavailable>
  /** Takes the change that finishes the job. */
  readonly commit: (change: Change) => Effect.Effect<void>
}

/** The stage of the job that runs. Null if it reads storage itself, and its change is committed at once. */
export const Staging = Context.Reference<Stage | null>("@quotewire/core/Staging", { defaultValue: () => null })

/**
 * A storage whose newest records and finishing changes go through the stage of the caller, if it has one. Such a caller cannot
 * read lists: a stage does not know what the jobs before have added.
 */
export const withStaging = (storage: Storage["Service"]): Storage["Service"] => ({
  ...storage,
  get: (key) =>
    Effect.flatMap(Staging, (stage) =>
      stage === null || key.version !== undefined ? storage.get(key) : stage.get(key, storage.get(key))
    ),
  page: (query) =>
    Effect.flatMap(Staging, (stage) =>
      stage === null ? storage.page(query) : Effect.die(new Error("A job that reads a list cannot be staged"))
    ),
  commit: (change) =>
    Effect.flatMap(Staging, (stage) =>
      stage === null || change.finishes.length === 0 ? storage.commit(change) : stage.commit(change)
    )
})

import { Context, Effect, type Option } from "effect"
import type { Change, StoredRecord } from "./Change.ts"
import type { RecordKey, Storage, StorageUnavailable } from "./Storage.ts"

/** Stands in for storage while the changes of several jobs are combined into one change. */
export interface Stage {
  /**
   * Returns a record as the earlier jobs left it. If no earlier job has used the record, calls `read` to read it from
   * storage.
   */
  readonly get: (
    key: RecordKey,
    read: Effect.Effect<Option.Option<StoredRecord>, StorageUnavailable>
  ) => Effect.Effect<Option.Option<StoredRecord>, StorageUnavailable>
  /** Receives the change that finishes the job. */
  readonly commit: (change: Change) => Effect.Effect<void>
}

/** The stage that the running job uses; null outside jobs that run ahead of the clock. */
export const Staging = Context.Reference<Stage | null>("@quotewire/core/Staging", { defaultValue: () => null })

/**
 * The storage for jobs that run ahead of the clock. The stage responds to reads of a record's newest version, and
 * receives the changes that finish jobs. Lists cannot be read, because the stage does not know what earlier jobs have
 * added to them.
 */
export const withStaging = (storage: Storage["Service"]): Storage["Service"] => ({
  ...storage,
  get: (key) =>
    Staging.use((stage) =>
      stage === null || key.version !== undefined ? storage.get(key) : stage.get(key, storage.get(key))
    ),
  page: (query) =>
    Staging.use((stage) =>
      stage === null
        ? storage.page(query)
        : Effect.die(new Error("A job that runs ahead of the sandbox's clock must not list records"))
    ),
  commit: (change) =>
    change.finishes.length === 0
      ? storage.commit(change)
      : Staging.use((stage) => (stage === null ? storage.commit(change) : stage.commit(change)))
})

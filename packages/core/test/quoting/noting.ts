import { Effect } from "effect"
import type { Storage } from "../../src/storage/Storage.ts"

/** Notes the kinds of the records that are read one by one, and of those that each change writes. */
export const noting = () => {
  const reads: Array<string> = []
  const changes: Array<string> = []
  const around = (storage: Storage["Service"]): Storage["Service"] => ({
    ...storage,
    get: (key) =>
      Effect.suspend(() => {
        reads.push(key.kind)
        return storage.get(key)
      }),
    commit: (change) =>
      Effect.suspend(() => {
        changes.push(
          change.writes
            .map(({ kind }) => kind)
            .toSorted()
            .join(" ")
        )
        return storage.commit(change)
      })
  })
  /** How many reads and changes there are so far. */
  const count = () => ({ reads: reads.length, changes: changes.length })
  const since = (before: ReturnType<typeof count>) => ({
    reads: reads.slice(before.reads).toSorted(),
    changes: changes.slice(before.changes)
  })
  return { around, count, since }
}

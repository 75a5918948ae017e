import { Effect } from "effect"
import type { StoredRecord } from "./Change.ts"
import type { RecordPage, RecordQuery } from "./Page.ts"
import type { Storage, StorageUnavailable } from "./Storage.ts"

/** Reads a list to its end, and handles the records of each page before it reads the next. */
export const eachPage = Effect.fnUntraced(function* <E, R>(
  storage: Pick<Storage["Service"], "page">,
  query: Omit<RecordQuery, "after">,
  use: (records: ReadonlyArray<StoredRecord>) => Effect.Effect<void, E, R>
): Effect.fn.Return<void, E | StorageUnavailable, R> {
  let after: string | null = null
  do {
    const { records, next }: RecordPage = yield* storage.page({ ...query, after })
    yield* use(records)
    after = next
  } while (after !== null)
})

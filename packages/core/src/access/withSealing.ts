import { Array, Effect, Option } from "effect"
import type { StoredRecord } from "../storage/Change.ts"
import { type Kinds, LazyRecord } from "../storage/Kind.ts"
import type { Storage, StorageUnavailable } from "../storage/Storage.ts"
import type { Seal } from "./Seal.ts"

type Port = Storage["Service"]

/** A record with a sealed body. In memory it also holds the unsealed record. */
class SealedRecord extends LazyRecord<() => string> {
  readonly open: StoredRecord

  constructor(open: StoredRecord, sealed: () => string) {
    super(open, sealed, (sealed) => sealed())
    this.open = open
  }
}

// Bound to the version too, so that an older version cannot replace a newer one.
const purposeOf = ({ kind, id, version }: StoredRecord): string => `${kind} ${id} ${version}`

const seal = (sealer: Seal["Service"], record: StoredRecord): Effect.Effect<StoredRecord> =>
  Effect.map(
    sealer.sealLater(purposeOf(record), () => record.body),
    (sealed) => new SealedRecord(record, sealed)
  )

/** The unsealed record; none if it was altered, as if it had been lost. `Seal` logs that. */
const open = (
  sealer: Seal["Service"],
  record: StoredRecord
): Effect.Effect<Option.Option<StoredRecord>, StorageUnavailable> =>
  record instanceof SealedRecord
    ? Effect.succeed(Option.some(record.open))
    : Effect.map(sealer.open(purposeOf(record), record.body), (body) =>
        body === null ? Option.none() : Option.some({ ...record, body })
      )

/** Wraps a storage: seals the bodies of sealed kinds on writes and opens them on reads. */
export const withSealing = (storage: Port, sealer: Seal["Service"], kinds: Kinds): Port => {
  const isSealed = ({ kind }: { readonly kind: string }): boolean => kinds.byName(kind).sealed
  return {
    ...storage,
    commit: (change) =>
      change.writes.some(isSealed)
        ? Effect.flatMap(
            Effect.forEach(change.writes, (record) =>
              isSealed(record) ? seal(sealer, record) : Effect.succeed(record)
            ),
            (writes) => storage.commit({ ...change, writes })
          )
        : storage.commit(change),
    get: (key) =>
      isSealed(key)
        ? Effect.flatMap(storage.get(key), (found) =>
            Option.isNone(found) ? Effect.succeed(found) : open(sealer, found.value)
          )
        : storage.get(key),
    page: (query) =>
      isSealed(query)
        ? Effect.flatMap(storage.page(query), (page) =>
            Effect.map(
              Effect.forEach(page.records, (record) => open(sealer, record)),
              (records) => ({ ...page, records: Array.getSomes(records) })
            )
          )
        : storage.page(query)
  }
}

import { Array, Effect, Option } from "effect"
import type { StoredRecord } from "../storage/Change.ts"
import type { Kinds } from "../storage/Kind.ts"
import type { Storage, StorageUnavailable } from "../storage/Storage.ts"
import type { Seal } from "./Seal.ts"

type Port = Storage["Service"]

/**
 * A record as storage is given it: its body is sealed.
 *
 * A storage in memory gives back the record that it was given and never asks for its body, so nothing is encrypted there.
 */
class SealedRecord implements StoredRecord {
  readonly open: StoredRecord
  readonly kind: StoredRecord["kind"]
  readonly id: string
  readonly version: number
  readonly parent: string | null
  readonly status: string | null
  readonly line: string | null
  readonly labels: ReadonlyArray<string>
  readonly created_at: number
  readonly updated_at: number
  readonly expires_at: number | null
  private sealed: string | (() => string)

  constructor(open: StoredRecord, sealed: () => string) {
    this.open = open
    this.kind = open.kind
    this.id = open.id
    this.version = open.version
    this.parent = open.parent
    this.status = open.status
    this.line = open.line
    this.labels = open.labels
    this.created_at = open.created_at
    this.updated_at = open.updated_at
    this.expires_at = open.expires_at
    this.sealed = sealed
  }

  get body(): string {
    if (typeof this.sealed !== "string") this.sealed = this.sealed()
    return this.sealed
  }
}

// The version is bound as well: an older version cannot stand in for a newer one.
const purposeOf = ({ kind, id, version }: StoredRecord): string => `${kind} ${id} ${version}`

const seal = (sealer: Seal["Service"], record: StoredRecord): Effect.Effect<StoredRecord> =>
  Effect.map(sealer.sealLater(purposeOf(record), record.body), (sealed) => new SealedRecord(record, sealed))

/** The record that was sealed; none where it was altered, as if it had been lost. `Seal` logs that. */
const open = (
  sealer: Seal["Service"],
  record: StoredRecord
): Effect.Effect<Option.Option<StoredRecord>, StorageUnavailable> =>
  record instanceof SealedRecord
    ? Effect.succeed(Option.some(record.open))
    : Effect.map(sealer.open(purposeOf(record), record.body), (body) =>
        body === null ? Option.none() : Option.some({ ...record, body })
      )

/** A storage that seals the bodies of the kinds that say so on their way in, and opens them on their way out. */
export const sealing = (storage: Port, sealer: Seal["Service"], kinds: Kinds): Port => {
  const isSealed = ({ kind }: { readonly kind: string }): boolean => kinds.named(kind).sealed
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

import { Effect, Option } from "effect"
import type { StoredRecord } from "../storage/Change.ts"
import type { Kinds } from "../storage/Kind.ts"
import type { Storage, StorageUnavailable } from "../storage/Storage.ts"
import type { Seal } from "./Seal.ts"

type Port = Storage["Service"]

/**
 * A record with a sealed body, as storage receives it.
 *
 * The body is sealed when it is first read. A storage in memory returns the record without reading it, so nothing is
 * encrypted there.
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

// Bound to the version too, so that an older version cannot replace a newer one.
const purposeOf = ({ kind, id, version }: StoredRecord): string => `${kind} ${id} ${version}`

const seal = (sealer: Seal["Service"], record: StoredRecord): Effect.Effect<StoredRecord> =>
  Effect.map(sealer.sealLater(purposeOf(record), record.body), (sealed) => new SealedRecord(record, sealed))

/** Opens a sealed record. An altered record is a defect, because nothing can be done about it. */
const open = (sealer: Seal["Service"], record: StoredRecord): Effect.Effect<StoredRecord, StorageUnavailable> =>
  record instanceof SealedRecord
    ? Effect.succeed(record.open)
    : Effect.flatMap(sealer.open(purposeOf(record), record.body), (body) =>
        body === null ? Effect.die(`${purposeOf(record)} cannot be opened`) : Effect.succeed({ ...record, body })
      )

/** A storage that seals the bodies of sealed kinds when they are written, and opens them when they are read. */
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
            Option.isNone(found) ? Effect.succeed(found) : Effect.asSome(open(sealer, found.value))
          )
        : storage.get(key),
    page: (query) =>
      isSealed(query)
        ? Effect.flatMap(storage.page(query), (page) =>
            Effect.map(
              Effect.forEach(page.records, (record) => open(sealer, record)),
              (records) => ({ ...page, records })
            )
          )
        : storage.page(query)
  }
}

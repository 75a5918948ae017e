import { Effect } from "effect"
import type { StoredRecord } from "../storage/Change.ts"
import type { StorageUnavailable } from "../storage/Storage.ts"
import type { Seal } from "./Seal.ts"

/**
 * A record whose body is sealed, with the text behind it.
 *
 * A storage in memory gives back the record that it was given, and never asks for its body: nothing is encrypted there.
 */
class SealedRecord implements StoredRecord {
  readonly text: string
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

  constructor(record: StoredRecord, sealed: () => string) {
    this.text = record.body
    this.kind = record.kind
    this.id = record.id
    this.version = record.version
    this.parent = record.parent
    this.status = record.status
    this.line = record.line
    this.labels = record.labels
    this.created_at = record.created_at
    this.updated_at = record.updated_at
    this.expires_at = record.expires_at
    this.sealed = sealed
  }

  get body(): string {
    if (typeof this.sealed !== "string") this.sealed = this.sealed()
    return this.sealed
  }
}

// The version is bound as well: an older version cannot stand in for a newer one.
const purposeOf = ({ kind, id, version }: StoredRecord): string => `${kind} ${id} ${version}`

/** The record with its body sealed: what is stored of it tells nothing of a person. */
export const seal = (sealer: Seal["Service"], record: StoredRecord): Effect.Effect<StoredRecord> =>
  Effect.map(sealer.sealLater(purposeOf(record), record.body), (sealed) => new SealedRecord(record, sealed))

/** The body that `seal` was given. Text that was altered is a defect: there is nothing to go on with. */
export const open = (sealer: Seal["Service"], record: StoredRecord): Effect.Effect<string, StorageUnavailable> =>
  record instanceof SealedRecord
    ? Effect.succeed(record.text)
    : Effect.flatMap(sealer.open(purposeOf(record), record.body), (text) =>
        text === null ? Effect.die(`${purposeOf(record)} cannot be opened`) : Effect.succeed(text)
      )

import { Effect } from "effect"
import type { StoredRecord } from "../storage/Change.ts"
import type { StorageUnavailable } from "../storage/Storage.ts"
import type { Seal } from "./Seal.ts"

/**
 * A record whose body is sealed, with the text behind it.
 *
 * A storage in memory gives back the record that it was given, so nothing has to be decrypted there.
 */
interface SealedRecord extends StoredRecord {
  readonly text: string
}

const isOpen = (record: StoredRecord): record is SealedRecord => "text" in record

// The version is bound as well: an older version cannot stand in for a newer one.
const purposeOf = ({ kind, id, version }: StoredRecord): string => `${kind} ${id} ${version}`

/** The record with its body sealed: what is stored of it tells nothing of a person. */
export const seal = (sealer: Seal["Service"], record: StoredRecord): Effect.Effect<StoredRecord> =>
  Effect.map(
    sealer.seal(purposeOf(record), record.body),
    (body): SealedRecord => ({ ...record, body, text: record.body })
  )

/** The body that `seal` was given. Text that was altered is a defect: there is nothing to go on with. */
export const open = (sealer: Seal["Service"], record: StoredRecord): Effect.Effect<string, StorageUnavailable> =>
  isOpen(record)
    ? Effect.succeed(record.text)
    : Effect.flatMap(sealer.open(purposeOf(record), record.body), (text) =>
        text === null ? Effect.die(`${purposeOf(record)} cannot be opened`) : Effect.succeed(text)
      )

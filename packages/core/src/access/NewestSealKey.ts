import { Clock, Data, Effect, Option, Schema } from "effect"
import * as Change from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { commit, directoryWorkspace, retryOnConflict, type Storage } from "../storage/Storage.ts"
import type { Seal } from "./Seal.ts"

/** The seal keys in the settings do not fit the storage, so the service does not start. */
export class SealKeysRefused extends Data.TaggedError("SealKeysRefused") {
  override readonly message =
    "The seal keys must include the key that the storage is sealed with: put that key back, after a newer one if there is one."
}

/** The public name of the newest seal key of the process that started last. */
const NewestKey = Schema.Struct({ key_name: Schema.String })

/** The newest seal key in storage, one record in the directory. */
export const kind = Kind.make({ name: "seal_key", schema: NewestKey, survives_reset: true })

const place = { workspace_id: directoryWorkspace, kind: kind.name, id: "newest" }

/**
 * Checks that this process has the newest seal key of the others, and records its own newest.
 *
 * The first process on an empty storage decides; later ones need its key. To rotate, put the new key before the old one.
 * A process that only has the old key then no longer starts.
 */
export const checkNewestKey = Effect.fnUntraced(function* (storage: Storage["Service"], seal: Seal["Service"]) {
  const stored = yield* storage.get(place)
  const [newest] = seal.key_names
  const known = Option.map(stored, (record) => kind.value(record).key_name)
  if (Option.isSome(known)) {
    if (known.value === newest) return
    if (!seal.key_names.includes(known.value)) return yield* new SealKeysRefused()
  }
  const at = yield* Clock.currentTimeMillis
  const record = kind.record(
    { key_name: newest },
    {
      id: place.id,
      version: Option.match(stored, { onNone: () => 1, onSome: ({ version }) => version + 1 }),
      created_at: Option.match(stored, { onNone: () => at, onSome: ({ created_at }) => created_at }),
      updated_at: at
    }
  )
  yield* commit(storage, Change.make(directoryWorkspace, { writes: [record] }))
}, retryOnConflict)

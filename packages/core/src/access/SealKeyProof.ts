import { Clock, Data, Effect, Option, Schema } from "effect"
import * as Change from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { commit, retryOnConflict } from "../storage/retryOnConflict.ts"
import { directory, type Storage } from "../storage/Storage.ts"
import type { Seal } from "./Seal.ts"

/** The seal keys in the settings cannot open what is stored: with them the service does not start. */
export class SealKeysRefused extends Data.TaggedError("SealKeysRefused") {
  override readonly message =
    "The seal keys must hold the key that the storage is sealed with now: put that key back, behind a newer one if there is one."
}

/** The public name of the key that was the newest when a process started last. */
export const NewestKey = Schema.Struct({ key_name: Schema.String })

/** The newest key in storage: one record in the directory. */
export const kind = Kind.make({ name: "seal_key", schema: NewestKey, survives_reset: true })

const place = { workspace_id: directory, kind: kind.name, id: "newest" }

/**
 * Proves that this process has the key that others seal with, and says which is its own newest.
 *
 * Where nothing was sealed yet the first process to come decides; another one with other keys is refused then. Who puts a
 * new key before the old one starts, and who still has the old one alone does not start any more.
 */
export const prove = Effect.fnUntraced(function* (storage: Storage["Service"], seal: Seal["Service"]) {
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
  yield* commit(storage, Change.make(directory, { writes: [record] }))
}, retryOnConflict)

import { Clock, Data, Effect, Option, Schema } from "effect"
import * as Change from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import {
  commit,
  directoryWorkspace,
  retryOnConflict,
  type Storage,
  type StorageUnavailable
} from "../../storage/Storage.ts"
import { isGuessable, type Seal, type SealKeys } from "./Seal.ts"

/**
 * The service cannot start, because a seal key in the settings is guessable or the settings lack a key that storage
 * needs.
 */
export class SealKeysRefused extends Data.TaggedError("SealKeysRefused")<{
  readonly reason: "not_of_storage" | "guessable"
  /** The public names of the keys that seal something in storage but are missing from the settings. */
  readonly missing: ReadonlyArray<string>
  /** The public names of the keys in the settings, newest first. */
  readonly given: ReadonlyArray<string>
}> {
  readonly code = "seal_keys_refused"
  override readonly message =
    this.reason === "guessable"
      ? guessable
      : `The seal keys must include ${missingText(this)}. List missing keys after the newest key, and remove a key only when its rows have been resealed.`
}

const guessable =
  "A seal key must be 32 random bytes, but a given key can be guessed: create keys with generateSealKey() or openssl rand -base64 32."

/** Describes the missing keys by name, and the given keys by name and position. Names reveal nothing about the keys. */
export const missingText = ({ given, missing }: Pick<SealKeysRefused, "given" | "missing">): string => {
  const keys = missing.length === 1 ? "the key" : "the keys"
  const places = given.map((name, index) => `${index + 1}. ${name}`).join(", ")
  return `${keys} ${missing.join(" and ")} that the storage is sealed with (given: ${places})`
}

/** A storage backend's seal keys, by their public names. */
const KeysInUse = Schema.Struct({
  /** The newest key of the process that started last. */
  key_name: Schema.String,
  /** The keys that may still seal something. A key stays in this list until a rotation finds that it seals nothing. */
  in_use: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Keys that are lost and were given up. Everything that they sealed is treated as lost. */
  given_up: Schema.optionalKey(Schema.Array(Schema.String))
})

/** The record kind for a storage backend's seal keys. The directory has a single record of this kind. */
export const kind = Kind.make({ name: "seal_key", schema: KeysInUse, survives_reset: true })

const place = { workspace_id: directoryWorkspace, kind: kind.name, id: "newest" }

/** The names of a storage backend's seal keys. */
interface Keys {
  readonly newest: string
  readonly in_use: ReadonlyArray<string>
  readonly given_up: ReadonlyArray<string>
}

/** Fails if a key is easy to guess. */
export const checkStrength = ({ keys }: SealKeys["Service"]): Effect.Effect<void, SealKeysRefused> =>
  keys.some(isGuessable)
    ? Effect.fail(new SealKeysRefused({ reason: "guessable", missing: [], given: [] }))
    : Effect.void

/** A storage backend's seal keys, and the record that contains them. */
export interface StoredKeys extends Keys {
  readonly record: Change.StoredRecord
}

/** Reads a storage backend's seal keys; null if no process has ever started on the storage. */
export const read = (storage: Storage["Service"]): Effect.Effect<StoredKeys | null, StorageUnavailable> =>
  Effect.map(storage.get(place), (stored) => {
    if (Option.isNone(stored)) return null
    const { given_up = [], key_name, in_use = [key_name] } = kind.value(stored.value)
    return { record: stored.value, newest: key_name, in_use, given_up }
  })

const save = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  previous: Change.StoredRecord | null,
  { given_up, in_use, newest }: Keys
) {
  const at = yield* Clock.currentTimeMillis
  const meta = { id: place.id, version: (previous?.version ?? 0) + 1, created_at: previous?.created_at ?? at }
  const record = kind.record({ key_name: newest, in_use, given_up }, { ...meta, updated_at: at })
  yield* commit(storage, Change.make(directoryWorkspace, { writes: [record] }))
})

const areSame = (a: ReadonlyArray<string>, b: ReadonlyArray<string>) => a.join() === b.join()

/**
 * Checks that this process has every key that still seals something, and records its newest key before it seals
 * anything. Returns the keys that were given up.
 *
 * The first process on an empty storage registers its newest key; later processes need that key. To rotate, put the new
 * key before the old one. From then on, a process that has only the old key does not start.
 */
export const register = Effect.fnUntraced(function* (storage: Storage["Service"], seal: Seal["Service"]) {
  const keys = yield* read(storage)
  const [newest] = seal.key_names
  const { given_up, in_use } = keys ?? { in_use: [], given_up: [] }
  const missingNames = in_use.filter((name) => !seal.key_names.includes(name))
  if (missingNames.length > 0) {
    return yield* new SealKeysRefused({ reason: "not_of_storage", missing: missingNames, given: seal.key_names })
  }
  // If a given-up key is back in the settings, treat it as in use.
  const back = given_up.filter((name) => seal.key_names.includes(name))
  const next: Keys = {
    newest,
    in_use: [...new Set([...in_use, ...back, newest])],
    given_up: given_up.filter((name) => !back.includes(name))
  }
  if (keys?.newest !== newest || !areSame(next.in_use, in_use)) yield* save(storage, keys?.record ?? null, next)
  return next.given_up
}, retryOnConflict)

/**
 * Records that only these keys still seal something, apart from the keys that were given up. Returns false, and records
 * nothing, if a process has recorded its keys since `keys` was read.
 */
export const keepOnly = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  keys: StoredKeys,
  names: ReadonlyArray<string>
) {
  const next = { ...keys, in_use: names.filter((name) => !keys.given_up.includes(name)) }
  const given_up = keys.given_up.filter((name) => names.includes(name))
  return yield* save(storage, keys.record, { ...next, given_up }).pipe(
    Effect.as(true),
    Effect.catchTag("VersionConflict", () => Effect.succeed(false))
  )
})

/** Records that a key is lost, so that processes can start without the key. */
export const giveUp = Effect.fnUntraced(function* (storage: Storage["Service"], name: string) {
  const keys = yield* read(storage)
  if (keys === null || keys.given_up.includes(name)) return
  const in_use = keys.in_use.filter((other) => other !== name)
  yield* save(storage, keys.record, { ...keys, in_use, given_up: [...keys.given_up, name] })
}, retryOnConflict)

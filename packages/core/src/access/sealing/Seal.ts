import { Context, Effect, Layer, Option, Redacted, Result } from "effect"
import { Digest, Mac, SecureRandom } from "effect/crypto"
import { Base64, Base64Url } from "effect/encoding"
import * as Fault from "../../concurrency/Fault.ts"
import type { StoredRecord } from "../../storage/Change.ts"
import type { Kinds } from "../../storage/Kind.ts"
import { LazyRecord, roughLengthOf } from "../../storage/Kind.ts"
import { type Storage, StorageUnavailable } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import { type KeyedTextCrypto, nonceBytes, TextCrypto } from "./TextCrypto.ts"

/*
 * Sealing encrypts data at rest. This module also makes and parses keyed hashes, and seals the bodies of records in
 * storage.
 */

/** The seal keys: 32 bytes each, newest first. There can be several keys, so that they can be rotated. */
export class SealKeys extends Context.Service<
  SealKeys,
  { readonly keys: readonly [Redacted.Redacted<Uint8Array>, ...Array<Redacted.Redacted<Uint8Array>>] }
>()("@quotewire/core/SealKeys") {
  /** Random keys for this process, for hosts whose storage does not outlive the process. */
  static readonly layerEphemeral: Layer.Layer<SealKeys, never, SecureRandom.SecureRandom> = Layer.effect(
    SealKeys,
    Effect.gen(function* () {
      const random = yield* SecureRandom.SecureRandom
      return SealKeys.of({ keys: [Redacted.make(yield* random.randomBytes(keyBytes))] })
    })
  )
}

const blockBytes = 4_096

/** Makes a function that takes nonces from blocks of 4 KiB. See docs/decisions/tuning.md. */
export const nonces = (random: SecureRandom.SecureRandom["Service"]): (() => Uint8Array) => {
  let block: Uint8Array = new Uint8Array(0)
  let used = 0
  return () => {
    if (used + nonceBytes > block.length) {
      block = Effect.runSync(random.randomBytes(blockBytes))
      used = 0
    }
    used += nonceBytes
    return block.subarray(used - nonceBytes, used)
  }
}

/** The length of a seal key in bytes. */
export const keyBytes = 32

/** Reads a seal key from its text, which is 32 bytes in base64. Returns null if the text is not a key. */
export const readKey = (text: string): Redacted.Redacted<Uint8Array> | null => {
  const bytes = Base64.decode(text.trim())
  return Result.isSuccess(bytes) && bytes.success.length === keyBytes ? Redacted.make(bytes.success) : null
}

/** The minimum number of different bytes in a key. 32 random bytes have about 30 different values. */
const fewestDifferentBytes = 8
const longestPattern = keyBytes / 2

/** Whether a seal key is easy to guess because it repeats a few bytes or counts in equal steps. */
export const isGuessable = (key: Redacted.Redacted<Uint8Array>): boolean => {
  const bytes = Redacted.value(key)
  const repeatsEvery = (length: number) =>
    bytes.every((byte, index) => index < length || byte === bytes[index - length])
  const stepTo = (index: number) => ((bytes[index] ?? 0) - (bytes[index - 1] ?? 0)) & 0xff
  return (
    new Set(bytes).size < fewestDifferentBytes ||
    Array.from({ length: longestPattern }, (_, index) => index + 1).some(repeatsEvery) ||
    bytes.every((_, index) => index === 0 || stepTo(index) === stepTo(1))
  )
}

/** Makes a seal key for `embed` or for `QUOTEWIRE_SEAL_KEYS`: 32 random bytes in base64. Protect it like a password. */
export const generateSealKey = (): string => Base64.encode(SecureRandom.randomBytesUnsafe(keyBytes))

/**
 * Encrypts data at rest, and makes keyed hashes.
 *
 * `purpose` separates uses: text that was sealed or hashed for one purpose is not valid for another. A keyed hash names
 * the key that made it, so hashes stay comparable after a rotation as long as that key is in the settings.
 */
export class Seal extends Context.Service<
  Seal,
  {
    /** Encrypts text (AES-256-GCM), bound to its purpose. */
    readonly seal: (purpose: string, text: string) => Effect.Effect<string>
    /** Like `seal`, but synchronous. Null if the platform cannot encrypt synchronously. */
    readonly sealSync: ((purpose: string, text: string) => string) | null
    /**
     * Decrypts text that `seal` made for the same purpose. If the text was altered, logs this and returns null.
     *
     * If the settings lack the key that sealed the text, logs this and fails with `StorageUnavailable`. A host with the
     * right keys can still read the text, so this host must not decide without the text. From then on `isMissingKey` is
     * true.
     */
    readonly open: (purpose: string, sealed: string) => Effect.Effect<string | null, StorageUnavailable>
    /** The public names of the keys in the settings, newest first. A name reveals nothing about its key. */
    readonly key_names: readonly [string, ...Array<string>]
    /** Whether this process has come across text that was sealed with a key it does not have. */
    readonly isMissingKey: Effect.Effect<boolean>
    /** Makes a keyed hash of a text: the key's name, a dot, and 32 bytes in base64url. */
    readonly mac: (purpose: string, text: string) => Effect.Effect<string>
    /**
     * Makes a keyed hash with the key that made `older`, so that equal texts have equal hashes. Null if the settings no
     * longer have that key.
     */
    readonly macLike: (older: string, purpose: string, text: string) => Effect.Effect<string | null>
    /** Makes a plain SHA-256 hash, in lower-case hex. */
    readonly hash: (text: string) => Effect.Effect<string>
  }
>()("@quotewire/core/Seal") {
  /** Seals with the platform's cryptography. */
  static readonly layer: Layer.Layer<
    Seal,
    never,
    SealKeys | TextCrypto | Mac.Mac | Digest.Digest | SecureRandom.SecureRandom
  > = Layer.effect(
    Seal,
    Effect.gen(function* () {
      const textCrypto = yield* TextCrypto
      const mac = yield* Mac.Mac
      const digest = yield* Digest.Digest
      const drawNonce = nonces(yield* SecureRandom.SecureRandom)
      const { keys: seal_keys } = yield* SealKeys
      const derived = yield* Effect.forEach(seal_keys, (key) => derivedKeysOf(mac, textCrypto, Redacted.value(key)))
      const [newest, ...older] = derived
      if (newest === undefined) return yield* Effect.die(new Error("Seal needs at least one key"))
      let isMissingKey = false
      const keysNamedIn = (text: string) => derived.find(({ prefix }) => text.startsWith(prefix))
      const macBy = ({ prefix, crypto }: DerivedKeys, purpose: string, text: string) =>
        Effect.map(crypto.sign(`${purpose}\0${text}`), (tag) => prefix + tag)
      const seal = (purpose: string, text: string) =>
        Effect.suspend(() =>
          Effect.map(newest.crypto.encrypt(drawNonce(), purpose, text), (sealed) => newest.prefix + sealed)
        )
      const { encryptSync } = newest.crypto
      return Seal.of({
        seal,
        sealSync:
          encryptSync === null ? null : (purpose, text) => newest.prefix + encryptSync(drawNonce(), purpose, text),
        open: (purpose, sealed) => {
          const keys = keysNamedIn(sealed)
          if (keys !== undefined) {
            return Effect.tap(keys.crypto.decrypt(purpose, sealed.slice(keys.prefix.length)), (text) =>
              text === null ? logUnreadable("it was altered", purpose) : Effect.void
            )
          }
          const keyName = keyNameOf(sealed)
          if (keyName === null) return Effect.as(logUnreadable("it was altered", purpose), null)
          isMissingKey = true
          return Effect.andThen(logMissingKey(purpose, keyName), Effect.fail(tryAnotherHost))
        },
        key_names: [nameOf(newest), ...older.map(nameOf)],
        isMissingKey: Effect.sync(() => isMissingKey),
        mac: (purpose, text) => macBy(newest, purpose, text),
        macLike: (olderHash, purpose, text) => {
          const keys = keysNamedIn(olderHash)
          return keys === undefined ? Effect.succeed(null) : macBy(keys, purpose, text)
        },
        hash: (text) => digest.digestHex(Digest.sha256, new TextEncoder().encode(text))
      })
    })
  )
}

/**
 * Makes a `Seal` that gives up everything that is sealed with these lost keys. The host then keeps running when it reads
 * such data.
 */
export const givingUp = (seal: Seal["Service"], givenUp: ReadonlyArray<string>): Seal["Service"] =>
  givenUp.length === 0
    ? seal
    : {
        ...seal,
        open: (purpose, sealed) =>
          givenUp.includes(keyNameOf(sealed) ?? "")
            ? Effect.as(logUnreadable("its seal key was given up as lost", purpose), null)
            : seal.open(purpose, sealed)
      }

/** The public name of the key that sealed a text; null if the text does not begin with a key's name. */
export const keyNameOf = (sealed: string): string | null => keyNamePattern.exec(sealed)?.[1] ?? null

interface DerivedKeys {
  /** The key's public name and a dot. Everything made with the key begins with this prefix. */
  readonly prefix: string
  readonly crypto: KeyedTextCrypto
}

const nameOf = ({ prefix }: DerivedKeys): string => prefix.slice(0, -1)

/** Sealed text begins with the name of its key, which is six bytes in base64url. */
const keyNamePattern = /^([A-Za-z0-9_-]{8})\./

const tryAnotherHost = new StorageUnavailable({ retry_after_seconds: 5 })

// A purpose may be logged: it contains a workspace, a kind and an ID, never a fact.
const logUnreadable = (why: string, purpose: string) =>
  Effect.annotateLogs(Effect.logError(`Cannot open sealed text, because ${why}`), { sealed: purpose })

const logMissingKey = (purpose: string, key_name: string) =>
  Effect.annotateLogs(Effect.logError("Cannot open sealed text, because this host does not have its seal key"), {
    sealed: purpose,
    key_name
  })

/** Derives a seal key's public name, and a separate key for each use. */
const derivedKeysOf = Effect.fnUntraced(function* (
  mac: Mac.Mac["Service"],
  crypto: TextCrypto["Service"],
  bytes: Uint8Array
) {
  const root = yield* Mac.key(Mac.hmacSha256, bytes)
  const derive = (purpose: string) => mac.sign(root, new TextEncoder().encode(`quotewire ${purpose}`))
  const name = (yield* derive("name")).subarray(0, 6)
  const keys = { aead: yield* derive("seal"), mac: yield* derive("mac") }
  const keyed = yield* Fault.redactDefects(() => crypto.keyed(keys))
  const { encryptSync } = keyed
  const derived: DerivedKeys = {
    prefix: `${Base64Url.encode(name)}.`,
    crypto: {
      encryptSync:
        encryptSync === null
          ? null
          : (nonce, purpose, text) => Fault.redactThrown(() => encryptSync(nonce, purpose, text)),
      encrypt: (nonce, purpose, text) => Fault.redactDefects(() => keyed.encrypt(nonce, purpose, text)),
      decrypt: (purpose, sealed) => Fault.redactDefects(() => keyed.decrypt(purpose, sealed)),
      sign: (text) => Fault.redactDefects(() => keyed.sign(text))
    }
  }
  return derived
}, Effect.orDie)

/** Splits a keyed hash into the key's name and the hash in base64url. A dot separates them. */
export const partsOfMac = (mac: string): { readonly key_name: string; readonly tag: string } => {
  const [key_name = "", tag = ""] = mac.split(".")
  return { key_name, tag }
}

const signatureCharacters = 22

/** A signature that is short enough for a URL: the first 132 bits of a keyed hash. */
export const signatureOf = (mac: string): string => partsOfMac(mac).tag.slice(0, signatureCharacters)

/** Splits text into the signature at its beginning and the text after the signature. */
export const splitSignature = (text: string): { readonly signature: string; readonly rest: string } => ({
  signature: text.slice(0, signatureCharacters),
  rest: text.slice(signatureCharacters)
})

/** A stand-in for an older hash. With it, `Seal.macLike` uses exactly the key that has this name. */
export const macOfKey = (keyName: string): string => (keyName.includes(".") ? "" : `${keyName}.`)

/** Whether two hashes, or parts of them, are equal. The comparison takes constant time. */
export const areEqual = (a: string, b: string): boolean => Mac.timingSafeEqual(bytesOf(a), bytesOf(b))

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

type Port = Storage["Service"]

/**
 * A record with a sealed body. In memory it also holds the unsealed record.
 *
 * The body is sealed when it is first read (docs/decisions/tuning.md). In-memory storage keeps this object, so it has
 * few fields.
 */
class SealedRecord extends LazyRecord {
  readonly open: StoredRecord
  private readonly workspace_id: WorkspaceId
  private readonly seal: (purpose: string, text: string) => string

  constructor(open: StoredRecord, workspaceId: WorkspaceId, seal: (purpose: string, text: string) => string) {
    super(open)
    this.open = open
    this.workspace_id = workspaceId
    this.seal = seal
  }

  protected write(): string {
    return this.seal(purposeOf(this.workspace_id, this.open), this.open.body)
  }

  // Sealed text is in base64, which is a third longer than the record.
  protected override measure(): number {
    return (roughLengthOf(this.open) * 4) / 3
  }
}

/**
 * The purpose for which a record is sealed. It names the workspace and the version. Therefore no other workspace can
 * open the record, and an older version cannot replace a newer one.
 */
export const purposeOf = (
  workspaceId: WorkspaceId,
  { kind, id, version }: Pick<StoredRecord, "kind" | "id" | "version">
): string => `${workspaceId} ${kind} ${id} ${version}`

/** Seals a record's body, for this workspace only. */
export const sealRecord = (
  { seal, sealSync }: Seal["Service"],
  workspaceId: WorkspaceId,
  record: StoredRecord
): Effect.Effect<StoredRecord> =>
  sealSync === null
    ? Effect.map(
        seal(purposeOf(workspaceId, record), record.body),
        (sealed) => new SealedRecord(record, workspaceId, () => sealed)
      )
    : Effect.succeed(new SealedRecord(record, workspaceId, sealSync))

/**
 * Opens a sealed record. If the record was altered or copied from elsewhere, `Seal` logs this, and the result is
 * `None`, as if the record were lost.
 *
 * Fails only if this process lacks the key that sealed the record.
 */
export const openRecord = (
  sealer: Seal["Service"],
  workspaceId: WorkspaceId,
  record: StoredRecord
): Effect.Effect<Option.Option<StoredRecord>, StorageUnavailable> =>
  record instanceof SealedRecord
    ? Effect.succeed(Option.some(record.open))
    : Effect.map(sealer.open(purposeOf(workspaceId, record), record.body), (body) =>
        body === null ? Option.none() : Option.some({ ...record, body })
      )

/**
 * Wraps a storage backend so that it seals the bodies of sealed kinds when they are written, and opens them when they
 * are read.
 */
export const withSealing = (storage: Port, sealer: Seal["Service"], kinds: Kinds): Port => {
  const { sealSync } = sealer
  const isSealed = ({ kind }: { readonly kind: string }): boolean => kinds.byName(kind).sealed
  return {
    ...storage,
    commit: (change) => {
      if (!change.writes.some(isSealed)) return storage.commit(change)
      const { workspace_id } = change
      if (sealSync !== null) {
        const writes = change.writes.map((record) =>
          isSealed(record) ? new SealedRecord(record, workspace_id, sealSync) : record
        )
        return storage.commit({ ...change, writes })
      }
      const sealing = Effect.forEach(change.writes, (record) =>
        isSealed(record) ? sealRecord(sealer, workspace_id, record) : Effect.succeed(record)
      )
      return Effect.flatMap(sealing, (writes) => storage.commit({ ...change, writes }))
    },
    get: (key) =>
      isSealed(key)
        ? Effect.flatMap(storage.get(key), (stored) =>
            Option.isNone(stored) ? Effect.succeed(stored) : openRecord(sealer, key.workspace_id, stored.value)
          )
        : storage.get(key),
    page: (query) =>
      isSealed(query)
        ? Effect.flatMap(storage.page(query), (page) =>
            Effect.map(
              Effect.forEach(page.records, (record) => openRecord(sealer, query.workspace_id, record)),
              (records) => ({ ...page, records: records.flatMap(Option.toArray) })
            )
          )
        : storage.page(query)
  }
}

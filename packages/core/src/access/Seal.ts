import { Context, Effect, Layer, Redacted, Result } from "effect"
import { Aead, Digest, Mac, SecureRandom } from "effect/crypto"
import { Base64, Base64Url } from "effect/encoding"
import { inBlocks } from "../Chance.ts"

/** The keys that everything secret at rest is sealed with: 32 bytes each, newest first, so that they can be rotated. */
export class SealKeys extends Context.Service<
  SealKeys,
  { readonly keys: readonly [Redacted.Redacted<Uint8Array>, ...Array<Redacted.Redacted<Uint8Array>>] }
>()("@quotewire/core/SealKeys") {
  /** Keys made for this process alone: for hosts whose storage ends with them. */
  static readonly layerEphemeral: Layer.Layer<SealKeys, never, SecureRandom.SecureRandom> = Layer.effect(
    SealKeys,
    Effect.gen(function* () {
      const random = yield* SecureRandom.SecureRandom
      return SealKeys.of({ keys: [Redacted.make(yield* random.randomBytes(key_bytes))] })
    })
  )
}

/** Length of a seal key. */
export const key_bytes = 32
const nonce_bytes = 12

/**
 * Keeps what must not be read at rest, and makes keyed hashes.
 *
 * `purpose` separates uses: what was sealed or hashed for one purpose is worthless for another. Keyed hashes name the
 * key that made them, so that they stay comparable after a rotation while that key is still in the settings.
 */
export class Seal extends Context.Service<
  Seal,
  {
    /** Encrypts text (AES-256-GCM), bound to its purpose. */
    readonly seal: (purpose: string, text: string) => Effect.Effect<string>
    /** Decrypts what `seal` made for the same purpose; null where it is altered, or its key is gone. */
    readonly open: (purpose: string, sealed: string) => Effect.Effect<string | null>
    /** A keyed hash of text: the key's name, a dot, and 32 bytes in base64url. */
    readonly mac: (purpose: string, text: string) => Effect.Effect<string>
    /** The same hash by the key that an older hash names: equal texts give equal hashes. Null where that key is gone. */
    readonly macLike: (older: string, purpose: string, text: string) => Effect.Effect<string | null>
    /** A plain SHA-256, in lower-case hex. */
    readonly hash: (text: string) => Effect.Effect<string>
  }
>()("@quotewire/core/Seal") {
  /** Seals with the runtime's cryptography. */
  static readonly layer: Layer.Layer<
    Seal,
    never,
    SealKeys | Aead.Aead | Mac.Mac | Digest.Digest | SecureRandom.SecureRandom
  > = Layer.effect(
    Seal,
    Effect.gen(function* () {
      const aead = yield* Aead.Aead
      const mac = yield* Mac.Mac
      const digest = yield* Digest.Digest
      const draw = inBlocks(yield* SecureRandom.SecureRandom)
      const { keys } = yield* SealKeys
      const rings = yield* Effect.forEach(keys, (key) => ringOf(mac, Redacted.value(key))).pipe(Effect.orDie)
      const newest = rings[0]
      if (newest === undefined) return yield* Effect.die("Seal needs a key")
      const ringNamed = (text: string) => rings.find((ring) => text.startsWith(`${ring.name}.`))
      const macBy = (ring: Ring, purpose: string, text: string) =>
        mac.sign(ring.mac, bytesOf(`${purpose}\0${text}`)).pipe(
          Effect.map((tag) => `${ring.name}.${Base64Url.encode(tag)}`),
          Effect.orDie
        )
      return Seal.of({
        seal: (purpose, text) =>
          Effect.suspend(() => {
            const nonce = draw(nonce_bytes)
            return aead.encrypt(newest.aead, bytesOf(text), { nonce, aad: bytesOf(purpose) }).pipe(
              Effect.map((sealed) => `${newest.name}.${Base64.encode(concat(nonce, sealed))}`),
              Effect.orDie
            )
          }),
        open: Effect.fnUntraced(function* (purpose, sealed) {
          const ring = ringNamed(sealed)
          const text = sealed.slice(sealed.indexOf(".") + 1)
          const bytes = Base64.decode(text)
          // Of the spellings that decode to the same bytes only the one that `seal` writes counts.
          if (ring === undefined || Result.isFailure(bytes) || Base64.encode(bytes.success) !== text) return null
          const nonce = bytes.success.subarray(0, nonce_bytes)
          return yield* aead
            .decrypt(ring.aead, bytes.success.subarray(nonce_bytes), { nonce, aad: bytesOf(purpose) })
            .pipe(
              Effect.map((text) => new TextDecoder().decode(text)),
              Effect.catch(() => Effect.succeed(null))
            )
        }),
        mac: (purpose, text) => macBy(newest, purpose, text),
        macLike: (older, purpose, text) => {
          const ring = ringNamed(older)
          return ring === undefined ? Effect.succeed(null) : macBy(ring, purpose, text)
        },
        hash: (text) => digest.digestHex(Digest.sha256, bytesOf(text))
      })
    })
  )
}

interface Ring {
  readonly name: string
  readonly aead: Aead.Key
  readonly mac: Mac.Key
}

/** One key for each use, derived from the seal key, and a public name for it. */
const ringOf = Effect.fnUntraced(function* (mac: Mac.Mac["Service"], bytes: Uint8Array) {
  const root = yield* Mac.key(Mac.hmacSha256, bytes)
  const derive = (use: string) => mac.sign(root, bytesOf(`quotewire ${use}`))
  const ring: Ring = {
    name: Base64Url.encode((yield* derive("name")).subarray(0, 6)),
    aead: yield* Aead.key(Aead.aes256Gcm, yield* derive("seal")),
    mac: yield* Mac.key(Mac.hmacSha256, yield* derive("mac"))
  }
  return ring
})

const encoder = new TextEncoder()
const bytesOf = (text: string): Uint8Array => encoder.encode(text)

const concat = (a: Uint8Array, b: Uint8Array): Uint8Array => {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}

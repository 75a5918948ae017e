import { Context, Effect, Layer, Result } from "effect"
import { Aead, Mac } from "effect/crypto"
import { Base64, Base64Url } from "effect/encoding"

/**
 * Text cryptography with one seal key. A platform's own implementation can take half the time, because it avoids
 * copying bytes.
 */
export interface KeyedTextCrypto {
  /** Encrypts with AES-256-GCM, bound to the purpose. Returns the base64 of nonce, ciphertext and tag. */
  readonly encrypt: (nonce: Uint8Array, purpose: string, text: string) => Effect.Effect<string>
  /** Like `encrypt`, but synchronous. Null if the platform has only asynchronous ciphers, as WebCrypto does. */
  readonly encryptSync: ((nonce: Uint8Array, purpose: string, text: string) => string) | null
  /** Decrypts text. Returns null if the text was altered or encrypted for another purpose. */
  readonly decrypt: (purpose: string, sealed: string) => Effect.Effect<string | null>
  /** Makes an HMAC with SHA-256, in base64url without padding. */
  readonly sign: (text: string) => Effect.Effect<string>
}

/** Two keys of 32 bytes: one for encryption, one for signatures. */
export interface TextKeys {
  readonly aead: Uint8Array
  readonly mac: Uint8Array
}

/** The port through which `Seal` uses a platform's cryptography to encrypt and sign text. */
export class TextCrypto extends Context.Service<
  TextCrypto,
  { readonly keyed: (keys: TextKeys) => Effect.Effect<KeyedTextCrypto> }
>()("@quotewire/core/TextCrypto") {
  /** Uses Effect's cryptography services, which work on every runtime. */
  static readonly layer: Layer.Layer<TextCrypto, never, Aead.Aead | Mac.Mac> = Layer.effect(
    TextCrypto,
    Effect.gen(function* () {
      const aead = yield* Aead.Aead
      const mac = yield* Mac.Mac
      return TextCrypto.of({
        keyed: (keys) =>
          Effect.zipWith(Aead.key(Aead.aes256Gcm, keys.aead), Mac.key(Mac.hmacSha256, keys.mac), (aeadKey, macKey) => ({
            ...cipher(aead, aeadKey),
            encryptSync: null,
            sign: (text: string) => Effect.map(Effect.orDie(mac.sign(macKey, bytesOf(text))), Base64Url.encode)
          })).pipe(Effect.orDie)
      })
    })
  )
}

/** The length in bytes of the nonce at the beginning of the ciphertext. */
export const nonceBytes = 12

const cipher = (aead: Aead.Aead["Service"], key: Aead.Key): Pick<KeyedTextCrypto, "encrypt" | "decrypt"> => ({
  encrypt: (nonce, purpose, text) =>
    aead.encrypt(key, bytesOf(text), { nonce, aad: bytesOf(purpose) }).pipe(
      // Twelve bytes are exactly sixteen base64 characters, so the two encodings can be concatenated.
      Effect.map((sealed) => Base64.encode(nonce) + Base64.encode(sealed)),
      Effect.orDie
    ),
  decrypt: (purpose, sealed) => {
    const bytes = Base64.decode(sealed)
    // Several base64 texts decode to the same bytes. Only the text that `encrypt` writes is accepted.
    if (Result.isFailure(bytes) || Base64.encode(bytes.success) !== sealed) return Effect.succeed(null)
    const nonce = bytes.success.subarray(0, nonceBytes)
    return aead.decrypt(key, bytes.success.subarray(nonceBytes), { nonce, aad: bytesOf(purpose) }).pipe(
      Effect.map((text) => new TextDecoder().decode(text)),
      Effect.catch(() => Effect.succeed(null))
    )
  }
})

const encoder = new TextEncoder()
const bytesOf = (text: string): Uint8Array => encoder.encode(text)

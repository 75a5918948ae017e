import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from "node:crypto"
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { TextCrypto } from "@quotewire/core"
import { Effect, Layer } from "effect"
import { type Digest, Mac, type SecureRandom } from "effect/crypto"

/**
 * AES-256-GCM and HMAC, synchronous and without copies: the encrypted strings are short, so a thread pool or a copy
 * would cost more than it saves.
 */
const textCrypto: TextCrypto.TextCrypto["Service"] = {
  keyed: (keys) => {
    const aead = createSecretKey(keys.aead)
    const mac = createSecretKey(keys.mac)
    return Effect.succeed({
      encrypt: (nonce, purpose, text) => Effect.sync(() => encrypt(aead, nonce, purpose, text)),
      encryptSync: (nonce, purpose, text) => encrypt(aead, nonce, purpose, text),
      decrypt: (purpose, sealed) => Effect.sync(() => decrypt(aead, purpose, sealed)),
      sign: (text) => Effect.sync(() => createHmac("sha256", mac).update(text).digest("base64url"))
    })
  }
}

const cipherName = "aes-256-gcm"
const tagBytes = 16
const mode = { authTagLength: tagBytes }

const encrypt = (key: KeyObject, nonce: Uint8Array, purpose: string, text: string): string => {
  const cipher = createCipheriv(cipherName, key, nonce, mode).setAAD(Buffer.from(purpose))
  const encrypted = cipher.update(text, "utf8")
  cipher.final()
  const sealed = Buffer.allocUnsafe(nonce.length + encrypted.length + tagBytes)
  sealed.set(nonce)
  sealed.set(encrypted, nonce.length)
  sealed.set(cipher.getAuthTag(), nonce.length + encrypted.length)
  return sealed.toString("base64")
}

const decrypt = (key: KeyObject, purpose: string, sealed: string): string | null => {
  const bytes = Buffer.from(sealed, "base64")
  // Different base64 strings can decode to the same bytes. Accept only the encoding that `encrypt` writes.
  if (bytes.length < TextCrypto.nonceBytes + tagBytes || bytes.toString("base64") !== sealed) return null
  const end = bytes.length - tagBytes
  const decipher = createDecipheriv(cipherName, key, bytes.subarray(0, TextCrypto.nonceBytes), mode)
    .setAAD(Buffer.from(purpose))
    .setAuthTag(bytes.subarray(end))
  const text = decipher.update(bytes.subarray(TextCrypto.nonceBytes, end))
  try {
    // Throws only if the tag does not match.
    decipher.final()
    return text.toString()
  } catch {
    text.fill(0)
    return null
  }
}

const keyObjects = new WeakMap<Uint8Array, KeyObject>()

/**
 * HMAC with cached key objects. Creating a key object takes several times as long as signing a short string.
 */
const hmac = (hash: Digest.Algorithm["name"], key: Uint8Array, data: Uint8Array): Uint8Array => {
  const keyObject = keyObjects.get(key) ?? createSecretKey(key)
  keyObjects.set(key, keyObject)
  return new Uint8Array(createHmac(hash, keyObject).update(data).digest())
}

/** Implements the core's cryptography with `node:crypto`. */
export const layer: Layer.Layer<Digest.Digest | Mac.Mac | SecureRandom.SecureRandom | TextCrypto.TextCrypto> =
  Layer.mergeAll(
    Layer.succeed(TextCrypto.TextCrypto, textCrypto),
    NodeCrypto.layerDigest,
    Mac.layerWebCryptoWith({ hmac }).pipe(Layer.provide(NodeCrypto.layerSecureRandom)),
    NodeCrypto.layerSecureRandom
  )

import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hash, type KeyObject } from "node:crypto"
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { TextCrypto } from "@quotewire/core"
import { Effect, Layer } from "effect"
import { Digest, Mac, type SecureRandom } from "effect/crypto"

const key_objects = new WeakMap<Uint8Array, KeyObject>()

/**
 * A key as `node:crypto` likes it, made once for each key.
 *
 * Given bytes, it finds out by an exception that they are no such object: that costs more than the work itself.
 */
const keyObject = (bytes: Uint8Array): KeyObject => {
  const known = key_objects.get(bytes)
  if (known !== undefined) return known
  const made = createSecretKey(bytes)
  key_objects.set(bytes, made)
  return made
}

/**
 * AES-256-GCM and HMAC in the calling thread: for the short texts that are sealed here, a thread pool costs more than it
 * gives, and so does every copy of their bytes.
 */
const textCrypto: TextCrypto.TextCrypto["Service"] = {
  keyed: (keys) => {
    const aead = createSecretKey(keys.aead)
    const sign = signer(keys.mac)
    return Effect.succeed({
      encrypt: (nonce, purpose, text) => Effect.sync(() => encrypt(aead, nonce, purpose, text)),
      decrypt: (purpose, sealed) => Effect.sync(() => decrypt(aead, purpose, sealed)),
      sign: (text) => Effect.sync(() => sign(text))
    })
  }
}

const cipher_name = "aes-256-gcm"
const tag_bytes = 16
const mode = { authTagLength: tag_bytes }

const encrypt = (key: KeyObject, nonce: Uint8Array, purpose: string, text: string): string => {
  const cipher = createCipheriv(cipher_name, key, nonce, mode).setAAD(Buffer.from(purpose))
  const encrypted = cipher.update(text, "utf8")
  cipher.final()
  const sealed = Buffer.allocUnsafe(nonce.length + encrypted.length + tag_bytes)
  sealed.set(nonce)
  sealed.set(encrypted, nonce.length)
  sealed.set(cipher.getAuthTag(), nonce.length + encrypted.length)
  return sealed.toString("base64")
}

const decrypt = (key: KeyObject, purpose: string, sealed: string): string | null => {
  const bytes = Buffer.from(sealed, "base64")
  // Of the spellings that decode to the same bytes only the one that `encrypt` writes counts.
  if (bytes.length < TextCrypto.nonce_bytes + tag_bytes || bytes.toString("base64") !== sealed) return null
  const end = bytes.length - tag_bytes
  const decipher = createDecipheriv(cipher_name, key, bytes.subarray(0, TextCrypto.nonce_bytes), mode)
    .setAAD(Buffer.from(purpose))
    .setAuthTag(bytes.subarray(end))
  const text = decipher.update(bytes.subarray(TextCrypto.nonce_bytes, end))
  try {
    // It throws only where the tag does not match.
    decipher.final()
    return text.toString()
  } catch {
    text.fill(0)
    return null
  }
}

const block_bytes = 64

/** HMAC with SHA-256 by its definition, two digests: an object that lives for one text costs more than both. */
const signer = (key: Uint8Array): ((text: string) => string) => {
  const padded = (byte: number) => Buffer.alloc(block_bytes, byte).map((padding, at) => padding ^ (key[at] ?? 0))
  const inner = padded(0x36)
  const outer = Buffer.concat([padded(0x5c), Buffer.alloc(32)])
  return (text) => {
    const bytes = Buffer.allocUnsafe(block_bytes + Buffer.byteLength(text))
    bytes.set(inner)
    bytes.write(text, block_bytes)
    outer.write(hash("sha256", bytes, "binary"), block_bytes, "binary")
    return hash("sha256", outer, "base64url")
  }
}

const nameOf = ({ name }: Pick<Digest.Algorithm, "name">): string => name.toLowerCase().replace("-", "")

/** Digests in one call: each request's key is hashed, and a hash object that lives for one text costs twice as much. */
const digest: Digest.Digest["Service"] = {
  digest: (algorithm, data) => Effect.sync(() => new Uint8Array(hash(nameOf(algorithm), data, "buffer"))),
  digestHex: (algorithm, data) => Effect.sync(() => hash(nameOf(algorithm), data, "hex"))
}

/** HMAC in the calling thread, as in `NodeCrypto.layerMac`. */
const hmac = (name: Digest.Algorithm["name"], key: Uint8Array, data: Uint8Array): Uint8Array =>
  new Uint8Array(createHmac(nameOf({ name }), keyObject(key)).update(data).digest())

/** The cryptography that the core needs, on `node:crypto`. */
export const layer: Layer.Layer<Digest.Digest | Mac.Mac | SecureRandom.SecureRandom | TextCrypto.TextCrypto> =
  Layer.mergeAll(
    Layer.succeed(TextCrypto.TextCrypto, textCrypto),
    Layer.succeed(Digest.Digest, digest),
    Mac.layerWebCryptoWith({ hmac }).pipe(Layer.provide(NodeCrypto.layerSecureRandom)),
    NodeCrypto.layerSecureRandom
  )

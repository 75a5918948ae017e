import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hash, type KeyObject } from "node:crypto"
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { Effect, Layer } from "effect"
import { Aead, Digest, Mac, type SecureRandom } from "effect/crypto"

const tag_bytes = 16
const mode = { authTagLength: tag_bytes }

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

/** AES-256-GCM in the calling thread: for the short texts that are sealed here, a thread pool costs more than it gives. */
const aes256Gcm: Aead.Implementation = {
  encrypt: (key, nonce, plaintext, aad) => {
    const cipher = createCipheriv("aes-256-gcm", keyObject(key), nonce, mode).setAAD(aad)
    return new Uint8Array(Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]))
  },
  decrypt: (key, nonce, sealed, aad) => {
    const end = sealed.length - tag_bytes
    const decipher = createDecipheriv("aes-256-gcm", keyObject(key), nonce, mode)
      .setAAD(aad)
      .setAuthTag(sealed.subarray(end))
    const plaintext = decipher.update(sealed.subarray(0, end))
    try {
      // `final` throws only where the tag does not match.
      return new Uint8Array(Buffer.concat([plaintext, decipher.final()]))
    } catch {
      plaintext.fill(0)
      return undefined
    }
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
export const layer: Layer.Layer<Aead.Aead | Digest.Digest | Mac.Mac | SecureRandom.SecureRandom> = Layer.mergeAll(
  Aead.layerWebCryptoWith({ implementations: { aes256Gcm } }).pipe(Layer.provide(NodeCrypto.layerSecureRandom)),
  Layer.succeed(Digest.Digest, digest),
  Mac.layerWebCryptoWith({ hmac }).pipe(Layer.provide(NodeCrypto.layerSecureRandom)),
  NodeCrypto.layerSecureRandom
)

import { createCipheriv, createDecipheriv } from "node:crypto"
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { Layer } from "effect"
import { Aead, type Digest, type Mac, type SecureRandom } from "effect/crypto"

const tag_bytes = 16
const mode = { authTagLength: tag_bytes }

/** AES-256-GCM in the calling thread: for the short texts that are sealed here, a thread pool costs more than it gives. */
const aes256Gcm: Aead.Implementation = {
  encrypt: (key, nonce, plaintext, aad) => {
    const cipher = createCipheriv("aes-256-gcm", key, nonce, mode).setAAD(aad)
    return new Uint8Array(Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]))
  },
  decrypt: (key, nonce, sealed, aad) => {
    const end = sealed.length - tag_bytes
    const decipher = createDecipheriv("aes-256-gcm", key, nonce, mode).setAAD(aad).setAuthTag(sealed.subarray(end))
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

/** The cryptography that the core needs, on `node:crypto`. */
export const layer: Layer.Layer<Aead.Aead | Digest.Digest | Mac.Mac | SecureRandom.SecureRandom> = Layer.mergeAll(
  Aead.layerWebCryptoWith({ implementations: { aes256Gcm } }).pipe(Layer.provide(NodeCrypto.layerSecureRandom)),
  NodeCrypto.layerDigest,
  NodeCrypto.layerMac,
  NodeCrypto.layerSecureRandom
)

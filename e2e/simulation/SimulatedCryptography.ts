import { type Quotewire, TextCrypto } from "@quotewire/core"
import { NodeCrypto } from "@quotewire/http"
import { Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type * as Chance from "../chaos/Chance.ts"

/*
 * The cryptography of a story: synchronous, with randomness derived from the seed. Sealed data stays readable, so that
 * states can be observed in storage, and because ciphers would take more time than the rest of a step. Webhooks are
 * signed as usual.
 */

const divider = "\n"

/** The content of a sealed text; null if it does not belong to a story. */
export const opened = (sealed: string): string | null => {
  const at = sealed.indexOf(divider)
  return at === -1 ? null : sealed.slice(at + divider.length)
}

/** Two hashes of 32 bits (FNV-1a), as 16 characters. */
const hashOf = (text: string): string => {
  let one = 0x811c9dc5
  let other = 0x050c5d1f
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    one = Math.imul(one ^ code, 0x01000193)
    other = Math.imul(other ^ code, 0x01000197)
  }
  const hex = (hash: number) => (hash >>> 0).toString(16).padStart(8, "0")
  return hex(one) + hex(other)
}

/** The length of a real signature. */
const signatureLength = 43

const encrypt = (_nonce: Uint8Array, purpose: string, text: string): string => purpose + divider + text

const plain: TextCrypto.TextCrypto["Service"] = {
  keyed: ({ mac }) => {
    const key = mac.join()
    return Effect.succeed({
      encrypt: (nonce, purpose, text) => Effect.succeed(encrypt(nonce, purpose, text)),
      encryptSync: encrypt,
      decrypt: (purpose, sealed) =>
        Effect.succeed(sealed.startsWith(purpose + divider) ? sealed.slice(purpose.length + divider.length) : null),
      sign: (text) => Effect.sync(() => hashOf(key + text).padEnd(signatureLength, "_"))
    })
  }
}

/** The cryptography of a story, with its random generator. */
export const layer = (chance: Chance.Chance): Layer.Layer<Quotewire.Cryptography> =>
  Layer.mergeAll(
    NodeCrypto.layer,
    Layer.succeed(TextCrypto.TextCrypto, plain),
    Layer.sync(SecureRandom.SecureRandom, () =>
      SecureRandom.make((size) => Uint8Array.from({ length: size }, () => chance.below(256)))
    )
  )

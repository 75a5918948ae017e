import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { NodeCrypto } from "@quotewire/http"
import { Effect, Exit } from "effect"
import { Aead, Digest, Mac, SecureRandom } from "effect/crypto"

const bytes = (text: string) => new TextEncoder().encode(text)

describe("the cryptography of Node", () => {
  it.effect("seals as the runtime's own does, so that one opens what the other has sealed", () =>
    Effect.gen(function* () {
      const random = yield* SecureRandom.SecureRandom
      const key = yield* Aead.key(Aead.aes256Gcm, yield* random.randomBytes(32))
      const options = { nonce: yield* random.randomBytes(12), aad: bytes("purpose") }
      const ours = yield* Aead.Aead
      const sealed = yield* ours.encrypt(key, bytes("東京"), options)
      const web = yield* Effect.provide(Aead.Aead, Aead.layerWebCrypto)
      assert.deepStrictEqual(yield* web.encrypt(key, bytes("東京"), options), sealed)
      assert.deepStrictEqual(yield* ours.decrypt(key, sealed, options), bytes("東京"))
      const altered = Uint8Array.from(sealed, (byte, index) => (index === 0 ? byte ^ 1 : byte))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(ours.decrypt(key, altered, options))))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(ours.decrypt(key, sealed, { ...options, aad: bytes("other") }))))
    }).pipe(Effect.provide(NodeCrypto.layer))
  )

  it.effect("signs as the runtime's own does", () =>
    Effect.gen(function* () {
      const ours = yield* Mac.Mac
      const web = yield* Effect.provide(Mac.Mac, Mac.layerWebCrypto)
      for (const algorithm of [Mac.hmacSha256, Mac.hmacSha512]) {
        const key = yield* Mac.key(algorithm, bytes("a key of some length"))
        const tag = yield* ours.sign(key, bytes("東京"))
        assert.deepStrictEqual(tag, yield* web.sign(key, bytes("東京")))
        assert.isTrue(yield* ours.verify(key, tag, bytes("東京")))
        assert.isFalse(yield* ours.verify(key, tag, bytes("Tokyo")))
      }
    }).pipe(Effect.provide(NodeCrypto.layer))
  )

  it.effect("digests", () =>
    Effect.gen(function* () {
      const digest = yield* Digest.Digest
      for (const [algorithm, name] of [
        [Digest.sha256, "sha256"],
        [Digest.sha512, "sha512"]
      ] as const) {
        const expected = createHash(name).update("x").digest()
        assert.strictEqual(yield* digest.digestHex(algorithm, bytes("x")), expected.toString("hex"))
        assert.deepStrictEqual(yield* digest.digest(algorithm, bytes("x")), new Uint8Array(expected))
      }
    }).pipe(Effect.provide(NodeCrypto.layer))
  )
})

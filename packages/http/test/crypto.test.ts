import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Quotewire, TextCrypto } from "@quotewire/core"
import { NodeCrypto } from "@quotewire/http"
import { Effect } from "effect"
import { Digest, Mac, SecureRandom } from "effect/crypto"

const bytes = (text: string) => new TextEncoder().encode(text)

describe("the Node cryptography layer", () => {
  it.effect("encrypts and decrypts text interchangeably with Web Crypto", () =>
    Effect.gen(function* () {
      const random = yield* SecureRandom.SecureRandom
      const keys = { aead: yield* random.randomBytes(32), mac: yield* random.randomBytes(32) }
      const nonce = yield* random.randomBytes(TextCrypto.nonceBytes)
      const ours = yield* (yield* TextCrypto.TextCrypto).keyed(keys)
      const web = yield* Effect.provide(
        Effect.flatMap(TextCrypto.TextCrypto, (crypto) => crypto.keyed(keys)),
        Quotewire.webCryptography
      )
      for (const text of ["", "x", "東京", "x".repeat(55), "x".repeat(64), "東京 and more ".repeat(1_000)]) {
        const sealed = yield* ours.encrypt(nonce, "purpose", text)
        assert.strictEqual(yield* web.encrypt(nonce, "purpose", text), sealed)
        assert.strictEqual(yield* ours.sign(text), yield* web.sign(text))
        for (const crypto of [ours, web]) {
          assert.strictEqual(yield* crypto.decrypt("purpose", sealed), text)
          assert.isNull(yield* crypto.decrypt("other", sealed))
          assert.isNull(yield* crypto.decrypt("purpose", `${sealed} `))
          assert.isNull(yield* crypto.decrypt("purpose", sealed.slice(4)))
          assert.isNull(yield* crypto.decrypt("purpose", ""))
        }
      }
    }).pipe(Effect.provide(NodeCrypto.layer))
  )

  it.effect("produces the same signatures as Web Crypto", () =>
    Effect.gen(function* () {
      const ours = yield* Mac.Mac
      const web = yield* Effect.provide(Mac.Mac, Mac.layerWebCrypto)
      for (const algorithm of [Mac.hmacSha256, Mac.hmacSha512]) {
        for (const length of [1, 20, 64, 65, 200]) {
          const key = yield* Mac.key(algorithm, bytes("k".repeat(length)))
          const tag = yield* ours.sign(key, bytes("東京"))
          assert.deepStrictEqual(tag, yield* web.sign(key, bytes("東京")))
          assert.isTrue(yield* ours.verify(key, tag, bytes("東京")))
          assert.isFalse(yield* ours.verify(key, tag, bytes("Tokyo")))
        }
      }
    }).pipe(Effect.provide(NodeCrypto.layer))
  )

  it.effect("computes the same digests as node:crypto", () =>
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

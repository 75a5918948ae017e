import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Mac, SecureRandom } from "effect/crypto"
import * as fc from "fast-check"
import { Webhook as StandardWebhook } from "standardwebhooks"
import { Webhook as SvixWebhook } from "svix"
import { BoundedMap } from "../../src/concurrency/BoundedMap.ts"
import * as Signature from "../../src/webhooks/Signature.ts"
import { verifyWebhook } from "../../src/webhooks/verifyWebhook.ts"

/** The example that the Standard Webhooks reference libraries and Svix publish. */
const published = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  timestamp: 1_614_265_330,
  body: '{"test": 2432232314}',
  signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
}
const otherSecret = Signature.makeSecret(new Uint8Array(32).fill(7))
const thirdSecret = Signature.makeSecret(new Uint8Array(32).fill(8))

const macs = {
  "on Node's crypto": NodeCrypto.layerMac,
  "on Web Crypto": Mac.layerWebCrypto.pipe(Layer.provide(SecureRandom.layerWebCrypto))
}

const signNow = (secrets: ReadonlyArray<string>, id: string, timestamp: number, body: string) =>
  Effect.flatMap(Mac.Mac, (mac) => Signature.sign(mac, secrets, id, timestamp, body)).pipe(
    Effect.provide(NodeCrypto.layerMac),
    Effect.runPromise
  )

const delivery = async (secrets: ReadonlyArray<string> = [published.secret]) => {
  const { id, timestamp, body } = published
  const signature = await signNow(secrets, id, timestamp, body)
  return { headers: Signature.headersOf({ id, timestamp, signature }), body, now_seconds: timestamp }
}

const secrets = fc.uint8Array({ minLength: 24, maxLength: 64 }).map(Signature.makeSecret)
const ids = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/)
const bodies = fc.string({ unit: "grapheme", maxLength: 600 })

describe("signing secrets", () => {
  it("are 24 to 64 random bytes in base64", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 24, maxLength: 64 }), (bytes) => {
        const secret = Signature.makeSecret(bytes)
        assert.isTrue(secret.startsWith("whsec_"))
        assert.deepStrictEqual(new Uint8Array(Buffer.from(secret.slice(6), "base64")), bytes)
      })
    )
    assert.throws(() => Signature.makeSecret(new Uint8Array(23)), RangeError)
    assert.throws(() => Signature.makeSecret(new Uint8Array(65)), RangeError)
  })
})

for (const [name, layer] of Object.entries(macs)) {
  describe(`signatures ${name}`, () => {
    it.effect("match the standard's test vectors", () =>
      Effect.gen(function* () {
        const mac = yield* Mac.Mac
        const { secret, id, timestamp, body } = published
        assert.strictEqual(yield* Signature.sign(mac, [secret], id, timestamp, body), published.signature)
      }).pipe(Effect.provide(layer))
    )

    it.effect("have an entry for each secret during a rotation", () =>
      Effect.gen(function* () {
        const mac = yield* Mac.Mac
        const { secret, id, timestamp, body } = published
        const entries = (yield* Signature.sign(mac, [otherSecret, secret], id, timestamp, body)).split(" ")
        assert.strictEqual(entries.length, 2)
        assert.strictEqual(entries[1], published.signature)
        assert.strictEqual(entries[0], yield* Signature.sign(mac, [otherSecret], id, timestamp, body))
      }).pipe(Effect.provide(layer))
    )

    it.effect("are the same with and without cached keys, and the cache is bounded", () =>
      Effect.gen(function* () {
        const mac = yield* Mac.Mac
        const { secret, id, timestamp, body } = published
        const keys: Signature.Keys = new BoundedMap(3)
        const other = yield* Mac.key(Mac.hmacSha256, new Uint8Array(24))
        for (let i = 0; i < 3; i++) keys.set(`secret ${i}`, other)
        const sign = Signature.signer(mac, keys)
        assert.strictEqual(yield* sign([secret], { id, timestamp, body }), published.signature)
        assert.strictEqual(yield* Signature.sign(mac, [secret], id, timestamp, body, keys), published.signature)
        assert.strictEqual(keys.size, 3)
        assert.isTrue(keys.has(secret))
        assert.isFalse(keys.has("secret 0"))
      }).pipe(Effect.provide(layer))
    )
  })
}

describe("signature headers", () => {
  it("have the same values under both prefixes", () => {
    const { id, timestamp, signature } = published
    const values = [id, String(timestamp), signature]
    const names = (prefix: string) => ["id", "timestamp", "signature"].map((name) => prefix + name)
    const own = Signature.headersOf({ id, timestamp, signature })
    assert.deepStrictEqual(Object.keys(own), [...names("webhook-"), ...names("quotewire-")])
    assert.deepStrictEqual(Object.values(own), [...values, ...values])
    assert.deepStrictEqual(Object.keys(Signature.headersOf({ id, timestamp, signature, prefix: "acme-" })), [
      ...names("webhook-"),
      ...names("acme-")
    ])
  })
})

describe("the standardwebhooks and svix libraries", () => {
  it("accept Quotewire's signatures", async () => {
    await fc.assert(
      fc.asyncProperty(secrets, secrets, ids, bodies, async (secret, older, id, body) => {
        const timestamp = Math.floor(Date.now() / 1_000)
        const signature = await signNow([secret, older], id, timestamp, body)
        const headers = { ...Signature.headersOf({ id, timestamp, signature }) }
        for (const known of [secret, older]) {
          new StandardWebhook(known).verify(body, headers, { jsonParse: false })
          new SvixWebhook(known).verify(JSON.stringify(body), await svixHeaders(known, id, timestamp, body))
        }
      }),
      { numRuns: 50 }
    )
  })

  /** Svix's library parses what it verified, so its body must be JSON. */
  const svixHeaders = async (secret: string, id: string, timestamp: number, body: string) => {
    const signature = await signNow([secret], id, timestamp, JSON.stringify(body))
    return { ...Signature.headersOf({ id, timestamp, signature }) }
  }

  it("create signatures that Quotewire accepts", async () => {
    await fc.assert(
      fc.asyncProperty(secrets, ids, bodies, fc.nat(4_000_000_000), async (secret, id, body, now_seconds) => {
        const at = new Date(now_seconds * 1_000)
        for (const library of [new StandardWebhook(secret), new SvixWebhook(secret)]) {
          const headers = {
            "Webhook-Id": id,
            "Webhook-Timestamp": String(now_seconds),
            "Webhook-Signature": library.sign(id, at, body)
          }
          const verified = await verifyWebhook({ secrets: [otherSecret, secret], headers, body, now_seconds })
          assert.deepStrictEqual(verified, { ok: true, id, timestamp: now_seconds })
        }
      }),
      { numRuns: 50 }
    )
  })
})

describe("signature verification", () => {
  const genuine: Signature.Verification = { ok: true, id: published.id, timestamp: published.timestamp }
  const failed = (reason: Signature.Distrust): Signature.Verification => ({ ok: false, reason })

  it("accepts a body as text or bytes, and headers in any form", async () => {
    const { headers, body, now_seconds } = await delivery()
    const bytes = new TextEncoder().encode(body)
    const lists = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]))
    for (const form of [headers, new Headers(headers), lists]) {
      for (const raw of [body, bytes, Buffer.from(body)]) {
        const verified = await verifyWebhook({ secrets: [published.secret], headers: form, body: raw, now_seconds })
        assert.deepStrictEqual(verified, genuine)
      }
    }
  })

  it("accepts a match between any entry and any secret", async () => {
    const both = await delivery([otherSecret, published.secret])
    for (const known of [[published.secret], [otherSecret], [thirdSecret, otherSecret]]) {
      assert.deepStrictEqual(await verifyWebhook({ ...both, secrets: known }), genuine)
    }
    assert.deepStrictEqual(await verifyWebhook({ ...both, secrets: [thirdSecret] }), failed("wrong_signature"))
    const mixed = { ...both.headers, "webhook-signature": `v1a,xyz v1,AAAA ${both.headers["webhook-signature"]} v2,zz` }
    assert.deepStrictEqual(await verifyWebhook({ ...both, headers: mixed, secrets: [published.secret] }), genuine)
  })

  it("accepts a timestamp up to five minutes off in either direction, and not a second more", async () => {
    const { headers, body, now_seconds } = await delivery()
    const at = (offset: number, tolerance_seconds?: number) =>
      verifyWebhook({
        secrets: [published.secret],
        headers,
        body,
        now_seconds: now_seconds + offset,
        ...(tolerance_seconds !== undefined && { tolerance_seconds })
      })
    assert.deepStrictEqual(await at(300), genuine)
    assert.deepStrictEqual(await at(-300), genuine)
    assert.deepStrictEqual(await at(301), failed("timestamp_too_old"))
    assert.deepStrictEqual(await at(-301), failed("timestamp_too_new"))
    assert.deepStrictEqual(await at(11, 10), failed("timestamp_too_old"))
    assert.deepStrictEqual(await at(Number.NaN), failed("timestamp_too_old"))
  })

  it("uses the runtime's clock by default", async () => {
    const { id, body, secret } = published
    const timestamp = Math.floor(Date.now() / 1_000)
    const headers = Signature.headersOf({ id, timestamp, signature: await signNow([secret], id, timestamp, body) })
    assert.deepStrictEqual(await verifyWebhook({ secrets: [secret], headers, body }), { ok: true, id, timestamp })
    assert.deepStrictEqual(await verifyWebhook({ ...(await delivery()), secrets: [secret] }), genuine)
  })

  it("rejects missing and malformed headers", async () => {
    const { headers, body, now_seconds } = await delivery()
    const check = (change: Record<string, string | ReadonlyArray<string> | undefined>) =>
      verifyWebhook({ secrets: [published.secret], headers: { ...headers, ...change }, body, now_seconds })
    for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
      assert.deepStrictEqual(await check({ [name]: undefined }), failed("missing_header"))
      assert.deepStrictEqual(await check({ [name]: "" }), failed("missing_header"))
      assert.deepStrictEqual(await check({ [name]: [headers[name] ?? "", "x"] }), failed("garbled_header"))
      assert.deepStrictEqual(await check({ [name.toUpperCase()]: "x" }), failed("garbled_header"))
    }
    for (const timestamp of ["1e9", "-1", "+1614265330", "1614265330.0", " 1614265330", "0x10", "now"]) {
      assert.deepStrictEqual(await check({ "webhook-timestamp": timestamp }), failed("garbled_header"))
    }
    // A full stop would let part of an id pass as the timestamp.
    assert.deepStrictEqual(await check({ "webhook-id": "msg_1.1614265330" }), failed("garbled_header"))
    for (const signature of [published.signature.slice(3), "v2,abc", "V1,abc", "v1"]) {
      assert.deepStrictEqual(await check({ "webhook-signature": signature }), failed("garbled_header"))
    }
    for (const signature of ["v1,", "v1,!!!!", `${published.signature}=`, published.signature.toLowerCase()]) {
      assert.deepStrictEqual(await check({ "webhook-signature": signature }), failed("wrong_signature"))
    }
  })

  it("rejects an altered id, timestamp or body", async () => {
    const { headers, body, now_seconds } = await delivery()
    const base = { secrets: [published.secret], now_seconds }
    const changed = (changes: Record<string, string>) =>
      verifyWebhook({ ...base, body, headers: { ...headers, ...changes } })
    assert.deepStrictEqual(await changed({ "webhook-id": "msg_other" }), failed("wrong_signature"))
    assert.deepStrictEqual(await changed({ "webhook-timestamp": String(now_seconds + 1) }), failed("wrong_signature"))
    await fc.assert(
      fc.asyncProperty(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const bytes = new TextEncoder().encode(body)
        bytes[at] = (bytes[at] ?? 0) ^ flip
        assert.deepStrictEqual(await verifyWebhook({ ...base, headers, body: bytes }), failed("wrong_signature"))
      })
    )
  })

  it("reports an invalid secret as unusable_secret", async () => {
    const { headers, body, now_seconds } = await delivery()
    const unusable = ["", "whsec_", "whsec_!!!", published.secret.slice(6), "whsec_c2hvcnQ=", `${published.secret}a`]
    for (const known of [[], ...unusable.map((secret) => [secret]), [published.secret, ""]]) {
      const verified = await verifyWebhook({ secrets: known, headers, body, now_seconds })
      assert.deepStrictEqual(verified, failed("unusable_secret"))
    }
  })

  it("reports a body that was already parsed as unusable_body", async () => {
    const { headers, now_seconds } = await delivery()
    for (const body of [{}, null].map((value) => JSON.parse(JSON.stringify(value)))) {
      const verified = await verifyWebhook({ secrets: [published.secret], headers, body, now_seconds })
      assert.deepStrictEqual(verified, failed("unusable_body"))
    }
  })

  it("fails without throwing, whatever the headers", async () => {
    const texts = fc.oneof(fc.string({ unit: "binary" }), fc.constant(published.signature), fc.constant("1614265330"))
    const wild = fc.record({ "webhook-id": texts, "webhook-timestamp": texts, "webhook-signature": texts })
    await fc.assert(
      fc.asyncProperty(wild, bodies, async (headers, body) => {
        const verified = await verifyWebhook({ secrets: [published.secret], headers, body, now_seconds: 1_614_265_330 })
        assert.isFalse(verified.ok)
      })
    )
  })
})

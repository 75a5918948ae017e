import { crc32 } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Access } from "../../src/access/Access.ts"
import { isWellFormed, randomBytes, write } from "../../src/access/ApiKey.ts"
import { World } from "../../src/testing/World.ts"
import { OrganizationId } from "../../src/wire/Ids.ts"
import { list, pass, refusal, testInWorld } from "../support/world.ts"

const bytes = (seed: number) => Uint8Array.from({ length: randomBytes }, (_, i) => (i * 7 + seed * 31) % 256)

describe("an API key", () => {
  it("contains its environment and kind, then 32 secret and 6 checksum characters", () => {
    for (const environment of ["sandbox", "live"] as const) {
      for (const kind of ["server", "widget", "platform"] as const) {
        const key = write(environment, kind, bytes(1))
        assert.match(key, new RegExp(`^${environment}_${kind}_[0-9A-Za-z]{38}$`))
        assert.isTrue(isWellFormed(key))
      }
    }
  })

  it("ends with the CRC-32 of the text before it", () => {
    const key = write("sandbox", "server", new Uint8Array(randomBytes))
    assert.strictEqual(key.slice(0, -6), `sandbox_server_${"0".repeat(32)}`)
    // From another implementation (zlib's crc32 of the same text), in base 62: digits, capitals, lower-case letters.
    let crc = crc32(key.slice(0, -6))
    let written = ""
    for (let i = 0; i < 6; i++) {
      written = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".charAt(crc % 62) + written
      crc = Math.floor(crc / 62)
    }
    assert.strictEqual(key.slice(-6), written)
  })

  it("is malformed if any character is mistyped, missing or doubled, or two adjacent characters are swapped", () => {
    const key = write("live", "platform", bytes(3))
    for (let i = 0; i < key.length; i++) {
      const typo = key.charAt(i) === "x" ? "y" : "x"
      assert.isFalse(isWellFormed(key.slice(0, i) + typo + key.slice(i + 1)), `mistyped at ${i}`)
      assert.isFalse(isWellFormed(key.slice(0, i) + key.slice(i + 1)), `left out at ${i}`)
      assert.isFalse(isWellFormed(key.slice(0, i) + key.charAt(i) + key.slice(i)), `doubled at ${i}`)
      const swapped = key.slice(0, i) + key.charAt(i + 1) + key.charAt(i) + key.slice(i + 2)
      if (swapped !== key) assert.isFalse(isWellFormed(swapped), `swapped at ${i}`)
    }
  })

  it("uses all 62 letters and digits, and is never generated from too few usable random bytes", () => {
    assert.throws(() => write("live", "server", new Uint8Array(randomBytes).fill(255)), RangeError)
    const counts = new Map<string, number>()
    for (let seed = 0; seed < 256; seed++) {
      const secret = write("live", "server", bytes(seed)).slice("live_server_".length, -6)
      for (const character of secret) counts.set(character, (counts.get(character) ?? 0) + 1)
    }
    assert.strictEqual(counts.size, 62)
  })

  testInWorld("is refused without a storage lookup if it is malformed, and after a lookup if it is unknown", () => {
    let lookups = 0
    return {
      around: (storage) => ({
        ...storage,
        get: (key) => {
          lookups++
          return storage.get(key)
        }
      }),
      body: Effect.gen(function* () {
        const { keys } = yield* World
        // Its preparation looked keys up, too.
        lookups = 0
        const mistyped = keys.sandbox.server.replace(/.$/, (last) => (last === "0" ? "1" : "0"))
        const wrong = ["", " ", "sandbox_server_", mistyped, `${keys.sandbox.server} `, `Bearer ${keys.sandbox.server}`]
        for (const key of wrong) assert.strictEqual((yield* refusal(list({}, { key })))._tag, "authentication_failed")
        assert.strictEqual(lookups, 0)
        const unknown = write("sandbox", "server", bytes(9))
        assert.strictEqual((yield* refusal(list({}, { key: unknown })))._tag, "authentication_failed")
        assert.strictEqual(lookups, 1)
      })
    }
  })

  testInWorld(
    "works immediately after it is created, and after its cache entry has expired",
    Effect.gen(function* () {
      const access = yield* Access
      const { organization } = yield* World
      const { key, key_id } = yield* access.createKey({
        organization_id: organization.id,
        environment: "sandbox",
        kind: "server"
      })
      assert.match(key_id, /^key_/)
      for (let i = 0; i < 3; i++) {
        assert.deepStrictEqual((yield* list({}, { key })).quote_requests, [])
        yield* pass(1_500)
      }
    })
  )

  testInWorld(
    "cannot be created for an unknown organization",
    Effect.gen(function* () {
      const access = yield* Access
      const organization_id = OrganizationId.make(`org_${"0".repeat(26)}`)
      const error = yield* Effect.flip(access.createKey({ organization_id, environment: "live", kind: "widget" }))
      assert.strictEqual(error._tag, "not_found")
    })
  )
})

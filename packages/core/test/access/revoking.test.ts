import { assert, describe } from "@effect/vitest"
import { NodeCrypto } from "@quotewire/http"
import { Clock, Context, Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Access } from "../../src/access/Access.ts"
import { World } from "../../src/testing/World.ts"
import { KeyId, OrganizationId } from "../../src/wire/Ids.ts"
import { list, pass, refusal, testInWorld } from "../support/world.ts"

const newKey = Effect.gen(function* () {
  const access = yield* Access
  const { organization } = yield* World
  return yield* access.createKey({ organization_id: organization.id, environment: "sandbox", kind: "server" })
})

/** How another host on the same storage treats a key. */
const otherHost = Effect.map(
  Layer.build(Layer.fresh(Access.layer).pipe(Layer.provide(NodeCrypto.layer))),
  (context) => (key: string) =>
    Context.get(context, Access).authenticate({ key, read_handle: null, address: "192.0.2.1", keyless: false })
)

describe("an organization's keys", () => {
  testInWorld(
    "are listed oldest first, with their metadata but without the secret text",
    Effect.gen(function* () {
      const access = yield* Access
      const { organization, keys } = yield* World
      yield* pass(5_000)
      const { key, key_id } = yield* newKey
      const listed = yield* access.listKeys(organization.id)
      assert.deepStrictEqual(
        listed.map(({ environment, kind }) => `${environment} ${kind}`),
        [
          ...["sandbox", "live"].flatMap((e) => ["server", "widget", "platform"].map((kind) => `${e} ${kind}`)),
          "sandbox server"
        ]
      )
      assert.strictEqual(listed.at(-1)?.id, key_id)
      const text = JSON.stringify(listed)
      for (const secret of [key, ...Object.values(keys.sandbox)]) assert.notInclude(text, secret)
      assert.deepStrictEqual(Object.keys(listed[0] ?? {}), [
        ...["id", "organization_id", "workspace_id", "environment", "kind", "created_at", "revoked_at"]
      ])
    })
  )

  testInWorld(
    "are all listed, even if there are more than a hundred",
    Effect.gen(function* () {
      const access = yield* Access
      const { organization } = yield* World
      const other = yield* access.createOrganization("Another")
      for (let i = 0; i < 130; i++) yield* newKey
      assert.lengthOf(yield* access.listKeys(organization.id), 136)
      assert.deepStrictEqual(yield* access.listKeys(other.id), [])
      const nobody = OrganizationId.make(`org_${"0".repeat(26)}`)
      assert.strictEqual((yield* Effect.flip(access.listKeys(nobody)))._tag, "not_found")
      const names = (yield* access.listOrganizations).map(({ name }) => name)
      assert.deepStrictEqual(names, ["A test", "Another"])
    })
  )
})

describe("a revoked key", () => {
  testInWorld(
    "is refused immediately on the host that revoked the key, and within a second on other hosts",
    Effect.gen(function* () {
      const access = yield* Access
      const elsewhere = yield* otherHost
      const { key, key_id } = yield* newKey
      yield* list({}, { key })
      yield* elsewhere(key)
      yield* access.revokeKey(key_id)
      assert.strictEqual((yield* refusal(list({}, { key })))._tag, "authentication_failed")
      yield* list()
      yield* pass(1_000)
      assert.strictEqual((yield* Effect.flip(elsewhere(key)))._tag, "authentication_failed")
    })
  )

  testInWorld(
    "is refused even on another host whose clock was set back",
    Effect.gen(function* () {
      const access = yield* Access
      const elsewhere = yield* otherHost
      const { key, key_id } = yield* newKey
      const lookedUpAt = yield* Clock.currentTimeMillis
      yield* elsewhere(key)
      yield* access.revokeKey(key_id)
      yield* pass(30_000)
      yield* TestClock.setTime(lookedUpAt)
      assert.strictEqual((yield* Effect.flip(elsewhere(key)))._tag, "authentication_failed")
    })
  )

  testInWorld(
    "keeps its first revocation time when it is revoked again",
    Effect.gen(function* () {
      const access = yield* Access
      const { organization } = yield* World
      const { key_id } = yield* newKey
      const revoked = yield* access.revokeKey(key_id)
      yield* pass(7_000)
      assert.deepStrictEqual(yield* access.revokeKey(key_id), revoked)
      assert.isNumber(revoked.revoked_at)
      const listed = yield* access.listKeys(organization.id)
      assert.deepStrictEqual(
        listed.filter(({ revoked_at }) => revoked_at !== null),
        [revoked]
      )
      const nobodys = KeyId.make(`key_${"0".repeat(26)}`)
      assert.strictEqual((yield* Effect.flip(access.revokeKey(nobodys)))._tag, "not_found")
    })
  )

  testInWorld("is not cached by a concurrent call that looked it up before the revocation", () => {
    const reads = { reached: Deferred.makeUnsafe<void>(), go: Deferred.makeUnsafe<void>(), isHeld: false }
    return {
      around: (storage) => ({
        ...storage,
        get: (key) =>
          Effect.gen(function* () {
            const found = yield* storage.get(key)
            if (!reads.isHeld || key.kind !== "api_key") return found
            reads.isHeld = false
            yield* Deferred.succeed(reads.reached, undefined)
            yield* Deferred.await(reads.go)
            return found
          })
      }),
      body: Effect.gen(function* () {
        const access = yield* Access
        const { key, key_id } = yield* newKey
        reads.isHeld = true
        const call = yield* Effect.forkChild(list({}, { key }))
        yield* Deferred.await(reads.reached)
        yield* access.revokeKey(key_id)
        yield* Deferred.succeed(reads.go, undefined)
        yield* Fiber.join(call)
        assert.strictEqual((yield* refusal(list({}, { key })))._tag, "authentication_failed")
      })
    }
  })
})

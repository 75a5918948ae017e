import { assert, describe, it } from "@effect/vitest"
import { Storage } from "@quotewire/core"
import { World } from "@quotewire/core/testing"
import { NodeCrypto } from "@quotewire/http"
import { PgStorage } from "@quotewire/storage-pg"
import { Context, Effect, Layer } from "effect"
import { play } from "../packages/core/test/sandbox/crashes.ts"
import { scopedDatabase, statements } from "../test/support/TestDatabase.ts"

/*
 * QUOTEWIRE_CRASH_SEEDS=1-300 npx vitest run e2e/crashes.test.ts plays these seeds.
 */

const [first = 1, last = first] = (process.env.QUOTEWIRE_CRASH_SEEDS ?? "1-3").split("-").map(Number)

describe("hosts that crash and pause on one database", () => {
  for (let seed = first; seed <= last; seed++) {
    it.effect(
      `advance the clock by the sum of all advances, and deliver every event: seed ${seed}`,
      () =>
        Effect.gen(function* () {
          const { options, url } = yield* scopedDatabase
          const open = Effect.orDie(
            Effect.map(Layer.build(PgStorage.layer(options)), (opened) => Context.get(opened, Storage.Storage))
          )
          const own = Layer.succeed(Storage.Storage, yield* open)
          yield* play(seed, open).pipe(Effect.provide(World.World.layer(own, { cryptography: NodeCrypto.layer })))
          const waiting = "select lane, due_at, leased_until from quotewire.job where kind = 'deliver'"
          assert.deepStrictEqual(yield* Effect.promise(() => statements(url, waiting)), [])
        }).pipe(Effect.scoped),
      300_000
    )
  }
})

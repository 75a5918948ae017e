import { assert, describe, it, vi } from "@effect/vitest"
import { embed, generateSealKey } from "@quotewire/core"
import { postgres } from "@quotewire/storage-pg"
import { Effect } from "effect"
import { emptyDatabase } from "../../../test/support/TestDatabase.ts"

const messageOf = (promise: Promise<unknown>) =>
  Effect.promise(() =>
    promise.then(
      () => assert.fail("did not reject"),
      (error: unknown) => (error instanceof Error ? error.message : assert.fail(String(error)))
    )
  )

const embedded = (options: Parameters<typeof embed>[0]) =>
  Effect.acquireRelease(
    Effect.sync(() => embed({ work: false, ...options })),
    (quotewire) => Effect.promise(() => quotewire.close())
  )

describe("postgres", () => {
  it.live("connects an embedded service to a database, and explains invalid settings", () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.acquireRelease(Effect.promise(emptyDatabase), ({ drop }) => Effect.promise(drop))
      const seal_keys = [generateSealKey()]
      const outdated = yield* embedded({ storage: postgres({ url }), seal_keys })
      assert.match(
        yield* messageOf(outdated.ready),
        /^The database schema is at migration 0.* postgres\(\{ migrate: true/
      )
      const first = yield* embedded({ storage: postgres({ url, migrate: true }), seal_keys })
      const { id } = yield* Effect.promise(() => first.createOrganization("Acme"))
      const second = yield* embedded({ storage: postgres({ url }), seal_keys })
      const listed = yield* Effect.promise(() => second.listOrganizations())
      assert.deepStrictEqual(
        listed.map((organization) => organization.id),
        [id]
      )
      const forgetful = yield* embedded({ storage: postgres({ url }) })
      assert.match(yield* messageOf(forgetful.ready), /^Set seal_keys to the keys that sealed/)
    })
  )

  it.live("creates a service from two environment variables, as the example does", () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.acquireRelease(Effect.promise(emptyDatabase), ({ drop }) => Effect.promise(drop))
      const sealKey = generateSealKey()
      const first = yield* embedded({ storage: postgres({ url, migrate: true }), seal_keys: [sealKey] })
      const { id } = yield* Effect.promise(() => first.createOrganization("Acme"))
      yield* Effect.promise(() => first.close())
      vi.stubEnv("DATABASE_URL", url)
      vi.stubEnv("SEAL_KEY", sealKey)
      const printed = vi.spyOn(console, "log").mockImplementation(() => {})
      yield* Effect.addFinalizer(() => Effect.sync(() => vi.unstubAllEnvs().restoreAllMocks()))
      yield* Effect.promise(() => import("../../../examples/postgres.ts"))
      // The service also logs there.
      assert.deepInclude(printed.mock.calls, [id, "Acme"])
    })
  )

  it.live.each([
    "",
    "localhost:5432",
    "mysql://user:secret@localhost/quotes",
    undefined,
    // Passwords with unencoded special characters: part of each parses as host, port or path.
    "postgres://user:12#secret@127.0.0.1:1/quotes",
    "postgres://user:12?secret@127.0.0.1:1/quotes",
    "postgres://user:my@secret/word@127.0.0.1:1/quotes",
    "postgres://user:12/secret@127.0.0.1:1/quotes",
    "postgres://user:secret%zz@127.0.0.1:1/quotes",
    "postgres:secret"
  ])("rejects an invalid address without repeating the address: %j", (url) =>
    Effect.gen(function* () {
      const { ready } = yield* embedded({ storage: postgres({ url }) })
      const form =
        "such as postgres://user:password@host:5432/database, with special characters of the password percent-encoded."
      assert.strictEqual(yield* messageOf(ready), `url must be the address of a PostgreSQL database, ${form}`)
    })
  )

  it.live("accepts a password whose special characters are encoded", () =>
    Effect.gen(function* () {
      const password = encodeURIComponent("s#e/c?r@e:t%zz ü")
      const url = `postgres://user:${password}@127.0.0.1:1/quotes?application_name=a%40b`
      const { ready } = yield* embedded({ storage: postgres({ url }) })
      assert.match(yield* messageOf(ready), /^PostgreSQL cannot be reached at 127\.0\.0\.1:1/)
    })
  )
})

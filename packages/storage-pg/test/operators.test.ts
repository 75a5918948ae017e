import { assert, describe, it } from "@effect/vitest"
import { embed, generateSealKey } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Redacted } from "effect"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"

/** A service on an empty database, and what an operator can do there. */
const serviceAndDesk = Effect.gen(function* () {
  const { url } = yield* scopedDatabase
  const quotewire = yield* Effect.acquireRelease(
    Effect.sync(() =>
      embed({ storage: PgStorage.layer({ url: Redacted.make(url) }), seal_keys: [generateSealKey()], work: false })
    ),
    ({ close }) => Effect.promise(close)
  )
  return { quotewire, desk: quotewire.operators.as({ name: "Desk" }) }
})

/** Two organizations that start nine requests by turns, in both environments. Returns the requests, newest first. */
const withRequests = Effect.gen(function* () {
  const { desk, quotewire } = yield* serviceAndDesk
  return yield* Effect.promise(async () => {
    const one = await desk.create_organization({ name: "One" })
    const two = await desk.create_organization({ name: "Two" })
    const started: Array<string> = []
    for (let i = 0; i < 9; i++) {
      const organization_id = i % 2 === 0 ? one.id : two.id
      const environment = i % 3 === 0 ? "live" : "sandbox"
      const { key } = await desk.create_key({ organization_id, environment, kind: "server" })
      const { id } = await quotewire.client(key).start_quote_request({
        line: "renters",
        consent_receipt_id: "receipt-0001",
        request_key: `key-${i}`,
        application: ExampleApplications.smallest.renters
      })
      started.unshift(id)
    }
    return { desk, one, started }
  })
})

describe("operators on PostgreSQL", () => {
  it.live("list the requests of all organizations, newest first", () =>
    Effect.gen(function* () {
      const { desk, started } = yield* withRequests
      const found: Array<string> = []
      let cursor: string | null = null
      do {
        const page = yield* Effect.promise(
          (): ReturnType<typeof desk.find_quote_requests> =>
            desk.find_quote_requests({ limit: 2, reason: "queued", ...(cursor !== null && { cursor }) })
        )
        found.push(...page.quote_requests.map(({ id }) => id))
        cursor = page.next_cursor
      } while (cursor !== null)
      assert.deepStrictEqual(found, started)
    })
  )

  it.live("read the audit log of one organization or of one request", () =>
    Effect.gen(function* () {
      const { desk, one, started } = yield* withRequests
      yield* Effect.promise(async () => {
        const { entries } = await desk.list_audit_log({ organization_id: one.id, operation: "create_key" })
        assert.lengthOf(entries, 5)

        const [first = assert.fail("nothing started")] = started
        assert.strictEqual((await desk.get_quote_request_timeline({ id: first })).quote_request_id, first)
        const about = await desk.list_audit_log({ quote_request_id: first })
        assert.deepStrictEqual(
          about.entries.map(({ operation, outcome }) => [operation, outcome]),
          [["get_quote_request_timeline", "succeeded"]]
        )
      })
    })
  )

  it.live("see how long due work has waited", () =>
    Effect.gen(function* () {
      const { desk } = yield* withRequests
      const { waits_ms } = yield* Effect.promise(() => desk.get_work())
      assert.strictEqual(waits_ms >= 0, true)
    })
  )

  it.live("create, list and revoke tokens", () =>
    Effect.gen(function* () {
      const { operators } = (yield* serviceAndDesk).quotewire
      yield* Effect.promise(async () => {
        const { details, token } = await operators.createToken({ name: "Desk", scopes: ["read"] })
        assert.match(token, /^operator_/)
        assert.deepStrictEqual(await operators.listTokens(), [details])
        assert.isString((await operators.revokeToken(details.id)).revoked_at)
      })
    })
  )
})

import { assert, describe, it } from "@effect/vitest"
import { embed, generateSealKey } from "@quotewire/core"
import { Applications } from "@quotewire/core/testing"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Redacted } from "effect"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"

describe("operators on PostgreSQL", () => {
  it.live("find the requests of all organizations, newest first, and read the audit log by organization", () =>
    Effect.gen(function* () {
      const { url } = yield* scopedDatabase
      const quotewire = yield* Effect.acquireRelease(
        Effect.sync(() =>
          embed({ storage: PgStorage.layer({ url: Redacted.make(url) }), seal_keys: [generateSealKey()], work: false })
        ),
        ({ close }) => Effect.promise(close)
      )
      yield* Effect.promise(async () => {
        const desk = quotewire.operators.as({ name: "Desk" })
        const organizations = [
          await desk.create_organization({ name: "One" }),
          await desk.create_organization({ name: "Two" })
        ]
        const started: Array<string> = []
        for (let i = 0; i < 9; i++) {
          const { id: organization_id } = organizations[i % 2] ?? assert.fail("no organization")
          const environment = i % 3 === 0 ? "live" : "sandbox"
          const { key } = await desk.create_key({ organization_id, environment, kind: "server" })
          const { id } = await quotewire.client(key).start_quote_request({
            line: "renters",
            consent_receipt_id: "receipt-0001",
            request_key: `key-${i}`,
            application: Applications.smallest.renters
          })
          started.unshift(id)
        }
        const found: Array<string> = []
        let cursor: string | null = null
        do {
          const page: Awaited<ReturnType<typeof desk.find_quote_requests>> = await desk.find_quote_requests({
            limit: 2,
            reason: "queued",
            ...(cursor !== null && { cursor })
          })
          found.push(...page.quote_requests.map(({ id }) => id))
          cursor = page.next_cursor
        } while (cursor !== null)
        assert.deepStrictEqual(found, started)

        const [first = assert.fail("nothing started")] = started
        assert.strictEqual((await desk.get_quote_request_timeline({ id: first })).quote_request_id, first)
        const [one] = organizations
        const { entries } = await desk.list_audit_log({ organization_id: one?.id ?? "", operation: "create_key" })
        assert.lengthOf(entries, 5)
        const about = await desk.list_audit_log({ quote_request_id: first })
        assert.deepStrictEqual(
          about.entries.map(({ operation, outcome }) => [operation, outcome]),
          [["get_quote_request_timeline", "succeeded"]]
        )
        assert.strictEqual((await desk.get_work()).waits_ms >= 0, true)
        const { details, token } = await quotewire.operators.createToken({ name: "Desk", scopes: ["read"] })
        assert.match(token, /^operator_/)
        assert.deepStrictEqual(await quotewire.operators.listTokens(), [details])
        assert.isString((await quotewire.operators.revokeToken(details.id)).revoked_at)
      })
    })
  )
})

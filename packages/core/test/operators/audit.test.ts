import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Access } from "../../src/access/Access.ts"
import { listAuditLog } from "../../src/operators/AuditOperations.ts"
import { createKey, createOrganization, listOrganizations } from "../../src/operators/OrganizationOperations.ts"
import { getTimeline, readExchanges } from "../../src/operators/QuoteRequestOperations.ts"
import { Retention } from "../../src/runner/Retention.ts"
import { directoryWorkspace, type Storage, StorageUnavailable } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { dayMs } from "../../src/wire/Timestamp.ts"
import { refusal, start, testInWorld } from "../support/world.ts"
import { callWith, tokenOf } from "./support.ts"

/** The log, newest first, without values that differ between runs. */
const logged = (token: string, filters: object = {}) =>
  Effect.map(callWith(token, listAuditLog, { limit: 100, ...filters }), ({ entries }) =>
    entries.map(({ operation, outcome, error_code, resource }) => [operation, outcome, error_code, resource])
  )

describe("the audit log", () => {
  testInWorld(
    "records who did what to which resource, and the outcome",
    Effect.gen(function* () {
      const { organization } = yield* World
      const { details, token } = yield* tokenOf()
      const { id } = yield* start()
      yield* callWith(token, getTimeline, { id })
      const { key_id } = yield* callWith(token, createKey, {
        organization_id: organization.id,
        environment: "sandbox",
        kind: "server"
      })
      yield* refusal(callWith(token, createOrganization, { name: "Jane Doe, 555-01-9999".repeat(20) }))
      const { entries } = yield* callWith(token, listAuditLog, {})
      const [refused, created, read] = entries
      assert.deepStrictEqual(
        { ...created, id: null, request_id: null },
        {
          id: null,
          at: "2026-11-20T12:00:00.000Z",
          request_id: null,
          token_id: details.id,
          token_name: "Support desk",
          operation: "create_key",
          scope: "write",
          organization_id: organization.id,
          quote_request_id: null,
          resource: key_id,
          outcome: "succeeded",
          error_code: null
        }
      )
      assert.deepStrictEqual([read?.quote_request_id, read?.organization_id], [id, organization.id])
      assert.deepStrictEqual([refused?.outcome, refused?.error_code], ["refused", "invalid_input"])
      assert.notInclude(JSON.stringify(entries), "Jane")
      assert.notInclude(JSON.stringify(entries), token.slice(9))
    })
  )

  testInWorld(
    "can be searched by operation, outcome, organization and request, page by page",
    Effect.gen(function* () {
      const { organization } = yield* World
      const { token } = yield* tokenOf()
      const { id } = yield* start()
      for (let i = 0; i < 3; i++) yield* callWith(token, listOrganizations)
      yield* callWith(token, getTimeline, { id })
      assert.strictEqual((yield* logged(token, { operation: "list_organizations" })).length, 3)
      assert.strictEqual((yield* logged(token, { quote_request_id: id })).length, 1)
      assert.strictEqual((yield* logged(token, { organization_id: organization.id })).length, 1)
      assert.deepStrictEqual(yield* logged(token, { outcome: "refused" }), [])
      const first = yield* callWith(token, listAuditLog, { operation: "list_organizations", limit: 2 })
      const cursor = first.next_cursor
      const second = yield* callWith(token, listAuditLog, { operation: "list_organizations", limit: 2, cursor })
      assert.deepStrictEqual([first.entries.length, second.entries.length, second.next_cursor], [2, 1, null])
      const elsewhere = yield* refusal(callWith(token, listAuditLog, { cursor }))
      assert.strictEqual(elsewhere._tag, "invalid_cursor")
    })
  )

  testInWorld(
    "shows an organization's token only that organization's entries",
    Effect.gen(function* () {
      const { organization } = yield* World
      const other = yield* Access.use((access) => access.createOrganization("Other"))
      const { token } = yield* tokenOf()
      yield* callWith(token, createKey, { organization_id: organization.id, environment: "live", kind: "server" })
      const limited = yield* tokenOf({ name: "limited", organization_id: other.id })
      assert.deepStrictEqual(yield* logged(limited.token), [])
      assert.deepStrictEqual(yield* logged(limited.token), [["list_audit_log", "succeeded", null, null]])
      const foreign = yield* refusal(callWith(limited.token, listAuditLog, { organization_id: organization.id }))
      assert.strictEqual(foreign._tag, "not_found")
    })
  )

  testInWorld(
    "keeps entries for a limited time",
    Effect.gen(function* () {
      const { token } = yield* tokenOf({ expires_in_days: 365 })
      yield* callWith(token, listOrganizations)
      const sweep = Retention.use((retention) => retention.sweep(directoryWorkspace))
      yield* TestClock.adjust(300 * dayMs)
      yield* sweep
      assert.strictEqual((yield* logged(token)).length, 1)
      yield* TestClock.adjust(120 * dayMs)
      yield* sweep
      const later = yield* tokenOf()
      assert.deepStrictEqual(
        (yield* logged(later.token)).map(([operation]) => operation),
        ["list_audit_log"]
      )
    })
  )

  testInWorld("is written first: an operation that cannot be recorded changes and shows nothing", () => {
    const state = { refuses: false }
    const refusing = (storage: Storage["Service"]): Storage["Service"] => ({
      ...storage,
      commit: (change) =>
        state.refuses && change.writes.some(({ kind }) => kind === "audit_entry")
          ? Effect.fail(new StorageUnavailable({ retry_after_seconds: 1 }))
          : storage.commit(change)
    })
    return {
      around: refusing,
      body: Effect.gen(function* () {
        const { token } = yield* tokenOf()
        const { id } = yield* start()
        state.refuses = true
        const refused = [
          yield* refusal(callWith(token, createOrganization, { name: "Acme" })),
          yield* refusal(callWith(token, readExchanges, { id })),
          yield* refusal(callWith(token, getTimeline, { id }))
        ]
        state.refuses = false
        assert.deepStrictEqual(
          refused.map(({ _tag }) => _tag),
          refused.map(() => "service_unavailable")
        )
        assert.strictEqual((yield* callWith(token, listOrganizations)).organizations.length, 1)
      })
    }
  })
})

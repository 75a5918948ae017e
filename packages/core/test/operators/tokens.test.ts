import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { noLimits, standardLimits } from "../../src/access/limits/Allowance.ts"
import { listAuditLog } from "../../src/operators/AuditOperations.ts"
import { kind, write } from "../../src/operators/OperatorToken.ts"
import { OperatorTokens } from "../../src/operators/OperatorTokens.ts"
import { listOrganizations } from "../../src/operators/OrganizationOperations.ts"
import { directoryWorkspace, readAll, Storage } from "../../src/storage/Storage.ts"
import { OrganizationId } from "../../src/wire/Ids.ts"
import { dayMs, minuteMs } from "../../src/wire/Timestamp.ts"
import { refusal, testInWorld } from "../support/world.ts"
import { callWith, tokenOf } from "./support.ts"

const code = (token: string | null) => Effect.map(refusal(callWith(token, listOrganizations)), ({ _tag }) => _tag)

describe("an operator's token", () => {
  testInWorld(
    "works until it expires",
    Effect.gen(function* () {
      const { token } = yield* tokenOf({ expires_in_days: 2 })
      yield* TestClock.adjust(2 * dayMs - 1)
      assert.strictEqual((yield* callWith(token, listOrganizations)).organizations.length, 1)
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* code(token), "authentication_failed")
    })
  )

  testInWorld(
    "works until it is revoked",
    Effect.gen(function* () {
      const tokens = yield* OperatorTokens
      const { details, token } = yield* tokenOf()
      yield* callWith(token, listOrganizations)
      const revoked = yield* tokens.revoke(details.id)
      assert.strictEqual(yield* code(token), "authentication_failed")
      assert.deepStrictEqual(yield* tokens.revoke(details.id), revoked)
      assert.deepStrictEqual(yield* tokens.list, [revoked])
    })
  )

  testInWorld(
    "is stored only as a hash",
    Effect.gen(function* () {
      const { token } = yield* tokenOf()
      const records = yield* readAll(yield* Storage, {
        workspace_id: directoryWorkspace,
        kind: kind.name,
        order: "oldest",
        limit: 10
      })
      assert.strictEqual(records.length, 1)
      assert.notInclude(JSON.stringify(records.map(({ body, id, labels }) => [body, id, labels])), token.slice(9))
    })
  )

  testInWorld(
    "cannot be created with invalid options; the error names each invalid option",
    Effect.gen(function* () {
      const wrong = yield* refusal(tokenOf({ name: " ", scopes: [], expires_in_days: 1.5 }))
      assert.deepStrictEqual(
        wrong.field_errors?.map(({ path }) => path),
        ["name", "scopes", "expires_in_days"]
      )
      const nowhere = OrganizationId.make(`org_${"7".repeat(26)}`)
      assert.strictEqual((yield* refusal(tokenOf({ organization_id: nowhere })))._tag, "not_found")
    })
  )

  testInWorld(
    "can be guessed only a limited number of times from one address",
    Effect.gen(function* () {
      const guess = code(write(new Uint8Array(128).fill(7)))
      const codes = yield* Effect.replicateEffect(guess, (standardLimits.failed_authentication.per_minute ?? 0) + 1)
      assert.deepStrictEqual(codes.slice(-2), ["authentication_failed", "rate_limited"])
    }),
    { limits: standardLimits }
  )

  testInWorld(
    "has its own call limit per minute, and calls over the limit leave no audit log entry",
    Effect.gen(function* () {
      const { token } = yield* tokenOf()
      const { token: other } = yield* tokenOf()
      yield* callWith(token, listOrganizations)
      yield* callWith(token, listOrganizations)
      const refused = yield* refusal(callWith(token, listOrganizations))
      assert.strictEqual(refused._tag, "rate_limited")
      assert.strictEqual(refused.retry_after_seconds, 60)
      assert.lengthOf((yield* callWith(other, listAuditLog)).entries, 2)
      yield* TestClock.adjust(minuteMs)
      yield* callWith(token, listOrganizations)
    }),
    { limits: { ...noLimits, operator: { per_minute: 2, per_day: null } } }
  )
})

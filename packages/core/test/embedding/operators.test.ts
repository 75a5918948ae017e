import { assert, describe, it } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import { operatorLimit, standardLimits } from "../../src/access/limits/Limits.ts"
import { embed } from "../../src/embedding/embed.ts"
import { smallest } from "../../src/lines/ExampleApplications.ts"

const opened = () => embed({ storage: MemoryStorage.layer })

const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => assert.fail("It was not refused"),
    ({ code }: { readonly code: string }) => code
  )

describe("operators in an embedding program", () => {
  it("act under a name that appears in the audit log", async () => {
    const quotewire = opened()
    const desk = quotewire.operators.as({ name: "Support desk" })
    const { id } = await desk.create_organization({ name: "Acme" })
    const { key } = await desk.create_key({ organization_id: id, environment: "sandbox", kind: "server" })
    const started = await quotewire.client(key).start_quote_request({
      line: "renters",
      consent_receipt_id: "receipt-0001",
      request_key: "once",
      application: smallest.renters
    })
    const found = await desk.find_quote_requests({ organization_id: id })
    assert.deepStrictEqual(
      found.quote_requests.map((request) => request.id),
      [started.id]
    )
    const { entries } = await desk.list_audit_log()
    assert.deepStrictEqual(
      entries.map(({ operation, token_name }) => [operation, token_name]),
      [
        ["find_quote_requests", "Support desk"],
        ["create_key", "Support desk"],
        ["create_organization", "Support desk"]
      ]
    )
    await quotewire.close()
  })

  it("have only the scopes and the organization they are given", async () => {
    const quotewire = opened()
    const own = await quotewire.createOrganization("Own")
    const other = await quotewire.createOrganization("Other")
    const reader = quotewire.operators.as({ name: "Reader", scopes: ["read"], organization_id: own.id })
    assert.strictEqual(
      await codeOf(reader.create_key({ organization_id: own.id, environment: "live", kind: "server" })),
      "forbidden"
    )
    assert.strictEqual(await codeOf(reader.list_keys({ organization_id: other.id })), "not_found")
    assert.deepStrictEqual(await reader.list_keys({ organization_id: own.id }), { keys: [] })
    assert.throws(() => quotewire.operators.as({ name: "" }), /operators\.as got an invalid argument\. name:/)
    await quotewire.close()
  })

  it("create, list and revoke tokens", async () => {
    const quotewire = opened()
    const { details, token } = await quotewire.operators.createToken({ name: "Desk", scopes: ["read"] })
    assert.match(token, /^operator_/)
    assert.deepStrictEqual(await quotewire.operators.listTokens(), [details])
    assert.isString((await quotewire.operators.revokeToken(details.id)).revoked_at)
    assert.strictEqual(await codeOf(quotewire.operators.revokeToken("opt_1")), "not_found")
    await quotewire.close()
  })

  it("have no rate limit unless the service is given limits", async () => {
    const withoutLimits = opened()
    const free = withoutLimits.operators.as({ name: "Desk" })
    for (let calls = 0; calls <= (operatorLimit.per_minute ?? 0); calls++) await free.list_organizations()
    await withoutLimits.close()

    const limits = { ...standardLimits, operator: { per_minute: null, per_day: 1 } }
    const limited = embed({ storage: MemoryStorage.layer, limits })
    const desk = limited.operators.as({ name: "Desk" })
    await desk.list_organizations()
    assert.strictEqual(await codeOf(desk.list_organizations()), "rate_limited")
    await limited.close()
  })

  it("have the default limit if the service's limits set no limit for operators", async () => {
    const { operator: _, ...limits } = standardLimits
    const quotewire = embed({ storage: MemoryStorage.layer, limits })
    const desk = quotewire.operators.as({ name: "Desk" })
    for (let calls = 0; calls < (operatorLimit.per_minute ?? 0); calls++) await desk.list_organizations()
    assert.strictEqual(await codeOf(desk.list_organizations()), "rate_limited")
    await quotewire.close()
  })
})

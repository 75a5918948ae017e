import { assert, describe, it } from "@effect/vitest"
import { operations } from "@quotewire/core"
import { served } from "../../../core/src/calls/Revision.ts"
import { revision, routes } from "../../src/client/routes.ts"

describe("the client's routes", () => {
  it("match the operations' methods, paths and idempotency", () => {
    assert.sameMembers(
      Object.keys(routes),
      operations.map(({ name }) => name)
    )
    for (const { idempotent, name, route } of operations) {
      const { method, path, retry } = routes[name]
      assert.deepStrictEqual({ method, path }, { method: route.method, path: route.path }, name)
      assert.strictEqual(retry === "with_key", idempotent, name)
    }
  })

  it("have query fields only for GET operations", () => {
    const others = operations.filter(({ route }) => route.method !== "GET" && Object.keys(route.query).length > 0)
    assert.deepStrictEqual(others, [])
  })

  it("use the newest revision of the API", () => {
    assert.strictEqual(revision, served[0].date)
  })
})

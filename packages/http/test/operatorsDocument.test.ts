import { assert, describe, it } from "@effect/vitest"
import { operatorOperations } from "@quotewire/core"
import { OperatorsDocument } from "@quotewire/http"
import { lint } from "./support/lint.ts"

const document = OperatorsDocument.document(operatorOperations, "https://quotes.agency.example")

describe("the OpenAPI document for operators", () => {
  it("is valid, with valid examples", async () => {
    const { code, printed } = await lint(JSON.parse(JSON.stringify(document)))
    assert.strictEqual(code, 0, printed)
    assert.notMatch(printed, /You have \d+ (?:warning|error)/)
  }, 60_000)

  it("states which scope each operation needs", () => {
    const text = JSON.stringify(document)
    for (const { name, scope, summary } of operatorOperations) {
      assert.include(text, `"operationId":"${name}","summary":"${summary}"`)
      assert.match(text, new RegExp(`"operationId":"${name}"[^}]*Needs the \`${scope}\` scope`), name)
    }
  })

  it("has all operations below /operator/v1/", () => {
    for (const { route } of operatorOperations) assert.match(route.path, /^\/operator\/v1\//)
  })
})

import { assert, describe, it } from "@effect/vitest"
import { compile, type JsonSchema, noProblems } from "../../src/lines/JsonSchemaCheck.ts"

const wording = { root: "value", patterns: {}, labels: { "list.*.name": "Name" } }
const object = (properties: { readonly [name: string]: JsonSchema }, more: JsonSchema = {}): JsonSchema => ({
  type: "object",
  additionalProperties: false,
  properties,
  ...more
})

const problemsOf = (schema: JsonSchema, value: unknown) => {
  const problems = noProblems()
  compile(schema, wording).isWhole(value, problems)
  return problems
}

describe("JsonSchemaCheck", () => {
  it.each<readonly [string, JsonSchema]>([
    ["a type", { type: "number" }],
    ["a format", { type: "string", format: "uri" }],
    ["an integer without bounds", { type: "integer" }],
    ["an object that takes unknown fields", { type: "object" }],
    ["a list of texts", { type: "array", items: { type: "string" } }]
  ])("refuses %s that it does not understand, when it compiles", (_, schema) => {
    assert.throws(() => compile(object({ a: schema }), wording))
  })

  it("refuses a keyword that it does not understand, so that no rule is lost unseen", () => {
    const schema = JSON.parse('{"type":"object","additionalProperties":false,"oneOf":[]}')
    assert.throws(() => compile(schema, wording), /oneOf/)
  })

  it("labels a fact inside a list, whatever its number", () => {
    const items = object({ name: { type: "string" } }, { required: ["name"] })
    const schema = object({ list: { type: "array", items } })
    assert.deepStrictEqual(problemsOf(schema, { list: [{ name: "a" }, {}] }), {
      missing: [{ path: "value.list.1.name", message: "Required: Name." }],
      invalid: [],
      more: 0
    })
  })

  it("takes a member that is undefined as absent", () => {
    assert.deepStrictEqual(problemsOf(object({ a: { type: "boolean" } }), { a: undefined }), noProblems())
  })

  it("leaves a draft of what is right, and none where nothing is", () => {
    const schema = object({ a: { type: "boolean" }, list: { type: "array", items: object({}) } })
    const checker = compile(schema, wording)
    const value = { a: "yes", b: 1, list: [{}, 3] }
    assert.deepStrictEqual<unknown>(checker.draftOf(value, problemsOf(schema, value)), { list: [{}, {}] })
    assert.isNull(checker.draftOf(3, problemsOf(schema, 3)))
  })
})

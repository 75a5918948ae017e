import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Change from "../../src/storage/Change.ts"
import * as Kind from "../../src/storage/Kind.ts"
import * as Json from "../../src/wire/Json.ts"

const Note = Schema.Struct({ id: Schema.String, words: Schema.Array(Schema.String) })
const notes = Kind.make({ name: "note", schema: Note, listing: ({ id }) => ({ labels: [`id:${id}`] }) })
const others = Kind.make({ name: "note", schema: Schema.Struct({ other: Schema.Boolean }) })
const meta = { id: "n1", version: 1, created_at: 0, updated_at: 0 }

describe("a stored record's value", () => {
  it("is encoded once, when its body is first read", () => {
    let encoded = 0
    const value = {
      id: "n1",
      get words() {
        encoded += 1
        return ["a"]
      }
    }
    const record = notes.record(value, meta)
    assert.strictEqual(encoded, 0)
    assert.strictEqual(record.body, '{"id":"n1","words":["a"]}')
    assert.strictEqual(record.body, '{"id":"n1","words":["a"]}')
    assert.strictEqual(encoded, 1)
    assert.deepStrictEqual(record.labels, ["id:n1"])
  })

  it("is kept in memory with the record, and is decoded if storage kept only the text", () => {
    const value = { id: "n1", words: ["a"] }
    const record = notes.record(value, meta)
    assert.strictEqual(Json.read(notes.json(record)), value)
    const kept = Change.record({ ...record, body: record.body })
    assert.notStrictEqual(Json.read(notes.json(kept)), value)
    assert.deepStrictEqual(Json.read(notes.json(kept)), value)
  })

  it("cannot be read as another kind", () => {
    assert.isUndefined(others.json(notes.record({ id: "n1", words: [] }, meta)).value)
  })
})

describe("an encoded value", () => {
  it("is decoded into a copy that the reader can mutate", () => {
    const value = { words: ["a"] }
    const decoded = Json.decode(Json.encode(value))
    decoded.words.push("b")
    assert.deepStrictEqual(value, { words: ["a"] })
  })

  it("includes members that were added after the value was encoded", () => {
    const extended = Json.extend(Json.encode({ a: 1 }), { b: 2 })
    assert.deepStrictEqual(Json.read(extended), { a: 1, b: 2 })
    assert.deepStrictEqual(Json.decode(extended), { a: 1, b: 2 })
  })
})

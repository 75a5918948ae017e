import { assert, describe, it } from "@effect/vitest"
import { sources } from "../../../test/support/sources.ts"

/** The assignments of a statement's `set` whose whole value is an element of an array: `version = versions[i]`. */
const assignedElements = (sql: string): ReadonlyArray<string> => {
  const clauses = sql
    .replaceAll(/--[^\n]*/g, "")
    .matchAll(/\bupdate\b[^;]*?\bset\b(.*?)(?:\bfrom\b|\bwhere\b|\breturning\b|;|$)/gs)
  return Array.from(clauses, ([, clause = ""]) => clause).flatMap((clause) =>
    Array.from(clause.matchAll(/\w+\s*=\s*[\w.]+\[[\w.[\]]+\]\s*(?=,|$)/g), ([assignment]) => assignment.trim())
  )
}

describe("the SQL that the package ships", () => {
  it("never assigns an array element in an update, which would crash a Citus server", () => {
    const files = sources("packages/storage-pg/src/sql", ".sql")
    assert.isAbove(files.length, 10)
    assert.deepStrictEqual(
      files.flatMap(({ path, text }) => assignedElements(text).map((assignment) => `${path}: ${assignment}`)),
      []
    )
  })

  it("is searched with a pattern that does find assigned array elements", () => {
    assert.deepStrictEqual(
      assignedElements("update t set a = b.a, v = vs[ws[i]], c = 1\nfrom unnest(x) w (i) where t.id = ids[i];"),
      ["v = vs[ws[i]]"]
    )
  })
})

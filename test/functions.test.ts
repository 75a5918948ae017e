import { assert, describe, it } from "@effect/vitest"
import { Predicate } from "effect"
import { parseAst } from "rolldown/parseAst"
import { packages, type Source, sources } from "./support/sources.ts"

/*
 * How large functions may be, in lines of the file, blank ones included. Split a function by what
 * it does, not by its length.
 */

const maxLines = 70
const maxParameters = 4

/** `Assumptions.fill` is public, so it keeps its parameters. Nothing may be added here. */
const widerFunctions = ["packages/core/src/lines/Application.ts fill"]

interface Found {
  readonly name: string
  readonly lines: number
  readonly parameters: number
}

/** The functions of a file. An unnamed function gets the name of the declaration or property around it. */
const functionsOf = ({ path, text }: Source): ReadonlyArray<Found> => {
  const found: Array<Found> = []
  const visit = (node: unknown, name: string): void => {
    if (Array.isArray(node)) for (const child of node) visit(child, name)
    if (!Predicate.isObject(node)) return
    const inner = nameOf(node) ?? name
    if (isFunction(node)) {
      const code = text.slice(Number(node.start), Number(node.end))
      const parameters = Array.isArray(node.params) ? node.params.length : 0
      found.push({ name: `${path} ${inner}`, lines: code.split("\n").length, parameters })
    }
    for (const child of Object.values(node)) visit(child, inner)
  }
  visit(parseAst(text, { lang: path.endsWith(".tsx") ? "tsx" : "ts" }), "")
  return found
}

type Node = Readonly<Record<PropertyKey, unknown>>

const isFunction = ({ type }: Node): boolean =>
  typeof type === "string" && /^(?:Function|ArrowFunction|TSEmptyBodyFunction|TSFunctionType|TSMethodSig)/.test(type)

/** The name that a declaration or a property gives to its content. */
const nameOf = ({ id, key }: Node): string | null => {
  const name = Predicate.isObject(id) ? id.name : Predicate.isObject(key) ? key.name : null
  return typeof name === "string" ? name : null
}

describe("functions", () => {
  const folders = [...packages.map((name) => `packages/${name}/src`), "packages/http/console"]
  const found = folders.flatMap((folder) => sources(folder, ".ts", ".tsx")).flatMap(functionsOf)
  const namesOf = (some: ReadonlyArray<Found>) => [...new Set(some.map(({ name }) => name))].toSorted()

  it(`have at most ${maxLines} lines`, () => {
    assert.isAbove(found.length, 1_000)
    assert.deepStrictEqual(namesOf(found.filter(({ lines }) => lines > maxLines)), [])
  })

  it(`take at most ${maxParameters} parameters`, () => {
    assert.deepStrictEqual(namesOf(found.filter(({ parameters }) => parameters > maxParameters)), widerFunctions)
  })
})

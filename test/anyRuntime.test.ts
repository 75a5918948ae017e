import { describe, it } from "@effect/vitest"
import { finding, holds, without } from "./support/findings.ts"
import { read, type Source } from "./support/sources.ts"

/*
 * Code that must run on every runtime: checks everything that an entry point imports, including types.
 */

const packages = new Map([
  ["@quotewire/core", "packages/core/src/index.ts"],
  ["@quotewire/core/program", "packages/core/src/program/index.ts"]
])

/** The sources that an entry point imports, and what those import. */
const reached = (entry: string): ReadonlyArray<Source> => {
  const seen = new Map<string, Source>()
  const visit = (path: string | undefined): void => {
    if (path === undefined || seen.has(path) || !path.endsWith(".ts")) return
    const source = read(path)
    seen.set(path, source)
    for (const { specifier, target } of source.imports) visit(target ?? packages.get(specifier))
  }
  visit(entry)
  return [...seen.values()]
}

describe("the code of webHandler", () => {
  const sources = reached("packages/http/src/web/index.ts")

  it("imports nothing from Node, and no package except effect and jose", () => {
    holds(
      sources.flatMap(({ path, imports }) =>
        imports.map(({ specifier, target }) =>
          finding(
            path,
            target !== null || packages.has(specifier) || /^(?:effect(?:\/|$)|jose$)/.test(specifier),
            `must not import ${specifier}`
          )
        )
      )
    )
  })

  it("uses no Node globals", () => {
    holds(without(sources, /\b(?:Buffer|process)\.|\bsetImmediate\(|\bNodeJS\./g))
  })
})

import { assert, describe, it } from "@effect/vitest"
import { finding, holds, without } from "./support/findings.ts"
import { read, sources } from "./support/sources.ts"

/*
 * The style of code and text, checked against the sources.
 */

describe("the code", () => {
  const folders = ["agent-programs", "agents", "packages", "test", "e2e", "bench", "examples", "scripts"]
  const programs = folders.flatMap((folder) => sources(folder, ".ts"))
  const shipped = programs.filter(({ path }) => /^packages\/[^/]+\/src\//.test(path))
  const self = "test/code.test.ts"

  it("has files of at most 400 lines", () => {
    holds(programs.map(({ path, text }) => finding(path, text.split("\n").length <= 401, "is longer than 400 lines")))
  })

  it("has no default exports", () => holds(without(shipped, /^export default\b/gm)))
  it("dies with errors, which have a stack, and not with text", () => {
    holds(without(shipped, /\b(?:Effect|Exit|Cause)\.die\(\s*["'`]/g))
  })

  it("has no folder for miscellaneous code", () => {
    const drawer = /(?:^|\/)(?:utils?|commons?|helpers?|misc)(?:\/|\.ts$)/i
    holds(programs.map(({ path }) => finding(path, !drawer.test(path), "names no subject")))
  })

  it("uses no name that ends in Live or Impl", () => {
    holds(without(shipped, /\b(?:class|const|interface|type|function) \w+(?:Live|Impl)\b/g))
  })

  it("has no sleeps in tests, except in test/support/eventually.ts", () => {
    // Tests of the core and of batches sleep under a test clock.
    const inRealTime = programs.filter(
      ({ path }) => /(?:^packages\/(?:cli|http|storage-pg)\/test|^e2e|^test)\/.*\.test\.ts$/.test(path) && path !== self
    )
    const sleeps =
      /\bEffect\.sleep\(|\bSchedule\.spaced\(|\bsetTimeout } from "node:timers|\bnew Promise\([^\n]*\bsetTimeout\b/g
    holds(
      without(
        inRealTime.filter(({ path }) => path !== "packages/storage-pg/test/batcher.test.ts"),
        sleeps
      )
    )
  })

  it("has no TODO comments and no silenced type checks", () => {
    const silenced = /\b(?:TODO|FIXME|XXX)\b|@ts-(?:ignore|expect-error|nocheck)|\bas any\b(?!\.)|\bas unknown as\b/g
    holds(
      without(
        programs.filter(({ path }) => path !== self),
        silenced,
        "text"
      )
    )
  })

  it("mentions no authoring tools and no paths on the author's machine", () => {
    const texts = [
      ...sources("docs", ".md"),
      ...["README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG"].map((name) => read(`${name}.md`))
    ]
    // A path on one machine means nothing on another. `/home/me` is the example of the guides.
    const foreign =
      /(?<![\w.}\])])\/(?:home(?!\/me\/)|Users|root|mnt|works?|workspaces?)\/\w|\b(?:[Ll]anguage model|[Cc]o-[Aa]uthored-[Bb]y|[Ss]ub-?agent|[Gg]enerated by an? AI)\b/g
    holds(without([...texts, ...programs.filter(({ path }) => path !== self)], foreign, "text"))
  })
})

describe("docs/decisions/tuning.md", () => {
  const page = "docs/decisions/tuning.md"
  const rows = Array.from(
    read(page).text.matchAll(/^\| `(\w[^`]*)`(?: \(`(\w+)`\))?.*\|$/gm),
    ([row, path = "", symbol]) => ({ path: `packages/${path}`, symbol, cells: row.split("|").slice(1, -1) })
  )
  const files = sources("packages", ".ts", ".tsx", ".sql").filter(({ path }) => /^packages\/[^/]+\/src\//.test(path))
  const citing = files.filter(
    ({ code, path, text }) => text.includes(page) && (path.endsWith(".sql") || !code.includes(page))
  )

  it("has a row for each file that cites it, and each file of a row cites it", () => {
    assert.sameMembers(
      [...new Set(rows.map(({ path }) => path))],
      citing.map(({ path }) => path)
    )
  })

  it("names what the files contain", () => {
    holds(
      rows
        .filter(({ symbol }) => symbol !== undefined)
        .map(({ path, symbol }) =>
          finding(path, new RegExp(`\\b${symbol}\\b`).test(read(path).code), `has no ${symbol}`)
        )
    )
  })

  it("says what the plain code costs, as a ratio, and when that was measured", () => {
    holds(
      rows.map(({ cells: [, plain = "", cost = "", date = ""], path }) =>
        finding(
          path,
          plain.trim() !== "" && /: [1-9]\d*\.\d+/.test(cost) && /^ \d{4}-\d\d-\d\d +$/.test(date),
          "has no ratio above 1, or no date"
        )
      )
    )
  })
})

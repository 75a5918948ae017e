import { assert, describe, it } from "@effect/vitest"
import { finding, holds } from "./support/findings.ts"
import { sources } from "./support/sources.ts"

/*
 * Where the folders stand: which may import which, how large one may be, and that no files import in a circle.
 */

const core = sources("packages/core/src", ".ts").filter(({ path }) => !path.startsWith("packages/core/src/testing/"))
const inCore = (path: string) => path.replace("packages/core/src/", "")

describe("rooms", () => {
  const everything = ["packages", "e2e", "bench", "test", "examples", "scripts"].flatMap((folder) =>
    sources(folder, ".ts")
  )

  /** The folders of the core from the bottom up: each may import itself and what stands before it. */
  const order = [
    "concurrency",
    "wire",
    "storage",
    "access",
    "lines",
    "calls",
    "carriers",
    "rating",
    "events",
    "consuming",
    "runner",
    "quoting",
    "webhooks",
    "timeline",
    "feedback",
    "sandbox",
    "config"
  ]
  /** What stands above the wiring at the root: those who call the service, and the list of what is exported. */
  const above = ["client", "embedding", "index.ts", "program"]
  const floors = [...order, "the root", ...above]
  const roomOf = (path: string) => {
    const [first = "", ...rest] = inCore(path).split("/")
    return rest.length > 0 || above.includes(first) ? first : "the root"
  }

  it("of the core import only downwards", () => {
    assert.sameMembers([...new Set(core.map(({ path }) => roomOf(path)))], floors)
    holds(
      core.flatMap(({ path, imports }) =>
        imports
          .filter(({ target }) => target?.startsWith("packages/core/src/"))
          .map(({ target }) => {
            const to = roomOf(target ?? "")
            return finding(path, floors.indexOf(to) <= floors.indexOf(roomOf(path)), `must not import ${target}`)
          })
      )
    )
  })

  it("of clients need nothing but the platform: they import values only from themselves and each other", () => {
    const inClient = /^packages\/(?:core|http)\/src\/client\//
    const clients = everything.filter(({ path }) => inClient.test(path))
    assert.isAbove(clients.length, 10)
    holds(
      clients.flatMap(({ path, imports }) =>
        imports.map(({ specifier, target, values }) => {
          const isOwn = target === null ? specifier === "@quotewire/core/client" : inClient.test(target)
          return finding(path, isOwn || values.length === 0, `must not import ${values.join(", ")} from ${specifier}`)
        })
      )
    )
  })

  it("stay small: six files at the root of the core, about twenty in a folder", () => {
    const folders = new Map<string, number>()
    for (const { path } of everything.filter(({ path }) => /^packages\/[^/]+\/src\//.test(path))) {
      const folder = path.slice(0, path.lastIndexOf("/"))
      folders.set(folder, (folders.get(folder) ?? 0) + 1)
    }
    holds(
      Array.from(folders, ([folder, files]) =>
        finding(folder, files <= (folder === "packages/core/src" ? 6 : 21), `has ${files} files`)
      )
    )
  })

  it("name an insurance line only in lines/ and rating/", () => {
    const lines = sources("packages/core/src/lines", "/line.ts").map(({ path }) => path.split("/").at(-2) ?? "")
    assert.isAbove(lines.length, 2)
    const named = new RegExp(`(["'\`])(?:${lines.join("|")})\\1|personal_auto`)
    const home = /^packages\/core\/src\/(?:lines|rating|testing)\//
    holds(
      everything
        .filter(({ path }) => /^packages\/[^/]+\/src\//.test(path) && !home.test(path))
        .map(({ path, code }) => finding(path, !named.test(code), "names an insurance line"))
    )
  })

  it("have no import circle", () => {
    const imports = new Map(
      everything.map(({ path, imports }) => [path, imports.flatMap(({ target }) => target ?? [])] as const)
    )
    const state = new Map<string, "open" | "done">()
    const circles: Array<string> = []
    const visit = (path: string, way: ReadonlyArray<string>): void => {
      if (state.get(path) === "done") return
      if (state.get(path) === "open") {
        circles.push([...way.slice(way.indexOf(path)), path].join(" -> "))
        return
      }
      state.set(path, "open")
      for (const target of imports.get(path) ?? []) visit(target, [...way, path])
      state.set(path, "done")
    }
    for (const path of imports.keys()) visit(path, [])
    assert.isAbove(imports.size, 100)
    assert.deepStrictEqual(circles, [])
  })
})

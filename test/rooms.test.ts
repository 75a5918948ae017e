import { assert, describe, it } from "@effect/vitest"
import { finding, holds } from "./support/findings.ts"
import { sources } from "./support/sources.ts"

/*
 * Where the folders stand: which may import which, how large one may be, and that no files import in a circle.
 */

describe("rooms", () => {
  const everything = ["packages", "e2e", "bench", "test", "examples", "scripts"].flatMap((folder) =>
    sources(folder, ".ts")
  )

  /** The room of a file in a folder of sources: the folder that it is in, or `the root`. */
  const roomOf = (src: string, path: string) => {
    const [first = "", ...rest] = path.slice(src.length).split("/")
    return rest.length > 0 ? first : "the root"
  }

  /** A finding for each import inside a folder of sources. The floors are its rooms, from the bottom up. */
  const downwards = (src: string, floors: ReadonlyArray<string>, floorOf: (path: string) => string) => {
    const files = everything.filter(({ path }) => path.startsWith(src) && !path.startsWith(`${src}testing/`))
    assert.sameMembers([...new Set(files.map(({ path }) => floorOf(path)))], [...floors])
    return files.flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => target?.startsWith(src))
        .map(({ target }) => {
          const isBelow = floors.indexOf(floorOf(target ?? "")) <= floors.indexOf(floorOf(path))
          return finding(path, isBelow, `must not import ${target}`)
        })
    )
  }

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

  it("of the core import only downwards", () => {
    const src = "packages/core/src/"
    const floorOf = (path: string) => (path === `${src}index.ts` ? "index.ts" : roomOf(src, path))
    holds(downwards(src, [...order, "the root", ...above], floorOf))
  })

  it("of the storage on PostgreSQL import only downwards", () => {
    const src = "packages/storage-pg/src/"
    const statements = ["changes", "counts", "erasure", "hints", "jobs", "reads"]
    const floors = ["sql", "rows", "connection", "citus", "places", "migrations", "database", ...statements]
    holds(downwards(src, [...floors, "opening", "moves", "cells", "the root"], (path) => roomOf(src, path)))
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

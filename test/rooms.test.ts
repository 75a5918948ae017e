import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { finding, holds } from "./support/findings.ts"
import { packages, sources } from "./support/sources.ts"

/*
 * The structure of folders: which may import which, how large one may be, and that there are no import cycles.
 */

/** The cycles in a graph, each as a path around it. */
const circlesOf = (graph: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyArray<string> => {
  const state = new Map<string, "open" | "done">()
  const circles: Array<string> = []
  const visit = (node: string, way: ReadonlyArray<string>): void => {
    if (state.get(node) === "done") return
    if (state.get(node) === "open") {
      circles.push([...way.slice(way.indexOf(node)), node].join(" -> "))
      return
    }
    state.set(node, "open")
    for (const target of graph.get(node) ?? []) visit(target, [...way, node])
    state.set(node, "done")
  }
  for (const node of graph.keys()) visit(node, [])
  return circles
}

describe("source folders", () => {
  const everything = ["packages", "e2e", "bench", "test", "examples", "scripts"].flatMap((folder) =>
    sources(folder, ".ts")
  )

  const shipped = everything.filter(({ path }) => /^packages\/[^/]+\/src\//.test(path))
  const pathOf = (path: string) => path.split("/").slice(3)

  const lines = sources("packages/core/src/lines", "/line.ts").map(({ path }) => path.split("/").at(-2) ?? "")

  /**
   * The rooms of each package from the bottom up: each may import itself and those listed before it. A room is a
   * folder, a file that is listed here, or `the root`: all other files beside the folders.
   */
  const rooms: Readonly<Record<string, ReadonlyArray<string>>> = {
    core: [
      ...["concurrency", "wire", "storage", "access", "lines", "calls", "carriers", "rating", "events", "consuming"],
      ...["runner", "quoting", "webhooks", "timeline", "partners", "feedback", "sandbox", "config", "operators"],
      // The wiring, then the callers of the service, and the lists of exports.
      ...["the root", "client", "embedding", "testing", "program", "index.ts"]
    ],
    http: [
      ...[
        "webhooks",
        "carriers",
        "client",
        "undici",
        "host",
        "messages",
        "oauth",
        "documents",
        "console",
        "routes",
        "node",
        "web"
      ],
      ...["the root", "program", "testing", "index.ts"]
    ],
    mcp: [
      ...["protocol", "tools", "answers", "forms", "views", "catalogue", "serving"],
      ...["the root", "stdio", "index.ts"]
    ],
    cli: [
      ...["version.ts", "settings", "terminal", "config", "carriers", "service", "agents", "cells", "processes"],
      ...["profiles", "remote", "trials", "create", "commands", "Program.ts", "main.ts"]
    ],
    "storage-pg": [
      ...["sql", "rows", "connection", "migrations", "database"],
      ...["changes", "counts", "erasure", "hints", "jobs", "reads", "opening", "folder"],
      // The root is the plain storage. The code for cells is above it, in a separate entry point that the root never
      // imports.
      ...["the root", "citus", "places", "moves", "cells"]
    ],
    "storage-memory": ["the root", "testing"]
  }

  it("are in the order of ARCHITECTURE.md's list of core folders", () => {
    const page = readFileSync(new URL("../ARCHITECTURE.md", import.meta.url), "utf8")
    const described = Array.from(page.matchAll(/^ {2}(the root|\w+(?=\/)|index)\/? +\S/gm), ([, name]) => name)
    // The page describes these in its text.
    const inText = ["testing", "program"]
    assert.deepStrictEqual(
      described.map((name) => (name === "index" ? "index.ts" : name)).toReversed(),
      (rooms.core ?? []).filter((name) => !inText.includes(name))
    )
  })

  it("import nothing from higher layers in the console", () => {
    const floors = ["words", "state", "parts", "pages", "operators", "the root"]
    const folder = "packages/http/console/"
    const roomOf = (path: string) => {
      const [room = "", file] = path.slice(folder.length).split("/")
      return file === undefined ? "the root" : room
    }
    const files = sources(folder, ".ts", ".tsx").filter(({ path }) => !path.endsWith(".d.ts"))
    holds(
      files.flatMap(({ path, text }) =>
        Array.from(text.matchAll(/from "(\.\.?\/[^"]+)"/g), ([, specifier = ""]) => {
          const target = join(dirname(path), specifier)
          const isBelow = !target.startsWith(folder) || floors.indexOf(roomOf(target)) <= floors.indexOf(roomOf(path))
          return finding(path, isBelow, `imports ${target} above it`)
        })
      )
    )
  })

  for (const [name, floors] of Object.entries(rooms)) {
    it(`import nothing from higher layers in ${name}`, () => {
      const src = `packages/${name}/src/`
      const floorOf = (path: string) => {
        const [first = "", ...rest] = pathOf(path)
        return rest.length > 0 || floors.includes(first) ? first : "the root"
      }
      const files = shipped.filter(({ path }) => path.startsWith(src))
      assert.sameMembers([...new Set(files.map(({ path }) => floorOf(path)))], [...floors])
      holds(
        files.flatMap(({ path, imports }) =>
          imports
            .filter(({ target }) => target?.startsWith(src))
            .map(({ target }) => {
              const isBelow = floors.indexOf(floorOf(target ?? "")) <= floors.indexOf(floorOf(path))
              return finding(path, isBelow, `must not import ${target}`)
            })
        )
      )
    })
  }

  it("are listed in this test for every package", () => assert.sameMembers(Object.keys(rooms), [...packages]))

  /** What each file or folder imports from its siblings. */
  const neighbors = (folder: string) => {
    const nodeOf = (path: string) => path.slice(folder.length).split("/")[0] ?? ""
    const found = new Map<string, ReadonlyArray<string>>()
    for (const { imports, path } of shipped.filter(({ path }) => path.startsWith(folder))) {
      const node = nodeOf(path)
      const targets = imports.flatMap(({ target }) => (target?.startsWith(folder) ? nodeOf(target) : []))
      found.set(node, [...(found.get(node) ?? []), ...targets.filter((target) => target !== node)])
    }
    return found
  }

  it("have no import cycle among folders, at any depth", () => {
    const folders = new Set(
      shipped.flatMap(({ path }) => pathOf(path).map((_, depth) => `${path.split("/", depth + 3).join("/")}/`))
    )
    assert.isAbove(folders.size, 50)
    const circles = Array.from(folders, (folder) =>
      circlesOf(neighbors(folder)).map((circle) => `${folder}: ${circle}`)
    )
    assert.deepStrictEqual(circles.flat(), [])
  })

  it("have unique file names in each package", () => {
    // The folders of insurance lines have the same files on purpose: whoever knows one line knows them all.
    const ofLine = new RegExp(`/(?:lines|rating)/(?:${lines.join("|")})/`)
    const files = shipped.filter(({ path }) => !path.endsWith("/index.ts") && !ofLine.test(path))
    const first = new Map<string, string>()
    holds(
      files.map(({ path }) => {
        const name = `${path.split("/")[1]} ${pathOf(path).at(-1)}`
        const other = first.get(name)
        first.set(name, other ?? path)
        return finding(path, other === undefined, `has the name of ${other}`)
      })
    )
  })

  it("let client code import values only from other client code", () => {
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

  it("contain at most six files at the core's root, and 21 files elsewhere", () => {
    const folders = new Map<string, number>()
    for (const { path } of shipped) {
      const folder = path.slice(0, path.lastIndexOf("/"))
      folders.set(folder, (folders.get(folder) ?? 0) + 1)
    }
    holds(
      Array.from(folders, ([folder, files]) =>
        finding(folder, files <= (folder === "packages/core/src" ? 6 : 21), `has ${files} files`)
      )
    )
  })

  it("mention insurance lines only in lines/ and rating/", () => {
    assert.isAbove(lines.length, 2)
    const named = new RegExp(`(["'\`])(?:${lines.join("|")})\\1|personal_auto`)
    const home = /^packages\/core\/src\/(?:lines|rating|testing)\//
    holds(
      shipped
        .filter(({ path }) => !home.test(path))
        .map(({ path, code }) => finding(path, !named.test(code), "names an insurance line"))
    )
  })

  it("have no import cycle among files", () => {
    const imports = new Map(
      everything.map(({ path, imports }) => [path, imports.flatMap(({ target }) => target ?? [])] as const)
    )
    assert.isAbove(imports.size, 100)
    assert.deepStrictEqual(circlesOf(imports), [])
  })
})

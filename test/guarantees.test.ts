import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const root = fileURLToPath(new URL("..", import.meta.url))
const page = "docs/guarantees.md"
const text = readFileSync(join(root, page), "utf8")

/** A link to a file, and the name of a test in it, in quotes after the link. */
const links = Array.from(text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)(?: "([^"]+)")?/g), ([, target = "", name]) => ({
  path: join(dirname(page), target),
  name
}))

/** The rows of the page's tables, without their heads. */
const rows = text.split("\n").filter((line) => /^\| (?!promise|-)/.test(line))

describe("the guarantees page", () => {
  it("links to existing files, and to tests by their names", () => {
    assert.isAbove(links.length, 40)
    assert.isAbove(links.filter(({ name }) => name !== undefined).length, 15)
    const wrong = links.flatMap(({ name, path }) => {
      if (!existsSync(join(root, path))) return [`${path} does not exist`]
      const isThere = name === undefined || readFileSync(join(root, path), "utf8").includes(name)
      return isThere ? [] : [`${path} has no test "${name}"`]
    })
    assert.deepStrictEqual(wrong, [])
  })

  it("links each promise to a test", () => {
    assert.isAbove(rows.length, 20)
    const testless = rows.filter(
      (row) => !/\]\([^)]*(?:\.test\.ts|\/testing\/|README\.md)/.test(row.split("|")[3] ?? "")
    )
    assert.deepStrictEqual(testless, [])
  })

  it("is linked from the main pages", () => {
    const from = ["README.md", "ARCHITECTURE.md", "docs/guides/README.md", "docs/guides/operate.md"]
    assert.deepStrictEqual(
      from.filter((file) => !readFileSync(join(root, file), "utf8").includes("guarantees.md")),
      []
    )
  })
})

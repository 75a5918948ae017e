import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"

/*
 * Makes built packages load only the Effect modules that they use. This script writes a list of these modules,
 * `dist/effect.js`, with lines such as `export * as Effect from "effect/Effect"`. In all other files it changes
 * `from "effect"` to `from "../effect.js"`. Sources and types keep `from "effect"`, and line numbers do not change.
 *
 * The reason is that Node loads everything that an index module exports. With Effect's index,
 * `import "@quotewire/core"` loaded 310 modules of Effect. With the list it loads 180, in 0.75 of the CPU time
 * (docs/decisions/libraries.md).
 *
 * The build runs this script after the compiler, which writes only files that have changed. Files that were already
 * processed stay unchanged, and modules are never removed from a list.
 */

const packages = fileURLToPath(new URL("../packages/", import.meta.url))

// Matches imports from an index, such as `effect`, `effect/crypto` or `@effect/platform-node`. Modules such as
// `effect/Effect` do not match, because their names begin with a capital letter.
const fromIndex = /^import \{([^}]+)\} from "((?:effect|@effect\/[a-z-]+)(?:\/[a-z-]+)?)";$/gm
const anyIndex = /^(?:import|export)\b[^"]*"(?:effect|@effect\/[a-z-]+)(?:\/[a-z-]+)?"/m

/**
 * Finds the line that exports a name of an index from its module. The name is the module itself, or a function of
 * `effect/Function`.
 */
const exportOf = async (index: string, name: string): Promise<string> => {
  const exported = (await import(index))[name]
  const places = [
    { module: `${index}/${name}`, clause: `* as ${name}`, pick: (all: object) => all },
    { module: "effect/Function", clause: `{ ${name} }`, pick: (all: Record<string, unknown>) => all[name] }
  ]
  for (const { module, clause, pick } of places) {
    const all = await import(module).catch(() => null)
    if (all !== null && pick(all) === exported) return `export ${clause} from "${module}";`
  }
  throw new Error(`No module of ${index} is or has ${name}`)
}

/** Lists the names that an import clause imports. For `a as b`, that is `a`. */
const namesIn = (clause: string): ReadonlyArray<string> =>
  clause.split(",").flatMap((part) => part.trim().split(" as ")[0] || [])

/**
 * The file name of an index's list: `effect.js` for `effect` and `effect/…`, `platform-node.js` for
 * `@effect/platform-node`.
 */
const listFor = (index: string): string => `${index.replace("@effect/", "").replace(/\/.*/, "")}.js`

const readLines = (file: string): ReadonlyArray<string> =>
  existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : []

/**
 * Writes the lists of everything that a folder's files import from indexes, and makes the files import from these
 * lists.
 */
const useLists = async (folder: string, files: ReadonlyArray<string>): Promise<void> => {
  const lists = new Map<string, Set<string>>()
  for (const file of files) {
    const text = readFileSync(file, "utf8")
    for (const [, clause = "", index = ""] of text.matchAll(fromIndex)) {
      const into = join(folder, listFor(index))
      const listed = lists.get(into) ?? new Set(readLines(into))
      for (const name of namesIn(clause)) listed.add(await exportOf(index, name))
      lists.set(into, listed)
    }
    const pathTo = (list: string) => relative(dirname(file), join(folder, list)).replace(/^(?!\.)/, "./")
    const done = text.replaceAll(
      fromIndex,
      (_, clause, index) => `import {${clause}} from "${pathTo(listFor(index)).replaceAll("\\", "/")}";`
    )
    const [left] = anyIndex.exec(done) ?? []
    if (left !== undefined) throw new Error(`${file} must import by name what it uses: ${left}`)
    if (done !== text) writeFileSync(file, done)
  }
  for (const [into, listed] of lists) writeFileSync(into, `${[...listed].sort().join("\n")}\n`)
}

for (const name of readdirSync(packages)) {
  const dist = join(packages, name, "dist")
  if (!existsSync(dist)) continue
  const files = readdirSync(dist, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".js"))
    .map((path) => join(dist, path))
  // The `testing` folder gets its own lists, so that programs do not load modules that only tests need.
  const testing = join(dist, "testing")
  const inTesting = (file: string) => file.startsWith(testing)
  await useLists(
    dist,
    files.filter((file) => !inTesting(file))
  )
  await useLists(testing, files.filter(inTesting))
}

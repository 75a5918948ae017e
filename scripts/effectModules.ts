import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"

/*
 * Gives each built package a list of the modules of Effect that it uses, `dist/effect.js`, and makes its other files import
 * from there: `from "effect"` becomes `from "../effect.js"`, and the list says `export * as Effect from "effect/Effect"`.
 * Sources and types keep the short form, and every line its place.
 *
 * Node loads everything that an index names. Through the indexes, `import "@quotewire/core"` read 310 modules of Effect;
 * through the list it reads 180. That takes 0.75 of the processor time (docs/decisions/libraries.md).
 *
 * The build runs this after the compiler, which writes only what has changed. So it leaves alone what it has done before.
 */

const packages = fileURLToPath(new URL("../packages/", import.meta.url))

// The name of an index is in lower case, that of a module begins with a capital.
const fromIndex = /^import \{([^}]+)\} from "((?:effect|@effect\/[a-z-]+)(?:\/[a-z-]+)?)";$/gm
const anyIndex = /^(?:import|export)\b[^"]*"(?:effect|@effect\/[a-z-]+)(?:\/[a-z-]+)?"/m

/** What an index calls by a name, exported from where it is: a module, or a function of `effect/Function`. */
const exportOf = async (index: string, name: string): Promise<string> => {
  const exported = (await import(index))[name]
  const places = [
    { module: `${index}/${name}`, clause: `* as ${name}`, pick: (all: object) => all },
    { module: "effect/Function", clause: `{ ${name} }`, pick: (all: Record<string, unknown>) => all[name] }
  ]
  for (const { module, clause, pick } of places) {
    // A module that does not exist is not the one.
    const all = await import(module).catch(() => null)
    if (all !== null && pick(all) === exported) return `export ${clause} from "${module}";`
  }
  throw new Error(`No module of ${index} is or has ${name}`)
}

/** The names in an import clause, as the other side exports them. */
const namesIn = (clause: string): ReadonlyArray<string> =>
  clause.split(",").flatMap((part) => part.trim().split(" as ")[0] || [])

/** The list for an index: `effect.js` for all of `effect`, `platform-node.js` for `@effect/platform-node`. */
const listFor = (index: string): string => `${index.replace("@effect/", "").replace(/\/.*/, "")}.js`

const readLines = (file: string): ReadonlyArray<string> =>
  existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : []

/** Lists what the files of a folder import from indexes, and makes them import from these lists. */
const list = async (folder: string, files: ReadonlyArray<string>): Promise<void> => {
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
  // Programs do not load what tests need.
  const testing = join(dist, "testing")
  const inTesting = (file: string) => file.startsWith(testing)
  await list(
    dist,
    files.filter((file) => !inTesting(file))
  )
  await list(testing, files.filter(inTesting))
}

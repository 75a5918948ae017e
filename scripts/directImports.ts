import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/*
 * Makes the built packages import the modules of Effect that they use: `import { Effect } from "effect"` becomes
 * `import * as Effect from "effect/Effect"`, on the same line. The sources keep the short form, and types stay as they are.
 *
 * Node loads everything that an index names, whether it is used or not: with the indexes, `import "@quotewire/core"` read
 * 400 modules of Effect instead of 180 and took half as long again (see `bench/packaging.ts`).
 *
 * The build runs this after the compiler, which writes only what has changed. So it leaves alone what it has done before.
 */

const packages = fileURLToPath(new URL("../packages/", import.meta.url))

// An index has a name in lower case, a module begins with a capital.
const index = `"((?:effect|@effect/[a-z-]+)(?:/[a-z-]+)?)"`
const namedImport = new RegExp(`^import \\{ ([^}\\n]+) \\} from ${index};$`, "gm")
const anyImport = new RegExp(`^(?:import|export)\\b[^"]*${index}`, "m")

/** The import of one name: of its module, or from `effect/Function`, whose functions the index of Effect also exports. */
const importOf = async (index: string, imported: string): Promise<string> => {
  const [name = "", local = name] = imported.split(" as ")
  const exported = (await import(index))[name]
  const candidates = [
    { path: `${index}/${name}`, clause: `* as ${local}`, pick: (all: object) => all },
    { path: "effect/Function", clause: `{ ${imported} }`, pick: (all: Record<string, unknown>) => all[name] }
  ]
  for (const { path, clause, pick } of candidates) {
    // A module that does not exist is not the one.
    const all = await import(path).catch(() => null)
    if (all !== null && pick(all) === exported) return `import ${clause} from "${path}";`
  }
  throw new Error(`No module of ${index} is or has ${name}`)
}

const direct = async (text: string): Promise<string> => {
  let done = text
  for (const [statement, names = "", from = ""] of text.matchAll(namedImport)) {
    const imports = await Promise.all(names.split(", ").map((name) => importOf(from, name)))
    done = done.replace(statement, () => imports.join(" "))
  }
  return done
}

for (const path of readdirSync(packages, { recursive: true, encoding: "utf8" })) {
  if (!/^[\w-]+[\\/]dist[\\/].*\.js$/.test(path)) continue
  const file = join(packages, path)
  const text = readFileSync(file, "utf8")
  const done = await direct(text)
  const [left] = anyImport.exec(done) ?? []
  if (left !== undefined) throw new Error(`${path} must import by name what it uses: ${left}`)
  if (done !== text) writeFileSync(file, done)
}

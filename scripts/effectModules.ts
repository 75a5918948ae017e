import type { Plugin } from "rolldown"

/*
 * A bundler plugin that makes packages load only the Effect modules that they use. It changes
 * `import { Effect } from "effect"` to `import * as Effect from "effect/Effect"`. Sources and types keep `from "effect"`.
 *
 * The reason is that Node loads everything that an index module exports. With Effect's index,
 * `import "@quotewire/core"` loaded 310 modules of Effect instead of 180 (docs/decisions/libraries.md).
 */

// Matches imports from an index, such as `effect`, `effect/crypto` or `@effect/platform-node`. Modules such as
// `effect/Effect` do not match, because their names begin with a capital letter.
const fromIndex = /^import \{([^}]+)\} from "((?:effect|@effect\/[a-z-]+)(?:\/[a-z-]+)?)";$/gm
const anyIndex = /^(?:import|export)\b[^"]*"(?:effect|@effect\/[a-z-]+)(?:\/[a-z-]+)?"/m

/**
 * Finds the line that imports a name of an index from the name's own module. The name is the module itself, or a
 * function of `effect/Function`.
 */
const importOf = async (index: string, name: string, local: string): Promise<string> => {
  const exported = (await import(index))[name]
  const places = [
    { module: `${index}/${name}`, clause: `* as ${local}`, pick: (module: object) => module },
    {
      module: "effect/Function",
      clause: `{ ${name} as ${local} }`,
      pick: (module: Record<string, unknown>) => module[name]
    }
  ]
  for (const { module, clause, pick } of places) {
    const all = await import(module).catch(() => null)
    if (all !== null && pick(all) === exported) return `import ${clause} from "${module}";`
  }
  throw new Error(`No module of ${index} is or has ${name}`)
}

const importsOf = async (clause: string, index: string): Promise<string> => {
  const parts = clause.split(",").map((part) => part.trim().split(" as "))
  const lines = await Promise.all(
    parts.flatMap(([name = "", local = name]) => (name === "" ? [] : importOf(index, name, local)))
  )
  return lines.join(" ")
}

/** Replaces imports from Effect's index modules. */
export const effectModules: Plugin = {
  name: "Effect's modules",
  transform: {
    filter: { code: /"@?effect/ },
    async handler(code, id) {
      const importMatches = [...code.matchAll(fromIndex)]
      const imports = await Promise.all(importMatches.map(([, clause = "", index = ""]) => importsOf(clause, index)))
      const done = code.replaceAll(fromIndex, () => imports.shift() ?? "")
      const [remainingImport] = anyIndex.exec(done) ?? []
      if (remainingImport !== undefined) throw new Error(`${id} must import by name what it uses: ${remainingImport}`)
      return done
    }
  }
}

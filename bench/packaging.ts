/**
 * Measures what the packages cost whoever installs them: `npx node bench/packaging.ts`, after `npm run build`.
 *
 * All packages are packed and installed into an empty folder. Every figure of time and memory is a median over separate
 * processes that alternate with bare Node. On a busy machine, only the ratios to bare Node and to `effect` are
 * meaningful.
 */
import { execFileSync } from "node:child_process"
import { lstatSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { withInstalledPackages } from "../scripts/installPackages.ts"
import { entryPoints, packages } from "../test/support/sources.ts"
import { median } from "./statistics.ts"

const rounds = 9

/** The name of a contender, and the program that it runs. */
type Contenders = Readonly<Record<string, string>>

const bare = "bare Node"

/** Lets all contenders take turns, each in its own process, and returns the median of each. */
const takeTurns = (contenders: Contenders, measure: (program: string) => number): ReadonlyMap<string, number> => {
  const figures = new Map(Object.keys(contenders).map((name) => [name, [] as number[]]))
  for (let round = 0; round < rounds; round++) {
    for (const [name, program] of Object.entries(contenders)) figures.get(name)?.push(measure(program))
  }
  return new Map([...figures].map(([name, all]) => [name, median(all)]))
}

const importing = (...specifiers: ReadonlyArray<string>): string =>
  specifiers.map((specifier) => `await import(${JSON.stringify(specifier)})`).join("\n")

const imports: Contenders = {
  [bare]: "0",
  effect: importing("effect"),
  "effect/Schema": importing("effect/Schema"),
  ...Object.fromEntries(packages.flatMap(entryPoints).map((specifier) => [specifier, importing(specifier)]))
}

/** Reports the memory of the process after two idle seconds, in MB. */
const idle = `await new Promise((resolve) => setTimeout(resolve, 2_000))
console.log(process.memoryUsage.rss() / 1e6)
process.exit()`

const services: Contenders = {
  [bare]: idle,
  "effect/Schema": `${importing("effect/Schema")}\n${idle}`,
  "an idle service": `import { embed } from "@quotewire/core"
    import { MemoryStorage } from "@quotewire/storage-memory"
    const quotewire = embed({ storage: MemoryStorage.layer })
    await quotewire.createOrganization("Acme")
    ${idle}`
}

const run = (folder: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" })

/** The disk space of a file or a folder, in MB. */
const diskOf = (path: string): number => {
  const { blocks } = lstatSync(path)
  const inside = lstatSync(path).isDirectory() ? readdirSync(path).map((name) => diskOf(join(path, name))) : []
  return inside.reduce((sum, size) => sum + size, (blocks * 512) / 1e6)
}

const fixed = (figure: number, digits = 0): string => figure.toFixed(digits)

const tableOf = (medians: ReadonlyMap<string, number>, unit: string) => {
  const base = medians.get(bare) ?? Number.NaN
  return [...medians].map(([what, figure]) => ({
    what,
    [unit]: fixed(figure),
    [`above bare Node, ${unit}`]: fixed(figure - base),
    "bare Node = 1": fixed(figure / base, 2)
  }))
}

await withInstalledPackages((folder) => {
  const modules = join(folder, "node_modules")
  const sizes = readdirSync(modules)
    .flatMap((name) =>
      name.startsWith("@") ? readdirSync(join(modules, name)).map((part) => `${name}/${part}`) : name
    )
    .map((name) => ({ package: name, MB: diskOf(join(modules, name)) }))
    .sort((a, b) => b.MB - a.MB)
  console.log(
    `Installed with everything: ${fixed(diskOf(modules))} MB in ${sizes.length} packages; those above 0.1 MB:`
  )
  console.table(
    sizes.filter(({ MB }) => MB > 0.1).map(({ package: name, MB }) => ({ package: name, MB: fixed(MB, 1) }))
  )

  const program = join(folder, "program.mjs")
  const timed = (text: string) => {
    writeFileSync(program, text)
    const began = performance.now()
    run(folder, program)
    return performance.now() - began
  }
  const command = join(modules, "@quotewire/cli/bin/quotewire.js")
  const help = `process.argv.push("--help")\n${importing(command)}`
  console.log("A process that imports and ends")
  console.table(tableOf(takeTurns({ ...imports, "quotewire --help": help }, timed), "ms"))

  const resident = (text: string) => {
    writeFileSync(program, text)
    return Number(run(folder, program))
  }
  console.log("Resident memory of an idle process")
  console.table(tableOf(takeTurns(services, resident), "MB"))
})

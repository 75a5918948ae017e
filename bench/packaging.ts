/**
 * Measures what installing and loading the packages costs: `npx node bench/packaging.ts`, after `npm run build`.
 *
 * All packages are packed and installed into an empty folder. Every figure is a median over separate processes, which
 * alternate with processes that run bare Node. Figures are a process's CPU time (user and system) until it ends, or its
 * resident memory. On a busy machine, only the ratios to bare Node and to `effect` are meaningful.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { lstatSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { withInstalledPackages } from "../scripts/installPackages.ts"
import { entryPoints, packages } from "../test/support/sources.ts"
import { median } from "./statistics.ts"

const rounds = 11

/** The program that each contender runs, by the contender's name. */
type Contenders = Readonly<Record<string, string>>

const bare = "bare Node"

/** Lets the contenders take turns, each in its own process. Returns each contender's median. */
const takeTurns = (contenders: Contenders, measure: (program: string) => number): ReadonlyMap<string, number> => {
  const figures = new Map(Object.keys(contenders).map((name) => [name, [] as number[]]))
  for (let round = 0; round < rounds; round++) {
    for (const [name, program] of Object.entries(contenders)) figures.get(name)?.push(measure(program))
  }
  return new Map([...figures].map(([name, values]) => [name, median(values)]))
}

const importing = (...specifiers: ReadonlyArray<string>): string =>
  specifiers.map((specifier) => `await import(${JSON.stringify(specifier)})`).join("\n")

const imports: Contenders = {
  [bare]: "0",
  effect: importing("effect"),
  "effect/Schema": importing("effect/Schema"),
  ...Object.fromEntries(packages.flatMap(entryPoints).map((specifier) => [specifier, importing(specifier)]))
}

/** A program that reports its memory after two idle seconds, in MB. */
const idle = `await new Promise((resolve) => setTimeout(resolve, 2_000))
console.log(process.memoryUsage.rss() / 1e6)
process.exit()`

const services: Contenders = {
  [bare]: idle,
  effect: `${importing("effect")}\n${idle}`,
  "effect/Schema": `${importing("effect/Schema")}\n${idle}`,
  "an idle service": `import { embed } from "@quotewire/core"
    import { MemoryStorage } from "@quotewire/storage-memory"
    const quotewire = embed({ storage: MemoryStorage.layer })
    await quotewire.createOrganization("Acme")
    ${idle}`
}

/** A module that writes its process's CPU time to file descriptor 3 when the process ends, in milliseconds. */
const timer = `data:text/javascript,${encodeURIComponent(`
import { writeSync } from "node:fs"
process.on("exit", () => {
  const { system, user } = process.cpuUsage()
  writeSync(3, String((system + user) / 1_000))
})`)}`

/** Measures the CPU time of a process that runs the program, in milliseconds. */
const cpuOf = (folder: string, program: string): number => {
  const { output, status } = spawnSync(process.execPath, ["--import", timer, program], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit", "pipe"]
  })
  if (status !== 0) throw new Error(`${program} has ended with ${status}`)
  return Number(output[3])
}

const run = (folder: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" })

/** Measures the disk space of a file or a folder, in MB. */
const diskOf = (path: string): number => {
  const { blocks } = lstatSync(path)
  const inside = lstatSync(path).isDirectory() ? readdirSync(path).map((name) => diskOf(join(path, name))) : []
  return inside.reduce((sum, size) => sum + size, (blocks * 512) / 1e6)
}

const fixed = (figure: number, digits = 0): string => figure.toFixed(digits)

const tableOf = (medians: ReadonlyMap<string, number>, unit: string) => {
  const base = medians.get(bare) ?? Number.NaN
  const effect = medians.get("effect") ?? Number.NaN
  return [...medians].map(([metric, figure]) => ({
    what: metric,
    [unit]: fixed(figure),
    [`above bare Node, ${unit}`]: fixed(figure - base),
    "bare Node = 1": fixed(figure / base, 2),
    "effect = 1": fixed(figure / effect, 2)
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
    return cpuOf(folder, program)
  }
  const command = join(modules, "@quotewire/cli/bin/quotewire.js")
  const calling = (...words: ReadonlyArray<string>) =>
    `process.argv.push(...${JSON.stringify(words)})\n${importing(command)}`
  const commands = {
    "quotewire --version": calling("--version"),
    "quotewire --help": calling("--help"),
    "quotewire keys list --help": calling("keys", "list", "--help")
  }
  console.log("Processor time of a process that imports and ends")
  console.table(tableOf(takeTurns({ ...imports, ...commands }, timed), "ms"))

  const resident = (text: string) => {
    writeFileSync(program, text)
    return Number(run(folder, program))
  }
  console.log("Resident memory of an idle process")
  console.table(tableOf(takeTurns(services, resident), "MB"))
})

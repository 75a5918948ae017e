import { parseArgs } from "node:util"
import { root } from "../../test/support/sources.ts"
import * as Copy from "./Copy.ts"
import { find, type Outcome } from "./Finding.ts"
import type { Mutant } from "./Mutant.ts"
import { mutants } from "./mutants.ts"

/*
 * npm run mutants -- [--only NAME] [--jobs N]
 *
 * Breaks the service in every listed way, each in a copy of the repository, and runs the test that must detect it.
 * Fails if a mutant survives. `--only` takes the beginning of names, and can be repeated.
 */

const { values } = parseArgs({
  options: { only: { type: "string", multiple: true, default: [""] }, jobs: { type: "string", default: "1" } }
})

interface Tried {
  readonly mutant: Mutant
  readonly outcome: Outcome
  readonly seconds: number
}

const wordsOf = (outcome: Outcome): string => {
  switch (outcome.is) {
    case "found":
      return outcome.by
    case "survived":
      return "NOBODY"
    case "not run":
      return `NOBODY: its finder did not run. ${outcome.why}`
  }
}

const rowOf = ({ mutant, outcome, seconds }: Tried): ReadonlyArray<string> => [
  mutant.name,
  mutant.file.replace(/^packages\//, ""),
  wordsOf(outcome),
  seconds.toFixed(0)
]

/** Works through the mutants that no other worker has taken yet. */
const work = async (queue: Array<Mutant>, done: Array<Tried>) => {
  const copy = Copy.make(root)
  process.once("exit", copy.remove)
  for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
    const { found_by } = mutant
    const began = performance.now()
    const outcome = await copy.broken(mutant, () => find(copy.folder, found_by))
    const one = { mutant, outcome, seconds: (performance.now() - began) / 1_000 }
    done.push(one)
    console.log(`| ${rowOf(one).join(" | ")} |`)
  }
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130))
const chosen = mutants.filter(({ name }) => values.only.some((only) => name.startsWith(only)))
if (chosen.length === 0) throw new Error("No mutant has such a name")
const tried: Array<Tried> = []
const left = [...chosen]
console.log("| mutant | where | found by | seconds |\n| --- | --- | --- | ---: |")
await Promise.all(Array.from({ length: Number(values.jobs) }, () => work(left, tried)))
const surviving = tried.filter(({ outcome }) => outcome.is !== "found")
console.log(`\n${tried.length} mutants, ${surviving.length} not found`)
if (surviving.length > 0) process.exitCode = 1

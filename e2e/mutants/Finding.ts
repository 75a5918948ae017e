import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Option, Schema } from "effect"
import { type Finder, requests, type StoryFinder, type TestFinder } from "./Mutant.ts"

/*
 * Runs the test or the stories that must detect a mutant.
 */

/** Whether a mutant was detected. A finder that did not run, because the mutant does not load, has detected nothing. */
export type Outcome =
  | { readonly is: "found"; readonly by: string }
  | { readonly is: "survived" }
  | { readonly is: "not run"; readonly why: string }

/** A finder that takes longer than this is stopped, and counts as not run. */
const atMostMs = 600_000

/** Runs a finder in a copy of the repository. */
export const find = (folder: string, finder: Finder): Promise<Outcome> =>
  "test" in finder ? byTest(folder, finder) : byStories(folder, finder)

const Report = Schema.fromJsonString(
  Schema.Struct({
    testResults: Schema.Array(
      Schema.Struct({
        message: Schema.String,
        assertionResults: Schema.Array(Schema.Struct({ title: Schema.String, status: Schema.String }))
      })
    )
  })
)
const readReport = Schema.decodeUnknownOption(Report)

const byTest = async (folder: string, { name, test }: TestFinder): Promise<Outcome> => {
  const file = join(folder, "mutant.tmp.json")
  const pattern = `${name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`
  const vitest = join(folder, "node_modules/vitest/vitest.mjs")
  rmSync(file, { force: true })
  const { printed } = await run(folder, [
    vitest,
    "run",
    test,
    ...["-t", pattern, "--retry=0", "--reporter=json", `--outputFile=${file}`]
  ])
  const report = Option.getOrNull(readReport(readIfThere(file)))
  if (report === null) return { is: "not run", why: lastOf(printed) }
  const results = report.testResults.flatMap(({ assertionResults }) => assertionResults)
  const statuses = results.filter(({ title }) => title.endsWith(name)).map(({ status }) => status)
  if (statuses.includes("failed")) return { is: "found", by: test }
  if (statuses.includes("passed")) return { is: "survived" }
  return { is: "not run", why: report.testResults.map(({ message }) => message).join(" ") || "there is no such test" }
}

const Broken = Schema.fromJsonString(Schema.Struct({ seed: Schema.Int, finding: Schema.String }))
const readBroken = Schema.decodeUnknownOption(Broken)

const byStories = async (folder: string, { seeds }: StoryFinder): Promise<Outcome> => {
  const here = join(folder, "e2e/mutants")
  const program = ["--import", join(here, "sources.ts"), join(here, "stories.ts"), `${seeds}`, `${requests}`]
  const { printed, status } = await run(folder, program)
  const broken = Option.getOrNull(readBroken(lastOf(printed)))
  if (broken !== null) return { is: "found", by: `seed ${broken.seed}: ${broken.finding}` }
  return status === 0 ? { is: "survived" } : { is: "not run", why: lastOf(printed) }
}

const run = async (folder: string, args: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, args, { cwd: folder, timeout: atMostMs, stdio: ["ignore", "pipe", "pipe"] })
  let printed = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed = `${printed}${text}`.slice(-100_000)
    })
  }
  const [status] = await once(child, "close")
  return { printed, status: typeof status === "number" ? status : null }
}

const lastOf = (printed: string): string => printed.trim().split("\n").at(-1) ?? ""

const readIfThere = (file: string): string => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

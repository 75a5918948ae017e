import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { Effect } from "effect"
import type { Client } from "./Client.ts"
import { clients } from "./clients.ts"
import * as Host from "./Host.ts"
import * as Install from "./Install.ts"
import * as Model from "./model/Server.ts"
import * as Report from "./Report.ts"
import * as ResultsPage from "./ResultsPage.ts"
import * as Run from "./Run.ts"
import { validate } from "./validate.ts"

/*
 * npm run agents -- [--only PART] [--records FOLDER] [--write]
 *
 * Runs a car insurance journey with real clients and a scripted model. Prints what reached the model. `--only` selects
 * the clients whose id contains this text, `--records` writes what each client sent to the model, and `--write` writes
 * the table and the results into the documentation. At the end, Claude Code and Gemini CLI check their plugin and their
 * extension in `agent-programs/`.
 */

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    records: { type: "string" },
    write: { type: "boolean", default: false }
  }
})
const chosen = clients.filter(({ id }) => id.includes(values.only))
for (const folder of new Set(chosen.map((client) => client.folder))) Install.folder(folder)

/** How far to advance the sandbox's clock while a client waits, and how long after the wait began. */
const advance = { seconds: 20, after_ms: 300 }

const play = async (host: Host.Host): Promise<ReadonlyArray<Run.Run>> => {
  const model = await Model.open(() => setTimeout(() => void host.advance(advance.seconds), advance.after_ms))
  const runs: Array<Run.Run> = []
  for (const client of chosen) {
    const run = await Run.run(client, model, host.base_url)
    runs.push(run)
    console.log(`${client.id}: ${run.finished ? "one quote" : "not finished"} in ${run.seconds} s`)
    if (!run.finished) console.log(run.heard.fault ?? "", run.printed.slice(-2_000))
  }
  await model.close()
  return runs
}

/** Replaces the part of a page between two comments: `<!-- name -->` and `<!-- /name -->`. */
const rewrite = (page: string, name: string, text: string) => {
  const file = fileURLToPath(new URL(`../docs/${page}`, import.meta.url))
  const marked = new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*(\n<!-- /${name} -->)`)
  writeFileSync(
    file,
    readFileSync(file, "utf8").replace(marked, (_, begin, end) => `${begin}\n${text}\n${end}`)
  )
}

const record = (folder: string, run: Run.Run) => {
  mkdirSync(folder, { recursive: true })
  const text = JSON.stringify(
    { ...run.heard, recorded: run.recorded },
    (_, value) => (value instanceof Set ? [...value] : value),
    2
  )
  writeFileSync(`${folder}/${run.client.id}.json`, text)
}

const program = Effect.gen(function* () {
  const host = yield* Host.start
  const runs = yield* Effect.promise(() => play(host))
  const declaredTo = ({ shows_forms = false }: Client) =>
    (shows_forms ? host.tools_with_forms : host.tools).get("start_quote_request")?.inputSchema
  const rows = runs.map((run) => Report.rowOf(run, declaredTo(run.client)))
  console.log(Report.table(rows))
  if (values.records !== undefined) for (const run of runs) record(values.records, run)
  if (values.write) {
    rewrite("reference/agents.md", "clients", Report.table(rows))
    rewrite("guides/what-a-model-sees.md", "results", ResultsPage.page(runs))
  }
  return runs.every(({ finished }) => finished)
})

/** Checks the plugin and the extension, if Claude Code and Gemini CLI are among the selected clients. */
const areProgramsValid = (): boolean => {
  if (!chosen.some(({ folder }) => folder === "terminals")) return true
  const home = mkdtempSync(`${tmpdir()}/quotewire-agents-`)
  try {
    return validate(home)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

const haveFinished = await Effect.runPromise(Effect.provide(program, Host.layer))
process.exit(areProgramsValid() && haveFinished ? 0 : 1)

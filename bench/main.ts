import { Effect } from "effect"
import * as carriers from "./carriers/throughput.ts"
import * as client from "./client/reads.ts"
import * as flags from "./flags.ts"
import * as hostile from "./hostile/suite.ts"
import * as http from "./http/suite.ts"
import * as suites from "./http/suites.ts"
import * as inProcess from "./inProcess/suite.ts"
import * as pgChanges from "./pg/changes.ts"
import * as Databases from "./pg/Databases.ts"
import * as pgDeliveries from "./pg/deliveries.ts"
import * as pgGrowth from "./pg/growth.ts"
import * as pgJobs from "./pg/jobs.ts"
import * as pgReads from "./pg/reads.ts"
import * as report from "./report.ts"
import * as shared from "./shared.ts"
import * as deliveries from "./webhooks/throughput.ts"

const settings = flags.read()
const isWanted = (name: string): boolean => settings.only === null || settings.only === name
const tables: Array<report.Table> = []
const add = (table: report.Table): void => {
  report.print(table)
  tables.push(table)
}

const facts = await Effect.runPromise(shared.make)
const { handlers, mcp, mcpList: mcp_list, mcpToken: mcp_token, read, start, webHandler: web_handler } = suites
for (const suite of [read, start, mcp, mcp_list, mcp_token, handlers, web_handler]) {
  if (!isWanted(suite.name)) continue
  const rows = await http.run(suite, facts, settings)
  add(report.ofPeers(suite.name, suite.title, suite.base, rows))
}
if (isWanted("hostile")) add(hostile.tableOf(await hostile.run(facts, settings.quick ? 5 : 20)))
if (isWanted("hostile_answers")) {
  const rows = await hostile.runAnswers()
  add(hostile.tableOfAnswers(rows))
  // A run can fail because of CPU time and memory, which are reliable measurements, unlike throughput.
  if (hostile.tooCostly(rows).length > 0) process.exitCode = 1
}
if (isWanted("stored")) {
  add(report.ofLevels(await inProcess.stored(settings.quick ? [1_000, 10_000, 100_000] : [1_000, 100_000, 1_000_000])))
}
if (isWanted("lives")) {
  add(report.ofLives(await inProcess.lives(settings.quick ? [300, 2_000] : [1_000, 100_000])))
}
if (isWanted("client")) add(client.tableOf(await client.run(facts, settings)))
if (isWanted("deliveries")) add(deliveries.tableOf(await deliveries.run(settings)))
if (isWanted("carriers")) add(carriers.tableOf(await carriers.run(settings)))
if (isWanted("pg_changes")) add(pgChanges.tableOf(await pgChanges.run(settings)))
if (isWanted("pg_starts")) {
  // The database batches concurrent writes, so it reaches its full throughput only with many connections.
  for (const connections of new Set([settings.connections, suites.manyConnections])) {
    await Databases.using(async ({ fresh }) => {
      const suite = suites.startOnPg(await fresh(), connections)
      const rows = await http.run(suite, facts, { ...settings, connections })
      add(report.ofPeers(suite.name, suite.title, suite.base, rows))
    })
  }
}
if (isWanted("pg_jobs")) add(pgJobs.tableOf(await pgJobs.run(settings)))
if (isWanted("pg_deliveries")) add(pgDeliveries.tableOf(await pgDeliveries.run(settings)))
if (isWanted("pg_reads")) add(pgReads.tableOf(await pgReads.run(settings)))
if (isWanted("pg_growth")) add(pgGrowth.tableOf(await pgGrowth.run(settings)))
// The results of a quick run, or of a run with profiling, do not belong in the repository.
if (!settings.quick && settings.profile === null) report.write(tables, settings)

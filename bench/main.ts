import { Effect } from "effect"
import * as carriersMemory from "./carriers/memory.ts"
import * as slowCarrier from "./carriers/slow.ts"
import * as carriers from "./carriers/throughput.ts"
import * as client from "./client/reads.ts"
import * as consume from "./consume/suite.ts"
import * as flags from "./flags.ts"
import * as hostile from "./hostile/suite.ts"
import * as http from "./http/suite.ts"
import * as suites from "./http/suites.ts"
import * as unread from "./http/unread.ts"
import * as inProcess from "./inProcess/suite.ts"
import * as pgAdvance from "./pg/advance.ts"
import * as pgChanges from "./pg/changes.ts"
import * as Databases from "./pg/Databases.ts"
import * as pgDeliveries from "./pg/deliveries.ts"
import * as pgGrowth from "./pg/growth.ts"
import * as pgJobs from "./pg/jobs.ts"
import * as pgProcesses from "./pg/processes.ts"
import * as pgReads from "./pg/reads.ts"
import * as report from "./report.ts"
import * as shared from "./shared.ts"
import * as hanging from "./webhooks/hanging.ts"
import * as latency from "./webhooks/latency.ts"
import * as pending from "./webhooks/pending.ts"
import * as deliveries from "./webhooks/throughput.ts"

const settings = flags.read()
const isWanted = (name: string): boolean => settings.only === null || settings.only === name
const tables: Array<report.Table> = []
const add = (table: report.Table): void => {
  report.print(table)
  tables.push(table)
}

const facts = await Effect.runPromise(shared.make)
const { handlers, mcp, mcp_list, mcp_token, read, start, web_handler } = suites
for (const suite of [read, start, mcp, mcp_list, mcp_token, handlers, web_handler]) {
  if (!isWanted(suite.name)) continue
  const rows = await http.run(suite, facts, settings)
  add(report.ofPeers(suite.name, suite.title, suite.base, rows))
}
if (isWanted("unread")) add(unread.tableOf(await unread.run(settings.rounds, settings.seconds)))
if (isWanted("hostile")) add(hostile.tableOf(await hostile.run(facts, settings.quick ? 5 : 20)))
if (isWanted("stored")) {
  add(report.ofLevels(await inProcess.stored(settings.quick ? [1_000, 10_000, 100_000] : [1_000, 100_000, 1_000_000])))
}
if (isWanted("lives")) {
  add(report.ofLives(await inProcess.lives(settings.quick ? [300, 2_000] : [1_000, 100_000])))
}
if (isWanted("deliveries")) add(deliveries.tableOf(await deliveries.run(settings)))
if (isWanted("first_attempts")) add(latency.tableOf(await latency.run(settings.quick ? 2 : 4, settings.quick ? 4 : 6)))
if (isWanted("hanging")) add(hanging.tableOf(await hanging.run(settings.quick ? 1 : 5, settings.quick ? 20 : 40)))
if (isWanted("pending")) {
  add(pending.tableOf(await pending.run([1_000, settings.quick ? 20_000 : 100_000], settings.quick ? 6 : 20, 1_000)))
}
if (isWanted("client")) add(client.tableOf(await client.run(facts, settings)))
if (isWanted("carriers")) add(carriers.tableOf(await carriers.run(settings)))
if (isWanted("carriers_memory"))
  add(carriersMemory.tableOf(await carriersMemory.run(carriersMemory.levelsOf(settings))))
if (isWanted("slow_carrier")) add(slowCarrier.tableOf(await slowCarrier.run(...slowCarrier.planOf(settings))))
if (isWanted("consume")) add(consume.tableOf(await consume.run(settings)))
if (isWanted("pg_changes")) add(pgChanges.tableOf(await pgChanges.run(settings)))
if (isWanted("pg_starts")) {
  // The database writes together what comes together: it shows what it can do only where much does.
  for (const connections of new Set([settings.connections, suites.many_connections])) {
    await Databases.using(async ({ fresh }) => {
      const suite = suites.startOnPg(await fresh(), connections)
      const rows = await http.run(suite, facts, { ...settings, connections })
      add(report.ofPeers(suite.name, suite.title, suite.base, rows))
    })
  }
}
if (isWanted("pg_jobs")) add(pgJobs.tableOf(await pgJobs.run(settings)))
if (isWanted("pg_advance")) add(pgAdvance.tableOf(await pgAdvance.run(settings)))
if (isWanted("pg_deliveries")) add(pgDeliveries.tableOf(await pgDeliveries.run(settings)))
if (isWanted("pg_reads")) add(pgReads.tableOf(await pgReads.run(settings)))
if (isWanted("pg_growth")) add(pgGrowth.tableOf(await pgGrowth.run(settings)))
if (isWanted("processes")) add(pgProcesses.tableOf(await pgProcesses.run(settings)))
// A quick look says nothing that should stand in the repository.
if (!settings.quick && settings.profile === null) report.write(tables, settings)

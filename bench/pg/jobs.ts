import * as Child from "../Child.ts"
import type { Flags } from "../flags.ts"
import type { Table } from "../report.ts"
import * as Databases from "./Databases.ts"
import { contenders, type JobRound } from "./jobsClient.ts"
import * as turns from "./turns.ts"

/**
 * Measures claiming and finishing no-op jobs, compared with other job queues. Each contender has a database of its own.
 */
export const run = async ({ rounds, quick }: Flags): Promise<ReadonlyArray<turns.Measurement<JobRound>>> => {
  const jobs = quick ? 4_000 : 20_000
  const clients = [...contenders.keys()].map((name) => ({
    name,
    client: Child.start("pg/jobsClient.ts", Child.cores.load, { args: [name] })
  }))
  try {
    return await Databases.using((databases) => {
      const all = clients.map(({ name, client }) => ({
        name,
        measure: () => Databases.onFresh(databases, (url) => client.ask<JobRound>({ url, jobs }))
      }))
      return turns.take("pg_jobs", all, rounds)
    })
  } finally {
    await Promise.all(clients.map(({ client }) => client.stop()))
  }
}

/** Formats the results as a table. */
export const tableOf = (all: ReadonlyArray<turns.Measurement<JobRound>>): Table => {
  const ours = turns.named(all, "Quotewire")
  const perSecond = (worked: JobRound) => worked.per_second
  return {
    name: "pg_jobs",
    title: "PostgreSQL: due jobs that do nothing, claimed and finished",
    columns: ["queue", "jobs/s", "Quotewire = 1"],
    rows: all.map((measured) => [
      measured.name,
      Math.round(turns.middle(measured, perSecond)).toLocaleString("en-US"),
      turns.ratio(measured, ours, perSecond).toFixed(2)
    ]),
    how: "rounds of 20,000 jobs",
    numbers: all
  }
}

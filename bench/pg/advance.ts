import * as Child from "../Child.ts"
import type { Flags } from "../flags.ts"
import type { Table } from "../report.ts"
import type { Advanced } from "./advanceClient.ts"
import * as Databases from "./Databases.ts"
import * as turns from "./turns.ts"

const seconds = 600

/** Measures one advance of ten minutes over many open requests, on PostgreSQL and in memory. */
export const run = async ({ rounds, quick }: Flags): Promise<ReadonlyArray<turns.Measured<Advanced>>> => {
  const requests = quick ? 100 : 300
  const client = Child.start("pg/advanceClient.ts", Child.cores.load)
  const advance = (url: string | null) => client.ask<Advanced>({ url, requests, seconds })
  try {
    return await Databases.using((databases) => {
      const onPostgres = () => Databases.onFresh(databases, advance)
      const all = [
        { name: "PostgreSQL", measure: onPostgres },
        { name: "memory", measure: () => advance(null) }
      ]
      return turns.take("pg_advance", all, rounds)
    })
  } finally {
    await client.stop()
  }
}

/** The rows as they are printed. */
export const tableOf = (all: ReadonlyArray<turns.Measured<Advanced>>): Table => {
  const memory = turns.named(all, "memory")
  const ms = (advanced: Advanced) => advanced.ms
  return {
    name: "pg_advance",
    title: "PostgreSQL: one advance of ten minutes over open requests of a sandbox",
    columns: ["storage", "ms", "CPU ms of the process", "memory = 1"],
    rows: all.map((measured) => [
      measured.name,
      Math.round(turns.middle(measured, ms)).toLocaleString("en-US"),
      Math.round(turns.middle(measured, ({ cpu_ms }) => cpu_ms)).toLocaleString("en-US"),
      turns.ratio(measured, memory, ms).toFixed(2)
    ]),
    how: "rounds of 300 requests of a household with two cars, with the whole service in one process",
    numbers: all
  }
}

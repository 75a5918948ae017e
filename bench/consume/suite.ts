import * as Child from "../Child.ts"
import type { Flags } from "../flags.ts"
import * as Databases from "../pg/Databases.ts"
import * as turns from "../pg/turns.ts"
import type { Table } from "../report.ts"
import type { Consumed, Consuming } from "./client.ts"

/** What is measured: where the events are, and in how many workspaces. */
const contenders = [
  { name: "in memory, one workspace", workspaces: 1, isOnPg: false, goal: 20_000 },
  { name: "in memory, eight workspaces", workspaces: 8, isOnPg: false, goal: 20_000 },
  { name: "PostgreSQL, one workspace", workspaces: 1, isOnPg: true, goal: 5_000 },
  { name: "PostgreSQL, eight workspaces", workspaces: 8, isOnPg: true, goal: 5_000 }
]

/** Measures a handler that does nothing, from the start of its consumer to the last of the events that wait for it. */
export const run = async ({ rounds, quick }: Flags): Promise<ReadonlyArray<turns.Measured<Consumed>>> => {
  const child = Child.start("consume/client.ts", Child.cores.load)
  try {
    return await Databases.using((databases) => {
      const ask = (question: Consuming) => child.ask<Consumed>(question)
      const all = contenders.map(({ name, workspaces, isOnPg }) => {
        const events = (isOnPg ? 20_000 : 100_000) / (quick ? 2 : 1)
        const measure = isOnPg
          ? () => Databases.onFresh(databases, (url) => ask({ url, events, workspaces }))
          : () => ask({ url: null, events, workspaces })
        return { name, measure }
      })
      return turns.take("consume", all, rounds)
    })
  } finally {
    await child.stop()
  }
}

/** The rows as they are printed. */
export const tableOf = (all: ReadonlyArray<turns.Measured<Consumed>>): Table => ({
  name: "consume",
  title: "Events consumed by a handler that does nothing",
  columns: ["events", "events/s", "goal"],
  rows: all.map((measured) => [
    measured.name,
    Math.round(turns.middle(measured, ({ per_second }) => per_second)).toLocaleString("en-US"),
    (contenders.find(({ name }) => name === measured.name)?.goal ?? 0).toLocaleString("en-US")
  ]),
  how: "rounds of 100,000 events in memory and 20,000 on PostgreSQL",
  numbers: all
})

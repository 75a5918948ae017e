import type { Change } from "@quotewire/core"
import { Effect } from "effect"
import { statements } from "../../test/support/TestDatabase.ts"
import * as Child from "../Child.ts"
import type { Flags } from "../flags.ts"
import type { Table } from "../report.ts"
import type { WriteOptions, WriteRound } from "./changesClient.ts"
import * as Databases from "./Databases.ts"
import * as pgbench from "./pgbench.ts"
import * as sameRows from "./sameRows.ts"
import * as start from "./start.ts"
import * as turns from "./turns.ts"

/** A contender: one way of writing changes. */
interface Contender {
  readonly name: string
  readonly by: WriteOptions["by"] | "pgbench"
  readonly workspaces: number
  readonly at_once: number
}

const connections = 10
const atOnce = 64
const workspaces = 8

const waysOf = (rival: "pgbench" | "pg"): ReadonlyArray<Contender> => [
  { name: "Quotewire", by: "port", workspaces, at_once: atOnce },
  { name: rival, by: rival, workspaces, at_once: connections },
  { name: `${rival}, no two in one workspace`, by: rival, workspaces: connections, at_once: connections },
  { name: "Quotewire, one hot workspace", by: "port", workspaces: 1, at_once: atOnce },
  { name: `${rival}, one hot workspace`, by: rival, workspaces: 1, at_once: connections },
  { name: "Quotewire, one at a time", by: "port", workspaces, at_once: 1 },
  { name: "Quotewire's statement by itself, one at a time", by: "statement", workspaces, at_once: 1 },
  { name: `${rival}, one at a time`, by: rival, workspaces, at_once: 1 },
  ...(rival === "pg" ? [] : [{ name: "pg, one at a time", by: "pg", workspaces, at_once: 1 } as const])
]

const writeOn = (url: string, way: Contender, sample: Change.Change, client: Child.Child) => {
  const { by, workspaces, at_once } = way
  return (seconds: number, startNumber: number): Promise<WriteRound> =>
    by === "pgbench"
      ? pgbench.write({
          url,
          sample,
          workspaces: workspaces === connections ? "own" : workspaces,
          connections: at_once,
          seconds: Math.ceil(seconds)
        })
      : client.ask<WriteRound>({ by, url, sample, workspaces, at_once, seconds, from: startNumber })
}

/** Measures one way of writing changes, on a database of its own, after a second of warm-up. */
const measure = (
  databases: Databases.Databases,
  way: Contender,
  sample: Change.Change,
  client: Child.Child,
  seconds: number
) =>
  Databases.onFresh(databases, async (url) => {
    await statements(url, sameRows.counter, sameRows.workspaces.replace("$1", `${connections}`))
    const write = writeOn(url, way, sample, client)
    await write(1, 0)
    return write(seconds, 1_000_000)
  })

/** What was measured, and the contender that the others are compared with. */
export interface Result {
  readonly rival: "pgbench" | "pg"
  readonly all: ReadonlyArray<turns.Measurement<WriteRound>>
}

/**
 * Measures writing changes through the storage port, compared with SQL statements that write the same rows, one
 * statement for each change.
 */
export const run = async ({ rounds, seconds }: Flags): Promise<Result> => {
  const rival = (await pgbench.isThere()) ? "pgbench" : "pg"
  const sample = await Effect.runPromise(start.sample)
  const client = Child.start("pg/changesClient.ts", Child.cores.load)
  try {
    return await Databases.using(async (databases) => {
      const contenders = waysOf(rival).map((way) => ({
        name: way.name,
        measure: () => measure(databases, way, sample, client, seconds)
      }))
      return { rival, all: await turns.take("pg_changes", contenders, rounds) }
    })
  } finally {
    await client.stop()
  }
}

/** Formats the results as a table. */
export const tableOf = ({ rival, all: measurements }: Result): Table => {
  const base = turns.named(measurements, rival)
  const lone = turns.named(measurements, `${rival}, one at a time`)
  const perSecond = (round: WriteRound) => round.per_second
  const p50 = (round: WriteRound) => round.p50_ms
  return {
    name: "pg_changes",
    title: `PostgreSQL: starts committed at the storage port, ${atOnce} at a time, and by ${rival}, one statement each on ${connections} connections`,
    columns: ["writer", "changes/s", `throughput, ${rival} = 1`, "p50", `p50, ${lone.name} = 1`],
    rows: measurements.map((measured) => [
      measured.name,
      Math.round(turns.middle(measured, perSecond)).toLocaleString("en-US"),
      turns.ratio(measured, base, perSecond).toFixed(2),
      `${turns.middle(measured, p50).toFixed(2)} ms`,
      turns.ratio(measured, lone, p50).toFixed(2)
    ]),
    how: null,
    numbers: measurements
  }
}

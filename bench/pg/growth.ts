import { Effect } from "effect"
import * as Child from "../Child.ts"
import type { Flags } from "../flags.ts"
import type { Table } from "../report.ts"
import { median } from "../statistics.ts"
import type { WriteRound } from "./changesClient.ts"
import * as Databases from "./Databases.ts"
import { fill } from "./fill.ts"
import { type ReadsHost, reading, readsOf } from "./reads.ts"
import * as start from "./start.ts"

/** The cost of steps while this many requests are stored. */
export interface AtLevel {
  readonly requests: number
  readonly changes_per_second: number
  readonly quote_ms: number
  readonly page_ms: number
  readonly claim_ms: number
}

const workspaces = 8
const atOnce = 64

const sampled = await Effect.runPromise(start.sample)

/** Repeats a measurement, and returns the median. */
const repeated = async (times: number, measure: () => Promise<number>): Promise<number> => {
  const durations: Array<number> = []
  for (let i = 0; i < times; i++) durations.push(await measure())
  return median(durations)
}

const measure = async (
  url: string,
  { at, service, read, cursors }: ReadsHost,
  client: Child.Child,
  requests: number,
  { seconds, quick }: Flags
): Promise<AtLevel> => {
  const reads = readsOf(at.quote_id, requests, workspaces, await cursors(requests / workspaces))
  const times = quick ? 1 : 3
  // The changes' numbers begin after those of the copies. Each measurement of writes takes new numbers.
  let from = requests * 10
  const write = async () => {
    from += 1_000_000
    const writing = { by: "port", url, sample: sampled, workspaces, at_once: atOnce, seconds, from }
    return (await client.ask<WriteRound>(writing)).per_second
  }
  await read({ ...reads.quote, connections: 1 }, 1)
  return {
    requests,
    quote_ms: await repeated(times, async () => (await read({ ...reads.quote, connections: 1 }, seconds)).p50_ms),
    page_ms: await repeated(times, async () => (await read({ ...reads.page, connections: 1 }, seconds)).p50_ms),
    claim_ms: (await service.ask<{ readonly p50_ms: number }>({ ask: "claim", sample: sampled, claims: 50 })).p50_ms,
    changes_per_second: await repeated(times, write)
  }
}

/** Measures single steps while more and more requests are stored in one database. */
export const run = (flags: Flags): Promise<ReadonlyArray<AtLevel>> =>
  Databases.using((databases) =>
    Databases.onFresh(databases, (url) =>
      reading(url, async (service) => {
        const client = Child.start("pg/changesClient.ts", Child.cores.load)
        const levels: Array<AtLevel> = []
        let filled = 1
        for (const requests of flags.quick ? [1_000, 10_000] : [10_000, 100_000, 1_000_000]) {
          const from_workspace = service.at.workspace_id
          await fill({ url, from_workspace, workspaces, from: filled, to: requests + 1, kind: "requests" })
          filled = requests + 1
          levels.push(await measure(url, service, client, requests, flags))
          process.stderr.write(`pg_growth: ${requests}\n`)
        }
        await client.stop()
        return levels
      })
    )
  )

/** Formats the results as a table. Each number is followed by its ratio to the first level's. */
export const tableOf = (levels: ReadonlyArray<AtLevel>): Table => {
  const [first] = levels
  const ratio = (level: AtLevel, pick: (level: AtLevel) => number) =>
    (first === undefined ? 1 : pick(level) / pick(first)).toFixed(2)
  const cost = (level: AtLevel, pick: (level: AtLevel) => number) =>
    `${pick(level).toFixed(2)} ms (${ratio(level, pick)})`
  const changes = (level: AtLevel) => level.changes_per_second
  return {
    name: "pg_growth",
    title: "PostgreSQL: what steps take with so many requests stored (in brackets: the first row = 1)",
    columns: ["requests stored", "changes/s", "quote read, p50", "feed page of 100, p50", "claim of 100 jobs, p50"],
    rows: levels.map((level) => [
      level.requests.toLocaleString("en-US"),
      `${Math.round(changes(level)).toLocaleString("en-US")} (${ratio(level, changes)})`,
      cost(level, ({ quote_ms }) => quote_ms),
      cost(level, ({ page_ms }) => page_ms),
      cost(level, ({ claim_ms }) => claim_ms)
    ]),
    how: "one database that grows; medians of three times the seconds, and of 50 claims",
    numbers: levels
  }
}

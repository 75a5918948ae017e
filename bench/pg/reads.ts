import * as Child from "../Child.ts"
import type { Flags } from "../flags.ts"
import type { Load, LoadResult } from "../http/load.ts"
import type { Table } from "../report.ts"
import * as Databases from "./Databases.ts"
import { fill } from "./fill.ts"
import { copyOf, type ListeningAddress } from "./readsService.ts"
import * as turns from "./turns.ts"

/** What to read, and over how many connections. */
type Read = Pick<Load, "path" | "places" | "connections">

const pageSize = 100
const places = 2_000

/** Reads of quotes and feed pages across everything that is stored for a key. The key owns one in `every` requests. */
export const readsOf = (quoteId: string, requests: number, every: number, cursors: ReadonlyArray<string>) => ({
  quote: {
    path: "/v1/quotes/{place}",
    places: Array.from({ length: places }, (_, index) =>
      copyOf(quoteId, every * (1 + Math.floor((index * requests) / every / places)))
    )
  },
  page: { path: `/v1/events?limit=${pageSize}&cursor={place}`, places: cursors }
})

/** A separate host on a database, and the load generator for it. */
export interface ReadsHost {
  readonly service: Child.Child
  readonly at: ListeningAddress
  readonly read: (read: Read, seconds: number) => Promise<LoadResult>
  readonly cursors: (events: number) => Promise<ReadonlyArray<string>>
}

/** Starts a host on a database for the duration of the reads. */
export const reading = async <A>(url: string, work: (reading: ReadsHost) => Promise<A>): Promise<A> => {
  const service = Child.start("pg/readsService.ts", Child.cores.server)
  const load = Child.start("http/load.ts", Child.cores.load)
  try {
    const at = await service.ask<ListeningAddress>({ ask: "listen", url })
    const always = { port: at.port, key: at.key, method: "GET", body: null, status: 200, at_most: 10_000_000 } as const
    return await work({
      service,
      at,
      read: (read, seconds) => load.ask<LoadResult>({ ...always, ...read, seconds }),
      cursors: (events) => service.ask({ ask: "cursors", events, count: places })
    })
  } finally {
    await Promise.all([service.stop(), load.stop()])
  }
}

const ways = [
  { name: "quote, one at a time", what: "quote", connections: 1 },
  { name: "quote, 50 connections", what: "quote", connections: 50 },
  { name: "feed page of 100, one at a time", what: "page", connections: 1 },
  { name: "feed page of 100, 10 connections", what: "page", connections: 10 }
] as const

/** Measures reads over HTTP while a million events are stored. */
export const run = ({ rounds, seconds, quick }: Flags): Promise<ReadonlyArray<turns.Measurement<LoadResult>>> =>
  Databases.using((databases) =>
    Databases.onFresh(databases, (url) =>
      reading(url, async ({ at, read, cursors }) => {
        const events = quick ? 50_000 : 1_000_000
        const requests = 10_000
        const from_workspace = at.workspace_id
        await fill({ url, from_workspace, workspaces: 1, from: 1, to: requests + 1, kind: "requests" })
        await fill({ url, from_workspace, workspaces: 1, from: requests + 1, to: events + 1, kind: "events" })
        const reads = readsOf(at.quote_id, requests, 1, await cursors(events))
        for (const { what } of ways) await read({ ...reads[what], connections: 10 }, 1)
        const contenders = ways.map(({ name, what, connections }) => ({
          name,
          measure: () => read({ ...reads[what], connections }, seconds)
        }))
        return turns.take("pg_reads", contenders, rounds)
      })
    )
  )

/** Formats the results as a table. */
export const tableOf = (measurements: ReadonlyArray<turns.Measurement<LoadResult>>): Table => ({
  name: "pg_reads",
  title: "PostgreSQL: reads over HTTP with 1,000,000 events stored",
  columns: ["read", "reads/s", "p50", "p99"],
  rows: measurements.map((measured) => [
    measured.name,
    Math.round(turns.middle(measured, ({ requests, seconds }) => requests / seconds)).toLocaleString("en-US"),
    `${turns.middle(measured, ({ p50_ms }) => p50_ms).toFixed(2)} ms`,
    `${turns.middle(measured, ({ p99_ms }) => p99_ms).toFixed(2)} ms`
  ]),
  how: null,
  numbers: measurements.map(({ name, rounds }) => ({ name, rounds: rounds.map(({ sample: _, ...round }) => round) }))
})

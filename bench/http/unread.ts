import * as Child from "../Child.ts"
import * as flags from "../flags.ts"
import type { Cpu, Listening } from "../peers/Peer.ts"
import * as report from "../report.ts"
import { median } from "../statistics.ts"
import type { Load, Loaded } from "./load.ts"
import type { Unread } from "./unreadLoad.ts"

/** What callers see that read their answers, while others read none. */
export interface Row {
  readonly name: string
  /** Medians over the rounds. */
  readonly per_second: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly resident_mb: number
  /** Medians of what was measured against the base of the same round. */
  readonly p50_ratio: number
  readonly p99_ratio: number
}

type Round = Omit<Row, "name" | "p50_ratio" | "p99_ratio">

/** How many connections read nothing. */
const variants = [0, 50]

const warmup_requests = 5_000

const measure = async (unreading: number, seconds: number): Promise<Round> => {
  const server = Child.start("peers/quotewire.ts", Child.cores.server)
  const load = Child.start("http/load.ts", Child.cores.load)
  const others = Child.start("http/unreadLoad.ts", Child.cores.load)
  try {
    const at = await server.ask<Listening>({ ask: "listen" })
    const read: Load = {
      ...{ port: at.port, key: at.key, connections: 20, seconds: 60, at_most: warmup_requests },
      ...{ method: "GET", path: `/v1/quotes/${at.quote_id}`, body: null, status: 200 }
    }
    if (unreading > 0) {
      const unread: Unread = {
        ...{ port: at.port, connections: unreading, path: "/openapi.json", requests: 200, stays_ms: 30_000 }
      }
      await others.ask(unread)
    }
    // What the others have sent has arrived by the end of it.
    await load.ask<Loaded>(read)
    const { requests, seconds: took, p50_ms, p99_ms } = await load.ask<Loaded>({ ...read, seconds, at_most: 1e9 })
    const { resident_bytes } = await server.ask<Cpu>({ ask: "cpu" })
    return { per_second: requests / took, p50_ms, p99_ms, resident_mb: resident_bytes / 1e6 }
  } finally {
    await Promise.all([server, load, others].map((child) => child.stop()))
  }
}

/** Measures with and without them in turns, each on a server of its own. */
export const run = async (rounds: number, seconds: number): Promise<ReadonlyArray<Row>> => {
  const all = variants.map((): Array<Round> => [])
  for (let round = 0; round < rounds; round++) {
    // Whoever comes first in one round comes last in the next.
    const turns = [...variants.entries()]
    for (const [index, unreading] of round % 2 === 0 ? turns : turns.toReversed()) {
      const measured = await measure(unreading, seconds)
      all[index]?.push(measured)
      process.stderr.write(`unread: ${unreading} ${JSON.stringify(measured)}\n`)
    }
  }
  return variants.map((unreading, index) => rowOf(unreading, all[index] ?? [], all[0] ?? []))
}

const rowOf = (unreading: number, rounds: ReadonlyArray<Round>, base: ReadonlyArray<Round>): Row => {
  const middle = (pick: (round: Round) => number) => median(rounds.map(pick))
  const ratio = (pick: (round: Round) => number) =>
    median(rounds.flatMap((one, index) => base.slice(index, index + 1).map((first) => pick(one) / pick(first))))
  return {
    name: unreading === 0 ? "none reads nothing" : `${unreading} read nothing`,
    per_second: middle(({ per_second }) => per_second),
    p50_ms: middle(({ p50_ms }) => p50_ms),
    p99_ms: middle(({ p99_ms }) => p99_ms),
    resident_mb: middle(({ resident_mb }) => resident_mb),
    p50_ratio: ratio(({ p50_ms }) => p50_ms),
    p99_ratio: ratio(({ p99_ms }) => p99_ms)
  }
}

/** The rows as a table. */
export const tableOf = (rows: ReadonlyArray<Row>): report.Table => ({
  name: "unread",
  title: "GET /v1/quotes/{id}, while other connections send 200 requests each and read no answer",
  columns: ["connections", "requests/s", "p50 ms", "p99 ms", "p50, none = 1", "p99, none = 1", "memory"],
  rows: rows.map((row) => [
    row.name,
    Math.round(row.per_second).toLocaleString("en-US"),
    ...[row.p50_ms, row.p99_ms, row.p50_ratio, row.p99_ratio].map((number) => number.toFixed(2)),
    `${Math.round(row.resident_mb)} MB`
  ]),
  how: null,
  numbers: rows
})

if (import.meta.main) {
  const { rounds, seconds } = flags.read()
  report.print(tableOf(await run(rounds, seconds)))
}

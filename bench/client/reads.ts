import { type ConnectOptions, connect } from "@quotewire/http/client"
import { Effect } from "effect"
import { Agent } from "undici"
import * as Child from "../Child.ts"
import * as Contest from "../contest.ts"
import * as Flags from "../flags.ts"
import type { Cpu, Listening, Shared } from "../peers/Peer.ts"
import { print, rivalCells, type Table } from "../report.ts"
import * as shared from "../shared.ts"
import { medianOf } from "../statistics.ts"
import { sideBySide, type Took, timed } from "../timed.ts"

/** Asks for so many reads of a quote of this host. */
interface Work extends Pick<Listening, "port" | "key" | "quote_id"> {
  readonly reads: number
}

/** What one round of one contender came to. */
interface Round extends Contest.Round {
  /** How much of its core the host was using: near 1, the host would be what was measured. */
  readonly host_cpu: number
}

/** A contender over all rounds. */
export type Row = Contest.Result & Pick<Round, "host_cpu">

/** Connections to the host: so many reads are under way at once. */
const at_once = 50

const originOf = ({ port }: Work) => `http://127.0.0.1:${port}`
const pathOf = ({ quote_id }: Work) => `/v1/quotes/${quote_id}`
const headersOf = ({ key }: Work) => ({
  accept: "application/json",
  authorization: `Bearer ${key}`,
  "service-version": "2026-09-26"
})

const newAgent = () => new Agent({ connections: at_once, pipelining: 1 })

/** Does reads, and looks at the quote that each of them brings. */
const reading = ({ quote_id, reads }: Work, read: () => Promise<unknown>): Promise<Took> =>
  timed(() =>
    sideBySide(reads, at_once, async () => {
      const quote = await read()
      if (typeof quote !== "object" || quote === null || !("id" in quote) || quote.id !== quote_id) {
        throw new Error("The host has answered something else")
      }
    })
  )

/** The base: reads with undici, parses the answer, and nothing else. */
const bare = async (work: Work): Promise<Took> => {
  const agent = newAgent()
  const options = { origin: originOf(work), path: pathOf(work), method: "GET", headers: headersOf(work) } as const
  const took = await reading(work, async () => JSON.parse(await (await agent.request(options)).body.text()))
  await agent.close()
  return took
}

const bareFetch = (work: Work): Promise<Took> => {
  const url = `${originOf(work)}${pathOf(work)}`
  return reading(work, async () => (await fetch(url, { headers: headersOf(work) })).json())
}

const throughClient = (work: Work, options: Pick<ConnectOptions, "fetch"> = {}): Promise<Took> => {
  const client = connect({ base_url: originOf(work), key: work.key, ...options })
  return reading(work, () => client.get_quote({ id: work.quote_id }))
}

/** The client, whose requests undici sends without the layers of `fetch`. */
const throughClientOnUndici = async (work: Work): Promise<Took> => {
  const agent = newAgent()
  const took = await throughClient(work, {
    fetch: async (url, { headers, method, signal }) => {
      const sent = {
        headers: new Headers(headers),
        method: method === "GET" ? "GET" : "POST",
        signal: signal ?? null
      } as const
      const {
        body,
        headers: answered,
        statusCode
      } = await agent.request({ origin: originOf(work), path: new URL(url).pathname, ...sent })
      const text = Object.entries(answered).map(([name, value]): [string, string] => [name, String(value)])
      return new Response(await body.text(), { status: statusCode, headers: text })
    }
  })
  await agent.close()
  return took
}

const base = "undici, the same read"

const contenders: Contest.Contenders<Work> = new Map([
  ["connect", (work: Work) => throughClient(work)],
  ["connect, its requests sent by undici", throughClientOnUndici],
  ["fetch of Node, the same read", bareFetch],
  [base, bare]
])

const measure = async (contender: Child.Child, host: Child.Child, work: Work): Promise<Round> => {
  await contender.ask<Took>({ ...work, reads: work.reads / 4 })
  const before = await host.ask<Cpu>({ ask: "cpu" })
  const took = await contender.ask<Took>(work)
  const after = await host.ask<Cpu>({ ask: "cpu" })
  return {
    per_second: work.reads / took.seconds,
    cpu_us: took.cpu_us / work.reads,
    host_cpu: (after.cpu_us - before.cpu_us) / 1e6 / took.seconds
  }
}

/** Measures reads per second. */
export const run = async (facts: Shared, flags: Flags.Flags): Promise<ReadonlyArray<Row>> => {
  const host = Child.start("peers/quotewire.ts", Child.cores.load)
  try {
    const at = await host.ask<Listening>({ ask: "listen", shared: facts })
    const work = { port: at.port, key: at.key, quote_id: at.quote_id, reads: flags.quick ? 4_000 : 20_000 }
    return await Contest.run(
      {
        title: "client",
        script: "client/reads.ts",
        contenders,
        base,
        measure: (_, contender) => measure(contender, host, work)
      },
      flags,
      (result, rounds) => ({ ...result, host_cpu: medianOf(rounds, ({ host_cpu }) => host_cpu) })
    )
  } finally {
    await host.stop()
  }
}

/** The rows as they are printed. */
export const tableOf = (rows: ReadonlyArray<Row>): Table => ({
  name: "client",
  title: `Reads of a quote by a client of a host (${at_once} connections)`,
  columns: [
    "read by",
    "reads/s",
    "throughput, undici = 1",
    "CPU per read",
    "per CPU second, undici = 1",
    "host's core"
  ],
  rows: rows.map((row) => [...rivalCells(row), `${Math.round(row.host_cpu * 100)} %`]),
  how: "rounds of 20,000 reads after 5,000",
  numbers: rows
})

if (import.meta.main) {
  if (process.send === undefined) print(tableOf(await run(await Effect.runPromise(shared.make), Flags.read())))
  else Contest.answer(contenders)
}

import { type ConnectOptions, connect } from "@quotewire/http/client"
import { undiciTransport } from "@quotewire/http/undici"
import { Effect } from "effect"
import { Agent } from "undici"
import * as Child from "../Child.ts"
import * as Contest from "../contest.ts"
import * as Flags from "../flags.ts"
import { headers as answeredHeaders, type Cpu, type ListeningAddress, type SharedSettings } from "../peers/Peer.ts"
import { print, rivalCells, type Table } from "../report.ts"
import * as shared from "../shared.ts"
import { medianOf } from "../statistics.ts"
import { sideBySide, type Timing, timed } from "../timed.ts"

/** Tells a contender to make this many reads of a quote. */
interface Work extends Pick<ListeningAddress, "port" | "key" | "quote_id"> {
  readonly reads: number
}

/** The result of one round of one contender. */
interface Round extends Contest.Round {
  /** The share of its core that the server used. Near 1, the server would be the bottleneck. */
  readonly server_cpu: number
}

/** A contender's results over all rounds. */
export type Row = Contest.Result & Pick<Round, "server_cpu">

/** The number of connections to the server, which is also the number of concurrent reads. */
const atOnce = 50

const originOf = ({ port }: Work) => `http://127.0.0.1:${port}`
const pathOf = ({ quote_id }: Work) => `/v1/quotes/${quote_id}`
const headersOf = ({ key }: Work) => ({
  accept: "application/json",
  authorization: `Bearer ${key}`,
  "service-version": answeredHeaders["service-version"]
})

/** Reads the quote repeatedly, and checks each response. */
const reading = ({ quote_id, reads }: Work, read: () => Promise<unknown>): Promise<Timing> =>
  timed(() =>
    sideBySide(reads, atOnce, async () => {
      const quote = await read()
      if (typeof quote !== "object" || quote === null || !("id" in quote) || quote.id !== quote_id) {
        throw new Error("The server returned something else")
      }
    })
  )

/** The baseline. Reads with undici, parses the response, and does nothing else. */
const bare = async (work: Work): Promise<Timing> => {
  const agent = new Agent({ connections: atOnce, pipelining: 1 })
  const options = { origin: originOf(work), path: pathOf(work), method: "GET", headers: headersOf(work) } as const
  const took = await reading(work, async () => JSON.parse(await (await agent.request(options)).body.text()))
  await agent.close()
  return took
}

const bareFetch = (work: Work): Promise<Timing> => {
  const url = `${originOf(work)}${pathOf(work)}`
  return reading(work, async () => (await fetch(url, { headers: headersOf(work) })).json())
}

const throughClient = (work: Work, options: Pick<ConnectOptions, "transport"> = {}): Promise<Timing> => {
  const client = connect({ base_url: originOf(work), key: work.key, ...options })
  return reading(work, () => client.get_quote({ id: work.quote_id }))
}

const throughUndici = async (work: Work): Promise<Timing> => {
  const dispatcher = new Agent({ connections: atOnce, pipelining: 1 })
  const took = await throughClient(work, { transport: undiciTransport({ dispatcher }) })
  await dispatcher.close()
  return took
}

const base = "undici, the same read"

const contenders: Contest.Contenders<Work> = new Map([
  ["connect", (work: Work) => throughClient(work)],
  ["connect, with undiciTransport", throughUndici],
  ["Node's fetch, the same read", bareFetch],
  [base, bare]
])

const measure = async (contender: Child.Child, server: Child.Child, work: Work): Promise<Round> => {
  await contender.ask<Timing>({ ...work, reads: work.reads / 4 })
  const before = await server.ask<Cpu>({ ask: "cpu" })
  const took = await contender.ask<Timing>(work)
  const after = await server.ask<Cpu>({ ask: "cpu" })
  return {
    per_second: work.reads / took.seconds,
    cpu_us: took.cpu_us / work.reads,
    server_cpu: (after.cpu_us - before.cpu_us) / 1e6 / took.seconds
  }
}

/** Measures reads per second. The server is bare `node:http`, so that it needs less of its core than the client. */
export const run = async (facts: SharedSettings, flags: Flags.Flags): Promise<ReadonlyArray<Row>> => {
  const server = Child.start("peers/raw.ts", Child.cores.load)
  try {
    const { port, key, quote_id } = await server.ask<ListeningAddress>({ ask: "listen", shared: facts })
    const work = { port, key, quote_id, reads: flags.quick ? 4_000 : 20_000 }
    return await Contest.run(
      {
        title: "client",
        script: "client/reads.ts",
        contenders,
        base,
        measure: (_, contender) => measure(contender, server, work)
      },
      flags,
      (result, rounds) => ({ ...result, server_cpu: medianOf(rounds, (round) => round.server_cpu) })
    )
  } finally {
    await server.stop()
  }
}

/** Formats the results as a table. */
export const tableOf = (rows: ReadonlyArray<Row>): Table => ({
  name: "client",
  title: `Reads of a quote by clients (${atOnce} connections)`,
  columns: [
    "read by",
    "reads/s",
    "throughput, undici = 1",
    "CPU per read",
    "per CPU second, undici = 1",
    "server's core"
  ],
  rows: rows.map((row) => [...rivalCells(row), `${Math.round(row.server_cpu * 100)} %`]),
  how: "rounds of 20,000 reads after 5,000",
  numbers: rows
})

if (import.meta.main) {
  if (process.send === undefined) print(tableOf(await run(await Effect.runPromise(shared.make), Flags.read())))
  else Contest.answer(contenders)
}

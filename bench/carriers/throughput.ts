import { type CarrierExchange, Change, type Job, Storage } from "@quotewire/core"
import { CarrierHttp, Runner } from "@quotewire/core/testing"
import { CarrierTransports } from "@quotewire/http"
import { Effect, ManagedRuntime } from "effect"
import { Agent } from "undici"
import type * as Child from "../Child.ts"
import * as Contest from "../contest.ts"
import * as Flags from "../flags.ts"
import { print, rivalCells, type Table } from "../report.ts"
import { medianOf } from "../statistics.ts"
import { sideBySide, type Timing, timed } from "../timed.ts"
import { Answer, askedAlone, carrierId, connection, httpOf, make } from "./carrier.ts"
import * as carrierApi from "./carrierApi.ts"
import * as service from "./service.ts"

/** Tells a contender to send this many asks to the carrier at this address. */
interface Task {
  readonly url: string
  readonly asks: number
}

/** The result of one round of one contender. */
interface Round extends Contest.Round {
  /** The average size of a request body, in bytes. */
  readonly request_bytes: number
  /** The share of its core that the carrier used. Near 1, the carrier would be the bottleneck. */
  readonly carrier_cpu: number
}

/** A contender's results over all rounds. */
export type Row = Contest.Result & Pick<Round, "request_bytes" | "carrier_cpu">

/** The number of connections to the carrier, which is also the number of concurrent asks. */
const atOnce = 64

const headers = {
  "content-type": "application/json",
  accept: "application/json",
  "accept-encoding": "gzip",
  "user-agent": "Quotewire-Carriers/0.1.0",
  "x-api-key": connection.api_key
}

/** The baseline. Posts the same JSON with undici, parses the answer, and does nothing else. */
const bare = async ({ url, asks }: Task): Promise<Timing> => {
  const agent = new Agent({ connections: atOnce, pipelining: 1 })
  const ask = async () => {
    const body = JSON.stringify(askedAlone())
    const answer = await agent.request({ origin: url, path: "/quotes", method: "POST", headers, body })
    const { status } = JSON.parse(await answer.body.text())
    if (status !== "quoted") throw new Error(`The carrier has answered ${answer.statusCode}`)
  }
  const took = await timed(() => sideBySide(asks, atOnce, ask))
  await agent.close()
  return took
}

/** Posts the same JSON with the adapters' HTTP client, without a core. */
const clientAlone = async ({ url, asks }: Task): Promise<Timing> => {
  const transport = CarrierTransports.layer({ connections_per_origin: atOnce })
  const runtime = ManagedRuntime.make(transport)
  const client = await runtime.runPromise(
    CarrierHttp.make(httpOf(url), { environment: "live", connection, timeout_ms: 15_000, idempotent: true })
  )
  const ask = async () => {
    const { status } = (await client.post("/quotes", { json: askedAlone() })).json(Answer)
    if (status !== "quoted") throw new Error("The carrier has not quoted")
  }
  const took = await timed(() => sideBySide(asks, atOnce, ask))
  await runtime.dispose()
  return took
}

/** The state of a service's asks. */
interface Asks {
  /** The jobs that are held back from the storage; null if jobs are not held back. */
  kept_back: Array<Job.NewJob> | null
  /** How many quotes were committed. */
  quotes: number
  /** Called after every commit. */
  committed: () => void
}

/** Storage in memory that can hold back the jobs that ask carriers, and that counts committed quotes. */
const memory = (asks: Asks) =>
  service.memoryWith((storage) => ({
    commit: (change) => {
      const isKeptBack = ({ kind }: Job.NewJob) => asks.kept_back !== null && kind === "ask_carrier"
      asks.kept_back?.push(...change.jobs.filter(isKeptBack))
      const committed = storage.commit({ ...change, jobs: change.jobs.filter((job) => !isKeptBack(job)) })
      return Effect.map(committed, () => {
        asks.quotes += service.quotesIn(change)
        asks.committed()
      })
    }
  }))

/**
 * Starts requests and selects their carriers. Afterwards all jobs that ask carriers are due, and no job has been
 * claimed.
 */
const prepare = Effect.fnUntraced(function* (asks: Asks, count: number) {
  const { key, workspace_id } = yield* service.makeWorkspace([carrierId])
  for (let i = 0; i < count; i++) yield* service.start(key)
  yield* (yield* Runner.Runner).runDue()
  const jobs = asks.kept_back ?? []
  if (jobs.length !== count) return yield* Effect.die(new Error(`${jobs.length} of ${count} asks are due`))
  asks.kept_back = null
  yield* (yield* Storage.Storage).commit(Change.make(workspace_id, { jobs }))
})

/** Runs the worker until this many quotes are committed. */
const askAll = (asks: Asks, count: number) =>
  Effect.gen(function* () {
    yield* (yield* Runner.Runner).forever
    yield* Effect.callback<void>((resume) => {
      asks.committed = () => {
        if (asks.quotes === count) resume(Effect.void)
      }
    })
  }).pipe(Effect.scoped)

/** Measures the time from claiming the asks to committing their quotes. */
const throughService =
  (recorded: CarrierExchange.RecordedExchanges) =>
  async ({ url, asks: count }: Task): Promise<Timing> => {
    const asks: Asks = { kept_back: [], quotes: 0, committed: () => {} }
    const settings = { carriers: [make(carrierId, url)], recorded, connections: atOnce }
    const runtime = ManagedRuntime.make(service.core(memory(asks), settings))
    await runtime.runPromise(prepare(asks, count))
    const took = await timed(() => runtime.runPromise(askAll(asks, count)))
    await runtime.dispose()
    return took
  }

const base = "undici, the same JSON"

const contenders: Contest.Contenders<Task> = new Map([
  ["Quotewire, nothing recorded", throughService("none")],
  ["Quotewire, failures recorded", throughService("failures")],
  ["Quotewire, everything recorded", throughService("all")],
  ["Quotewire's HTTP client alone", clientAlone],
  [base, bare]
])

const measure = async (contender: Child.Child, api: carrierApi.CarrierApi, task: Task): Promise<Round> => {
  await contender.ask<Timing>({ ...task, asks: task.asks / 4 })
  const countsBefore = await api.got()
  const took = await contender.ask<Timing>(task)
  const countsAfter = await api.got()
  const askCount = countsAfter.asks - countsBefore.asks
  if (askCount !== task.asks) throw new Error(`The carrier has got ${askCount} of ${task.asks} asks`)
  return {
    per_second: task.asks / took.seconds,
    cpu_us: took.cpu_us / task.asks,
    request_bytes: (countsAfter.bytes - countsBefore.bytes) / task.asks,
    carrier_cpu: (countsAfter.cpu_us - countsBefore.cpu_us) / 1e6 / took.seconds
  }
}

/** Measures asks per second. */
export const run = async (flags: Flags.Flags): Promise<ReadonlyArray<Row>> => {
  const api = carrierApi.start()
  try {
    const { url } = await api.listen()
    const work = { url, asks: flags.quick ? 200 : 6_000 }
    return await Contest.run(
      {
        title: "carriers",
        script: "carriers/throughput.ts",
        contenders,
        base,
        measure: (_, contender) => measure(contender, api, work)
      },
      flags,
      (result, rounds) => ({
        ...result,
        request_bytes: medianOf(rounds, ({ request_bytes }) => request_bytes),
        carrier_cpu: medianOf(rounds, ({ carrier_cpu }) => carrier_cpu)
      })
    )
  } finally {
    await api.stop()
  }
}

/** Formats the results as a table. */
export const tableOf = (rows: ReadonlyArray<Row>): Table => ({
  name: "carriers",
  title: `Asks of a carrier over HTTP, from the claim to the committed quote (${atOnce} connections)`,
  columns: [
    "asked by",
    "asks/s",
    "throughput, undici = 1",
    "CPU per ask",
    "per CPU second, undici = 1",
    "request",
    "carrier's core"
  ],
  rows: rows.map((row) => [
    ...rivalCells(row),
    `${Math.round(row.request_bytes)} bytes`,
    `${Math.round(row.carrier_cpu * 100)} %`
  ]),
  how: "rounds of 6,000 asks after 1,500",
  numbers: rows
})

if (import.meta.main) {
  if (process.send === undefined) print(tableOf(await run(Flags.read())))
  else Contest.answer(contenders)
}

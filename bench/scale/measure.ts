import { Change, type Job, Json, Quotewire, Storage } from "@quotewire/core"
import { Effect, Layer, ManagedRuntime } from "effect"
import { Client } from "pg"
import type { PostgresServer } from "../../test/support/PostgresServer.ts"
import { statements } from "../../test/support/TestDatabase.ts"
import * as Databases from "../pg/Databases.ts"
import * as start from "../pg/start.ts"
import * as Service from "../Service.ts"
import * as starts from "../starts.ts"
import { median } from "../statistics.ts"
import * as serverProcesses from "./serverProcesses.ts"

/*
 * Measures the costs that the simulation uses: `npx node bench/scale/measure.ts`, after `npm run build`, two minutes. It
 * prints microseconds of CPU, medians of rounds, and writes nothing.
 */

type Port = Storage.Storage["Service"]

/** The CPU time that one step takes in the database and in this process, in microseconds: medians of rounds of `steps` steps. */
const costOf = async (server: PostgresServer, steps: number, work: () => Promise<unknown>, rounds = 7) => {
  await work()
  const database: Array<number> = []
  const host: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    const [before, own] = [serverProcesses.cpuOf(server), process.cpuUsage()]
    await work()
    const { system, user } = process.cpuUsage(own)
    database.push((serverProcesses.cpuOf(server) - before) / steps)
    host.push((system + user) / steps)
  }
  return { database_us: Math.round(median(database)), host_us: Math.round(median(host)) }
}

let made = 0

/** Stores jobs, so many in a change. */
const enqueue = (port: Port, count: number) =>
  Effect.suspend(() => {
    const job: Job.NewJob = { kind: "collect", due_at: 0, ordered: false, payload: "{}" }
    return port.commit(
      Change.make(start.workspaceOf(1 + (++made % 8)), { jobs: Array.from({ length: count }, () => job) })
    )
  })

/** Claims due jobs, so many at once, and finishes each with a change of its own. */
const finishAll = (port: Port, limit: number) =>
  Effect.gen(function* () {
    while (true) {
      const { jobs } = yield* port.claim({ now: Date.now(), lease_ms: 30_000, limit })
      if (jobs.length === 0) return
      yield* Effect.forEach(
        jobs,
        ({ lease, number, workspace_id }) =>
          port.commit(Change.make(workspace_id, { finishes: [{ workspace_id, number, lease }] })),
        { concurrency: "unbounded", discard: true }
      )
    }
  })

const tallies = (count: number): ReadonlyArray<Storage.Tally> =>
  Array.from({ length: count }, (_, n) => ({
    workspace_id: start.workspaceOf(n),
    name: "calls",
    window_start: 0,
    window_ms: 60_000,
    added: 1
  }))

/** Connections that listen as hosts do. */
const listeners = async (url: string, count: number) => {
  const clients = Array.from({ length: count }, () => new Client(url))
  for (const client of clients) {
    await client.connect()
    await client.query("listen quotewire_bench")
  }
  return () => Promise.all(clients.map((client) => client.end()))
}

/** Quote requests from their start until the last one is completed, in the real time of a sandbox. */
const lives = (key: string, count: number) =>
  Effect.gen(function* () {
    const ids = yield* Effect.forEach(
      Array.from({ length: count }),
      () =>
        Service.call(Service.start_quote_request, key, {
          ...starts.household(`life-${++made}`),
          scenario: "quotes_ready"
        }),
      { concurrency: 16 }
    )
    for (const json of ids) {
      const { id } = Json.decode(json)
      let status = "started"
      while (status !== "completed") {
        const read = yield* Service.call(Service.get_quote_request, key, { id, wait_seconds: 20, since_version: 1_000 })
        status = Json.decode(read).quote_request.status
      }
    }
  })

const print = (step: string, cost: { readonly database_us: number; readonly host_us: number }): void =>
  console.log(`${step.padEnd(56)} database ${cost.database_us} µs, host ${cost.host_us} µs`)

await Databases.usingServer(async (server, databases) => {
  const url = await databases.fresh()
  const sample = await Effect.runPromise(start.sample)
  const runtime = ManagedRuntime.make(Databases.storage(url))
  const port = await runtime.runPromise(Storage.Storage)
  const change = () => port.commit(start.again(sample, 1 + (made % 8), ++made))
  const measure = async (step: string, steps: number, effect: Effect.Effect<unknown, unknown>) =>
    print(step, await costOf(server, steps, () => Effect.runPromise(effect)))
  const times = (count: number, concurrency: number, effect: () => Effect.Effect<unknown, unknown>) =>
    Effect.forEach(Array.from({ length: count }), effect, { concurrency, discard: true })

  await measure("a start, one at a time", 500, times(500, 1, change))
  await measure("a start, 64 at once", 6_400, times(6_400, 64, change))
  await statements(url, "truncate quotewire.job")
  await measure(
    "a claim that finds nothing",
    1_000,
    times(1_000, 1, () => port.claim({ now: Date.now(), lease_ms: 30_000, limit: 128 }))
  )
  const work = (count: number, limit: number) => Effect.andThen(enqueue(port, count), finishAll(port, limit))
  await measure("a job stored, claimed and finished, one at a time", 300, work(300, 1))
  await measure("a job stored, claimed and finished, 128 at once", 2_560, work(2_560, 128))
  await measure(
    "a shared count, alone",
    500,
    times(500, 1, () => port.addCounts(0, tallies(1)))
  )
  await measure(
    "a shared count among 500",
    10_000,
    times(20, 1, () => port.addCounts(0, tallies(500)))
  )

  const client = new Client(url)
  await client.connect()
  const notify = async () => {
    for (let n = 0; n < 500; n++) await client.query("select pg_notify('quotewire_bench', $1)", [`wks_${n}`])
  }
  print("an announcement, nobody listens", await costOf(server, 500, notify))
  const before = serverProcesses.memoryOf(server)
  const end = await listeners(url, 100)
  print("an announcement, 100 listen", await costOf(server, 500, notify))
  const memory = (serverProcesses.memoryOf(server) - before) / 100
  console.log(`a connection that listens: ${(memory / 1e6).toFixed(1)} MB of the database's memory`)
  await end()
  await client.end()
  await runtime.dispose()

  const service = ManagedRuntime.make(
    Layer.provideMerge(Quotewire.worker, Service.layerOn(Databases.storage(await databases.fresh())))
  )
  const key = await service.runPromise(Service.makeKey)
  print(
    "a quote request, from its start to completed",
    await costOf(server, 300, () => service.runPromise(lives(key, 300)))
  )
  await service.dispose()
})

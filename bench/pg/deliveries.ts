import { setTimeout } from "node:timers/promises"
import { statements } from "../../test/support/TestDatabase.ts"
import * as Child from "../Child.ts"
import type { Flags } from "../flags.ts"
import type { Table } from "../report.ts"
import { arrival, arrived } from "../webhooks/arrival.ts"
import * as postel from "../webhooks/postel.ts"
import type { ListeningAddress } from "../webhooks/receiver.ts"
import * as Databases from "./Databases.ts"
import * as turns from "./turns.ts"

/** The result of one round. */
export interface DeliveryRound {
  readonly per_second: number
}

/** A contender. `share` is how many deliveries it makes, as a fraction of the deliveries that the others make. */
interface Contender {
  readonly name: string
  readonly processes: number
  readonly share: number
  readonly args: ReadonlyArray<string>
}

const oneProcess = "Quotewire, one process"
const ways: ReadonlyArray<Contender> = [
  { name: oneProcess, processes: 1, share: 1, args: [] },
  { name: "Quotewire, two processes", processes: 2, share: 1, args: [] },
  ...(postel.isThere
    ? postel.settings.map(({ name, workers }) => ({
        name: `Postel, ${name}`,
        processes: 1,
        share: 1 / 10,
        args: ["--postel", `${workers ?? ""}`]
      }))
    : [])
]

const succeeded = `select from quotewire.record where kind = 'delivery' and status = 'closed'
  and body::jsonb ->> 'status' = 'succeeded'`

/** Waits until the delivery log shows that every delivery succeeded. */
const logged = async (database: string, deliveries: number): Promise<void> => {
  for (let looks = 0; (await statements(database, succeeded)).length < deliveries; looks++) {
    if (looks > 100) throw new Error(`The log has not ${deliveries} successes`)
    await setTimeout(100)
  }
}

/** Measures from the first commit to the last arrival. The first process publishes, and all processes deliver. */
const measure = async (
  { processes, args }: Contender,
  database: string,
  url: string,
  deliveries: number
): Promise<DeliveryRound> => {
  const workers = Array.from({ length: processes }, () => Child.start("pg/deliveriesWorker.ts", null, { args }))
  try {
    for (const [index, worker] of workers.entries()) {
      await worker.ask({ ask: "work", database, url, subscribes: index === 0 })
    }
    const deliver = async (events: number): Promise<DeliveryRound> => {
      const arrivedBefore = await arrived(url)
      const began = performance.now()
      await Promise.all([workers[0]?.ask({ ask: "publish", events }), arrival(url, arrivedBefore + events)])
      return { per_second: events / ((performance.now() - began) / 1e3) }
    }
    const warmup = deliveries / 4
    await deliver(warmup)
    const delivered = await deliver(deliveries)
    if (args.length === 0) await logged(database, warmup + deliveries)
    for (const worker of workers) await worker.ask({ ask: "rest" })
    return delivered
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()))
  }
}

/** Measures deliveries from the commit of their events to the receiver, with one process and with two. */
export const run = async ({ rounds, quick }: Flags): Promise<ReadonlyArray<turns.Measurement<DeliveryRound>>> => {
  const receiver = Child.start("webhooks/receiver.ts", null)
  try {
    const { url } = await receiver.ask<ListeningAddress>({ ask: "listen" })
    return await Databases.using((databases) => {
      const contenders = ways.map((way) => ({
        name: way.name,
        measure: () =>
          Databases.onFresh(databases, (database) => measure(way, database, url, (quick ? 1_600 : 6_400) * way.share))
      }))
      return turns.take("pg_deliveries", contenders, rounds)
    })
  } finally {
    await receiver.stop()
  }
}

/** Formats the results as a table. */
export const tableOf = (measurements: ReadonlyArray<turns.Measurement<DeliveryRound>>): Table => {
  const baseline = turns.named(measurements, oneProcess)
  const perSecond = (delivered: DeliveryRound) => delivered.per_second
  return {
    name: "pg_deliveries",
    title: "PostgreSQL: signed deliveries, from the commit of their events to the receiver",
    columns: ["sender", "deliveries/s", `${oneProcess} = 1`],
    rows: measurements.map((measured) => [
      measured.name,
      Math.round(turns.middle(measured, perSecond)).toLocaleString("en-US"),
      turns.ratio(measured, baseline, perSecond).toFixed(3)
    ]),
    how: "rounds of 6,400 deliveries after 1,600",
    numbers: measurements
  }
}

import { type Carrier, type Change, Json, Quotewire } from "@quotewire/core"
import { Effect, Layer, ManagedRuntime } from "effect"
import * as Child from "../Child.ts"
import * as Flags from "../flags.ts"
import { print, type Table } from "../report.ts"
import { median, percentile } from "../statistics.ts"
import * as carrier from "./carrier.ts"
import * as carrierApi from "./carrierApi.ts"
import * as service from "./service.ts"

/** How the other carrier behaves, which is asked beside the one whose asks are measured. */
interface Variant {
  readonly name: string
  /** When it declines, after an ask. */
  readonly answers_after_ms: number
  readonly max_concurrent: number
}

/** Of both carriers. */
const attempt_timeout_ms = 1_000
const other_id = "naic:00002"
/** Far more than are under way: a carrier's queue for connections is not what is measured. */
const connections = 2_000

// A carrier that is always late is not asked any more once its circuit opens; one that is nearly late is asked every time.
const variants: ReadonlyArray<Variant> = [
  { name: "answers at once", answers_after_ms: 0, max_concurrent: 10_000 },
  { name: "answers after its time-out of 1 s", answers_after_ms: 1_500, max_concurrent: 10_000 },
  { name: "answers after 0.9 s", answers_after_ms: 900, max_concurrent: 10_000 },
  { name: "answers after 0.9 s, 4 asks at a time", answers_after_ms: 900, max_concurrent: 4 }
]

/** How often is asked, and how long. */
interface Plan {
  readonly per_second: number
  /** Nothing counts that was due before this has passed. */
  readonly warm_up_seconds: number
  readonly seconds: number
}

/** Asks the process of the service to run a plan. */
interface Work extends Plan {
  readonly url: string
  readonly other_url: string
  readonly max_concurrent: number
}

/** What one run came to: the time from the moment at which an ask of the measured carrier is due to its committed quote. */
export interface Measured {
  readonly asks: number
  /** Asks without a quote two seconds after the last start: as waits they are endless. */
  readonly missing: number
  readonly p50_ms: number
  readonly p99_ms: number
  /** The p99 in CPU time of the service: what else the machine does has no part in it. */
  readonly cpu_p99_ms: number
  /** How often the other carrier was asked, the warm-up and repeats included. */
  readonly other_asks: number
  /** Share of one core that the service took. */
  readonly cpu: number
}

/** What other carriers do to one that answers at once: medians over the rounds, and of the ratios in the same round. */
export interface Row extends Measured {
  readonly name: string
  readonly p50_ratio: number
  readonly p99_ratio: number
  readonly cpu_p99_ratio: number
}

/** A moment by the clock and in CPU time of this process, in milliseconds. */
interface Moment {
  readonly at: number
  readonly cpu: number
}

const now = (): Moment => {
  const { user, system } = process.cpuUsage()
  return { at: performance.now(), cpu: (user + system) / 1e3 }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** When the ask of each request was due, and when its quote was committed. */
interface Notes {
  readonly due: Map<string, Moment>
  readonly quoted: Map<string, Moment>
}

const noteAsks = ({ due }: Notes, { jobs }: Change.Change): void => {
  for (const { kind, payload } of jobs) {
    if (kind !== "ask_carrier") continue
    const { carrier_id, quote_request_id } = Json.decode(
      Json.fromText<{ readonly carrier_id: string; readonly quote_request_id: string }>(payload)
    )
    if (carrier_id === carrier.carrier_id) due.set(quote_request_id, now())
  }
}

const noteQuotes = ({ quoted }: Notes, { writes }: Change.Change): void => {
  for (const { kind, parent } of writes) {
    if (kind === "quote" && parent !== null) quoted.set(parent, now())
  }
}

/** Memory that notes when an ask is due, and when its quote is committed. */
const noting = (notes: Notes) =>
  service.memoryWith((storage) => ({
    commit: (change) =>
      Effect.map(storage.commit(change), () => {
        noteAsks(notes, change)
        noteQuotes(notes, change)
      })
  }))

/** Runs a plan on a service of its own: requests come evenly, whether or not those before have been answered. */
const measure = async (work: Work): Promise<Omit<Measured, "other_asks">> => {
  const { max_concurrent, other_url, per_second, seconds, url, warm_up_seconds } = work
  const notes: Notes = { due: new Map(), quoted: new Map() }
  const carriers: ReadonlyArray<Carrier.CarrierAdapter> = [
    carrier.make(carrier.carrier_id, url, { attempt_timeout_ms }),
    carrier.make(other_id, other_url, { attempt_timeout_ms, max_concurrent })
  ]
  const core = service.core(noting(notes), { carriers, recorded: "failures", connections })
  const runtime = ManagedRuntime.make(Quotewire.worker.pipe(Layer.provideMerge(core)))
  const { key } = await runtime.runPromise(service.makeWorkspace([carrier.carrier_id, other_id]))
  const began = now()
  const counts_from = began.at + warm_up_seconds * 1e3
  const requests = Math.round((warm_up_seconds + seconds) * per_second)
  for (let index = 0; index < requests; index++) {
    const wait_ms = began.at + (index * 1e3) / per_second - performance.now()
    if (wait_ms > 0) await sleep(wait_ms)
    runtime.runFork(service.start(key))
  }
  const ended = now()
  for (let i = 0; i < 20 && notes.quoted.size < requests; i++) await sleep(100)
  await runtime.dispose()
  const cpu = (ended.cpu - began.cpu) / (ended.at - began.at)
  return { ...summary(notes, counts_from), cpu }
}

const summary = ({ due, quoted }: Notes, counts_from: number) => {
  const counted = [...due].filter(([, { at }]) => at >= counts_from)
  const waits = counted.map(([id, from]) => {
    const to = quoted.get(id)
    return to === undefined ? { ms: Infinity, cpu_ms: Infinity } : { ms: to.at - from.at, cpu_ms: to.cpu - from.cpu }
  })
  const waits_ms = Float64Array.from(waits.map(({ ms }) => ms))
  return {
    asks: waits.length,
    missing: waits.filter(({ ms }) => ms === Infinity).length,
    p50_ms: percentile(waits_ms, 0.5),
    p99_ms: percentile(waits_ms, 0.99),
    cpu_p99_ms: percentile(Float64Array.from(waits.map(({ cpu_ms }) => cpu_ms)), 0.99)
  }
}

/** The APIs of both carriers, in processes of their own, so that what each was asked is known. */
const startApis = async () => {
  const api = carrierApi.start()
  const other = carrierApi.start()
  const others: Array<string> = []
  for (const { answers_after_ms } of variants) others.push((await other.listen(answers_after_ms)).url)
  const { url } = await api.listen(null)
  return { url, others, other, stop: () => Promise.all([api.stop(), other.stop()]) }
}

/** Measures every variant in turn, each on a service of its own, after a run that warms up. */
export const run = async (rounds: number, plan: Plan): Promise<ReadonlyArray<Row>> => {
  const apis = await startApis()
  const child = Child.start("carriers/slow.ts", Child.cores.server, { node: ["--expose-gc"] })
  const all = variants.map((): Array<Measured> => [])
  try {
    await child.ask({ ...plan, url: apis.url, other_url: apis.others[0] ?? "", max_concurrent: 10_000 })
    for (let round = 0; round < rounds; round++) {
      // Whoever comes first in one round comes last in the next.
      const turns = [...variants.entries()]
      for (const [index, { max_concurrent }] of round % 2 === 0 ? turns : turns.toReversed()) {
        const work: Work = { ...plan, url: apis.url, other_url: apis.others[index] ?? "", max_concurrent }
        const before = await apis.other.got()
        const measured = await child.ask<Omit<Measured, "other_asks">>(work)
        const after = await apis.other.got()
        all[index]?.push({ ...measured, other_asks: after.asks - before.asks })
      }
      process.stderr.write(`slow_carrier: round ${round + 1} of ${rounds}\n`)
    }
  } finally {
    await Promise.all([apis.stop(), child.stop()])
  }
  return variants.map(({ name }, index) => rowOf(name, all[index] ?? [], all[0] ?? []))
}

const rowOf = (name: string, rounds: ReadonlyArray<Measured>, base: ReadonlyArray<Measured>): Row => {
  const middle = (pick: (one: Measured) => number) => median(rounds.map(pick))
  const total = (pick: (one: Measured) => number) => rounds.reduce((sum, one) => sum + pick(one), 0)
  const ratio = (pick: (one: Measured) => number) =>
    median(rounds.flatMap((one, index) => base.slice(index, index + 1).map((first) => pick(one) / pick(first))))
  return {
    name,
    asks: total(({ asks }) => asks),
    missing: total(({ missing }) => missing),
    other_asks: total(({ other_asks }) => other_asks),
    p50_ms: middle(({ p50_ms }) => p50_ms),
    p99_ms: middle(({ p99_ms }) => p99_ms),
    cpu_p99_ms: middle(({ cpu_p99_ms }) => cpu_p99_ms),
    cpu: middle(({ cpu }) => cpu),
    p50_ratio: ratio(({ p50_ms }) => p50_ms),
    p99_ratio: ratio(({ p99_ms }) => p99_ms),
    cpu_p99_ratio: ratio(({ cpu_p99_ms }) => cpu_p99_ms)
  }
}

/** How often and how long is measured. */
export const planOf = ({ quick }: Flags.Flags): readonly [rounds: number, plan: Plan] =>
  quick
    ? [1, { per_second: 50, warm_up_seconds: 0.3, seconds: 1.2 }]
    : [6, { per_second: 40, warm_up_seconds: 5, seconds: 15 }]

const besideFirst = (number: number, ratio: number): string => `${number.toFixed(2)} ms (${ratio.toFixed(2)})`

/** The rows as a table. */
export const tableOf = (rows: ReadonlyArray<Row>): Table => ({
  name: "slow_carrier",
  title: "Asks of a carrier beside a slow one, from due to the committed quote (in brackets: the first row = 1)",
  columns: ["the other carrier", "asks", "p50", "p99", "p99 in CPU time", "other asked", "CPU of the service"],
  rows: rows.map((row) => [
    row.name,
    row.missing === 0 ? `${row.asks}` : `${row.asks}, ${row.missing} of them without a quote`,
    besideFirst(row.p50_ms, row.p50_ratio),
    besideFirst(row.p99_ms, row.p99_ratio),
    besideFirst(row.cpu_p99_ms, row.cpu_p99_ratio),
    `${row.other_asks}`,
    `${Math.round(row.cpu * 100)} %`
  ]),
  how: "6 rounds of 15 s at 40 requests per second, after 5 s",
  numbers: rows
})

if (import.meta.main) {
  if (process.send === undefined) print(tableOf(await run(...planOf(Flags.read()))))
  else Child.answer(measure)
}

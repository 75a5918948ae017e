import * as flags from "../flags.ts"
import * as report from "../report.ts"
import { median } from "../statistics.ts"
import { counted_path, type Measured, measure, startReceiver } from "./latencyService.ts"

/** What endpoints that answer see while others hang, against the same endpoints while none does. */
export interface Row {
  readonly name: string
  /** Endpoints of 200 that never answer. */
  readonly hanging: number
  readonly deliveries: number
  readonly missing: number
  /** Medians over the rounds, the p99 of the p99 of each five seconds. */
  readonly p50_ms: number
  readonly p99_ms: number
  /** Medians over the rounds of what was measured against the base of the same round. */
  readonly p50_ratio: number
  readonly p99_ratio: number
  /** The p99 in CPU time of the service: what else the machine does has no part in it. */
  readonly cpu_p99_ms: number
  readonly cpu_p99_ratio: number
  readonly rounds: ReadonlyArray<Measured>
}

interface Variant {
  readonly name: string
  /** The paths of five of the ten endpoints of each workspace; the other five count in every variant. */
  readonly others: string
}

// The same half counts in every variant; the other half answers in the base, and hangs in the others.
const variants: ReadonlyArray<Variant> = [
  { name: "none hangs", others: "/other" },
  { name: "100 hang", others: "/hang" }
]

/** Measures every variant in turn, each on a service of its own. */
export const run = async (rounds: number, seconds: number): Promise<ReadonlyArray<Row>> => {
  const receiver = await startReceiver()
  const all = variants.map((): Array<Measured> => [])
  for (let round = 0; round < rounds; round++) {
    // Whoever comes first in one round comes last in the next.
    const turns = [...variants.entries()]
    for (const [index, { others }] of round % 2 === 0 ? turns : turns.toReversed()) {
      const paths = Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? counted_path : others))
      const measured = await measure(
        {
          workspaces: 20,
          paths,
          events_per_second: 40,
          warm_up_seconds: 6,
          seconds
        },
        receiver
      )
      all[index]?.push(measured)
      process.stderr.write(`hanging: ${JSON.stringify(measured)}\n`)
    }
  }
  await receiver.stop()
  return variants.map((variant, index) => rowOf(variant, all[index] ?? [], all[0] ?? []))
}

const rowOf = ({ name, others }: Variant, rounds: ReadonlyArray<Measured>, base: ReadonlyArray<Measured>): Row => {
  const ratio = (pick: (one: Measured) => number) =>
    median(rounds.flatMap((one, index) => base.slice(index, index + 1).map((first) => pick(one) / pick(first))))
  return {
    name,
    hanging: others === "/hang" ? 100 : 0,
    deliveries: rounds.reduce((sum, { deliveries }) => sum + deliveries, 0),
    missing: rounds.reduce((sum, { missing }) => sum + missing, 0),
    p50_ms: median(rounds.map(({ p50_ms }) => p50_ms)),
    p99_ms: median(rounds.flatMap(({ p99s_ms }) => p99s_ms)),
    p50_ratio: ratio(({ p50_ms }) => p50_ms),
    p99_ratio: ratio(({ p99s_ms }) => median(p99s_ms)),
    cpu_p99_ms: median(rounds.map(({ cpu_p99_ms }) => cpu_p99_ms)),
    cpu_p99_ratio: ratio(({ cpu_p99_ms }) => cpu_p99_ms),
    rounds
  }
}

const digits = (number: number): string => number.toFixed(2)

/** The rows as a table. */
export const tableOf = (rows: ReadonlyArray<Row>): report.Table => ({
  name: "hanging",
  title: "200 endpoints, from commit to arrival at those that answer: what others cost that never answer",
  columns: [
    "endpoints",
    "p50 ms",
    "p99 of 5 s, ms",
    "p99, CPU ms",
    "p50, none hangs = 1",
    "p99, none hangs = 1",
    "p99 in CPU time, none hangs = 1",
    "deliveries",
    "missing"
  ],
  rows: rows.map((row) => [
    row.name,
    ...[row.p50_ms, row.p99_ms, row.cpu_p99_ms, row.p50_ratio, row.p99_ratio, row.cpu_p99_ratio].map(digits),
    String(row.deliveries),
    String(row.missing)
  ]),
  how: "5 rounds of 40 s after 6 s, in turns",
  numbers: rows
})

if (import.meta.main) {
  const { quick } = flags.read()
  report.print(tableOf(await run(quick ? 1 : 5, quick ? 20 : 40)))
}

import * as flags from "../flags.ts"
import * as report from "../report.ts"
import { median } from "../statistics.ts"
import { counted_path, type Measured, measure, type Plan, startReceiver } from "./latencyService.ts"

/** From accepted to first attempt: the medians over the rounds. */
export interface Row extends Measured {
  readonly name: string
}

const layouts: ReadonlyArray<{ readonly name: string } & Pick<Plan, "workspaces" | "paths">> = [
  { name: "one subscription", workspaces: 1, paths: [counted_path] },
  { name: "20 workspaces, one subscription each", workspaces: 20, paths: [counted_path] }
]

/** The layouts take turns, so that whatever else the machine does strikes both. */
export const run = async (rounds: number, seconds: number): Promise<ReadonlyArray<Row>> => {
  const receiver = await startReceiver()
  const all = layouts.map((): Array<Measured> => [])
  for (let round = 0; round < rounds; round++) {
    for (const [index, { workspaces, paths }] of layouts.entries()) {
      const plan = { workspaces, paths, events_per_second: 200, warm_up_seconds: 2, seconds }
      all[index]?.push(await measure(plan, receiver))
      process.stderr.write(`latency: round ${round + 1} of ${rounds}\n`)
    }
  }
  await receiver.stop()
  return layouts.map(({ name }, index) => rowOf(name, all[index] ?? []))
}

const rowOf = (name: string, measured: ReadonlyArray<Measured>): Row => {
  const middle = (pick: (one: Measured) => number) => median(measured.map(pick))
  return {
    name,
    deliveries: measured.reduce((sum, { deliveries }) => sum + deliveries, 0),
    missing: measured.reduce((sum, { missing }) => sum + missing, 0),
    p50_ms: middle(({ p50_ms }) => p50_ms),
    p90_ms: middle(({ p90_ms }) => p90_ms),
    p99_ms: middle(({ p99_ms }) => p99_ms),
    cpu_p99_ms: middle(({ cpu_p99_ms }) => cpu_p99_ms),
    max_ms: Math.max(...measured.map(({ max_ms }) => max_ms)),
    events_per_second: middle(({ events_per_second }) => events_per_second),
    cpu: middle(({ cpu }) => cpu),
    p99s_ms: measured.flatMap(({ p99s_ms }) => p99s_ms)
  }
}

const digits = (number: number): string => number.toFixed(2)

/** The rows as a table. */
export const tableOf = (rows: ReadonlyArray<Row>): report.Table => ({
  name: "first_attempts",
  title: "From the commit of an event to the arrival of its first attempt, 200 events a second",
  columns: ["endpoints", "events/s", "p50 ms", "p90 ms", "p99 ms", "max ms", "missing", "CPU"],
  rows: rows.map((row) => [
    row.name,
    ...[row.events_per_second, row.p50_ms, row.p90_ms, row.p99_ms, row.max_ms].map(digits),
    String(row.missing),
    digits(row.cpu)
  ]),
  how: "4 rounds of 6 s after 2 s",
  numbers: rows
})

if (import.meta.main) {
  const { quick } = flags.read()
  report.print(tableOf(await run(quick ? 2 : 4, quick ? 4 : 6)))
}

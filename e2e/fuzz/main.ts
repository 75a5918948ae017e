import { parseArgs } from "node:util"
import { Effect } from "effect"
import { explain, run } from "./Run.ts"

const { values } = parseArgs({
  options: { seed: { type: "string" }, requests: { type: "string", default: "20000" } }
})
const seed = values.seed === undefined ? Math.trunc(Math.random() * 2 ** 31) : Number(values.seed)
const requests = Number(values.requests)
if (!Number.isInteger(seed) || !Number.isInteger(requests) || requests < 1) {
  console.error("Use: npm run fuzz -- [--seed NUMBER] [--requests NUMBER]")
  process.exit(2)
}
console.log(`seed ${seed}, ${requests} requests`)

const started = performance.now()
const found = await Effect.runPromise(run({ seed, requests }))
const seconds = (performance.now() - started) / 1_000

const statuses = new Map<string, number>()
for (const [row, count] of found.tally) {
  const status = row.split(" ")[1] ?? ""
  statuses.set(status, (statuses.get(status) ?? 0) + count)
}
console.log(`${found.requests} requests in ${seconds.toFixed(1)} s, ${found.tally.size} pairs of operation and status`)
for (const [status, count] of [...statuses].sort()) console.log(`${status}  ${count}`)
if (found.failure !== null) {
  console.error(explain(found))
  process.exit(1)
}
console.log("nothing wrong")

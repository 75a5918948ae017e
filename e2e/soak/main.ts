import { setTimeout as after } from "node:timers/promises"
import { parseArgs } from "node:util"
import { embed } from "@quotewire/core"
import { postgres } from "@quotewire/storage-pg"
import { crowds } from "./Crowd.ts"
import * as Database from "./Database.ts"
import * as Descriptors from "./Descriptors.ts"
import { type Holding, judge, judgeCrowd } from "./judge.ts"
import * as Lags from "./Lags.ts"
import * as Load from "./Load.ts"
import { connectionsBeyond, figuresOf, type Sample } from "./Samples.ts"
import * as Watched from "./Watched.ts"

/*
 * npm run soak -- [--minutes N] [--days N] [--rate N]
 *
 * Puts a steady load on a host for minutes, during which days pass in the sandbox, and fails if something grows. Then
 * crowds of connections arrive, and what they leave behind is judged too. For more, see README.md next to this file.
 */

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    days: { type: "string", default: "7" },
    rate: { type: "string", default: "5" }
  }
})
const [minutes, days, rate] = [Number(values.minutes), Number(values.days), Number(values.rate)]
const everyMs = Math.min(10_000, minutes * 1_000)
/** How long data is kept, in milliseconds: a seventh of the run. */
const keptMs = Math.floor((minutes * 60_000) / 7)

const mb = (bytes: number) => (bytes / 1e6).toFixed(1)

const host = await Watched.open({ offers_ms: keptMs / 2 })
const database = await Database.connect(host.database_url)
const load = await Load.begin(host.base_url, host.keys, { rate, days, minutes })
const ports = { ...host.ports, receiver: load.receiver }

const consumed = Lags.make()
const program = embed({ storage: postgres({ url: host.database_url }), seal_keys: [host.seal_key], work: false })
const stopConsuming = program.consume("soak", (event) => consumed.add(Date.now() - Date.parse(event.occurred_at)), {
  environment: "live"
})

const holding = async (): Promise<Holding> => {
  const { heap, rss } = await host.memory()
  return { descriptors: Descriptors.countOf(host.pid), heap, rss }
}

const began = Date.now()
const sampleNow = async (): Promise<Sample> => {
  const descriptors = Descriptors.of(host.pid, ports)
  return {
    seconds: Math.round((Date.now() - began) / 1_000),
    descriptors,
    held_by_callers: Descriptors.connectedTo(ports.server),
    memory: await host.memory(),
    lags: { feed: load.lags.feed.take(), webhook: load.lags.webhook.take(), consumer: consumed.take() },
    tables: await database.sizes()
  }
}

const print = ({ descriptors, lags, memory, seconds, tables }: Sample) => {
  const rows = Object.entries(tables).map(([name, size]) => `${size.rows} ${name}`)
  console.log(
    `${seconds} s: ${load.calls()} calls, ${load.webhooks()} webhooks; ${Descriptors.count(descriptors)} descriptors; heap ${mb(memory.heap)} MB in ${mb(memory.heap_pages)} MB, external ${mb(memory.external)} MB, RSS ${mb(memory.rss)} MB; lags ${lags.feed}, ${lags.webhook}, ${lags.consumer} ms; rows ${rows.join(", ")}`
  )
}

const samples: Array<Sample> = []
while (Date.now() - began < minutes * 60_000) {
  await after(everyMs)
  await database.erase(keptMs)
  const sample = await sampleNow()
  samples.push(sample)
  print(sample)
}
await load.stop()
await stopConsuming()

const findings: Array<string> = [...connectionsBeyond(samples)]
for (const { bound, error, growth, growth_error, mean, name, slope, verdict } of figuresOf(samples).map(judge)) {
  const whole = (value: number) => Math.round(value).toLocaleString("en")
  const line = `${verdict}: ${name}: mean ${whole(mean)}; slope ${whole(slope)} ± ${whole(error)} an hour; grew by ${whole(growth)} ± ${whole(growth_error)}, of at most ${whole(bound)}`
  console.log(line)
  if (verdict === "grows") findings.push(line)
}

/** Waits until a host holds as little as before, for at most a minute, because connections take a moment to close. */
const settled = async (before: Holding): Promise<{ readonly after: Holding; readonly seconds: number }> => {
  for (let seconds = 0; ; seconds++) {
    const now = await holding()
    if (seconds === 60 || judgeCrowd({ name: "", before, after: now, peak_rss: 0 }).length === 0) {
      return { after: now, seconds }
    }
    await after(1_000)
  }
}

for (const { come, name } of crowds) {
  const before = await holding()
  let [peak_rss, most] = [before.rss, before.descriptors]
  const looking = setInterval(() => {
    peak_rss = Math.max(peak_rss, host.rss())
    most = Math.max(most, Descriptors.countOf(host.pid))
  }, 200)
  await come(ports.server)
  clearInterval(looking)
  const { after: left, seconds } = await settled(before)
  console.log(
    `${name}: RSS ${mb(before.rss)} MB, ${mb(peak_rss)} MB at its peak; ${seconds} s after it RSS ${mb(left.rss)} MB, heap ${mb(before.heap)} to ${mb(left.heap)} MB, descriptors ${before.descriptors} to ${most} to ${left.descriptors}`
  )
  findings.push(...judgeCrowd({ name, before, after: left, peak_rss }))
}

for (const finding of findings) console.error(finding)
if (findings.length > 0) console.error(host.said())
await program.close()
await database.close()
await host.close()
process.exitCode = findings.length > 0 ? 1 : 0

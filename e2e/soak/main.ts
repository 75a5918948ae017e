import { setTimeout as after } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as Descriptors from "./Descriptors.ts"
import { judge, type Sample } from "./judge.ts"
import * as Load from "./Load.ts"
import * as Watched from "./Watched.ts"

/*
 * npm run soak -- [--minutes N] [--lanes N]
 *
 * Puts the same load on a host for minutes, samples its descriptors and its memory, and fails where one of them grows.
 */

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "10" }, lanes: { type: "string", default: "24" } }
})
const minutes = Number(values.minutes)
const every_ms = 10_000

const host = await Watched.open()
const load = await Load.begin(host.base_url, host.key, Number(values.lanes))
const ports = { ...host.ports, receiver: load.receiver }
const began = Date.now()
const samples: Array<Sample> = []
while (Date.now() - began < minutes * 60_000) {
  await after(every_ms)
  const descriptors = Descriptors.of(host.pid, ports)
  const sample: Sample = {
    seconds: Math.round((Date.now() - began) / 1_000),
    descriptors,
    held_by_callers: Descriptors.connectedTo(ports.server),
    heap: await host.heap(),
    rss: host.rss()
  }
  samples.push(sample)
  const { database = 0, callers = 0, webhooks = 0 } = descriptors
  const mb = (bytes: number) => (bytes / 1e6).toFixed(1)
  console.log(
    `${sample.seconds} s: ${load.calls()} calls, ${load.webhooks()} webhooks; ${Descriptors.count(descriptors)} descriptors (${callers} callers, ${database} database, ${webhooks} webhooks); heap ${mb(sample.heap)} MB, RSS ${mb(sample.rss)} MB`
  )
}
await load.stop()
const findings = judge(samples)
for (const finding of findings) console.error(finding)
if (findings.length > 0) console.error(host.said())
await host.close()
process.exitCode = findings.length > 0 ? 1 : 0

import { spawn } from "node:child_process"
import { once } from "node:events"
import { setTimeout as after } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import * as AttackedHost from "./AttackedHost.ts"
import * as HonestCallers from "./HonestCallers.ts"
import { shapes } from "./Shapes.ts"

/*
 * npm run attack -- [--connections N] [--seconds N] [--shape TEXT] [--heap MB]
 *
 * Attacks a host without a key, in every shape, and prints the cost for the host and for callers with a key. Fails if
 * an attack takes more than 400 MB, or if calls with a key take longer than two seconds (p99). Linux only.
 */

const { values } = parseArgs({
  options: {
    connections: { type: "string", default: "300" },
    seconds: { type: "string", default: "10" },
    shape: { type: "string", default: "" },
    heap: { type: "string" }
  }
})
const seconds = Number(values.seconds)

/**
 * The most memory that an attack may take, in bytes, and the longest p99 latency of calls with a key, in milliseconds.
 */
const most = { bytes: 400e6, p99_ms: 2_000 }

const attacker = fileURLToPath(new URL("Attacker.ts", import.meta.url))

const measure = async (shape: string): Promise<boolean> => {
  const host = await AttackedHost.start(values.heap === undefined ? [] : [`--max-old-space-size=${values.heap}`])
  try {
    const alone = HonestCallers.begin(host.base_url, host.key)
    await after(3_000)
    const before = await alone.stop()
    const idle = host.peak()
    const honest = HonestCallers.begin(host.base_url, host.key)
    const args = [attacker, String(host.port), shape, values.connections, values.seconds]
    await once(spawn(process.execPath, args, { stdio: "inherit" }), "exit")
    const fared = await honest.stop()
    const peak = host.peak()
    const mb = (bytes: number) => `${Math.round(bytes / 1e6)} MB`
    const ms = (time: number) => `${time.toFixed(0)} ms`
    console.log(
      `${shape}: memory ${mb(idle)}, then ${mb(peak)}; p50 ${ms(before.p50_ms)}, then ${ms(fared.p50_ms)}; p99 ${ms(before.p99_ms)}, then ${ms(fared.p99_ms)}; at most ${ms(fared.max_ms)}; ${fared.failed} of ${fared.calls} calls failed${host.isAlive() ? "" : "; the host has died"}`
    )
    return host.isAlive() && fared.failed === 0 && peak - idle <= most.bytes && fared.p99_ms <= most.p99_ms
  } finally {
    await host.close()
  }
}

console.log(`${values.connections} connections, ${seconds} s`)
for (const { name } of shapes) if (name.includes(values.shape) && !(await measure(name))) process.exitCode = 1

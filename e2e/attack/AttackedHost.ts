import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { setTimeout as after } from "node:timers/promises"
import { fileURLToPath } from "node:url"

/** A host to attack, in memory and in its own process. */
export interface AttackedHost {
  readonly base_url: string
  readonly key: string
  readonly port: number
  /** The peak of its resident memory since the last call, in bytes. */
  readonly peak: () => number
  readonly isAlive: () => boolean
  readonly close: () => Promise<void>
}

const program = fileURLToPath(new URL("../../packages/cli/bin/quotewire.js", import.meta.url))

/** Starts a sandbox and waits until it listens. */
export const start = async (node: ReadonlyArray<string>): Promise<AttackedHost> => {
  const args = [...node, program, "dev", "--port", "0", "--json", "--no-limits"]
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] })
  const ended = once(child, "exit")
  const [line] = await Promise.race([once(child.stdout, "data"), ended])
  const { base_url, keys } = JSON.parse(String(line))
  child.stdout.resume()
  const isAlive = () => child.exitCode === null && child.signalCode === null
  const resident = () =>
    1_024 * Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0)
  let peak = 0
  const look = setInterval(() => {
    if (isAlive()) peak = Math.max(peak, resident())
  }, 50)
  return {
    base_url,
    key: keys.server,
    port: Number(new URL(base_url).port),
    peak: () => {
      const seen = peak
      peak = 0
      return seen
    },
    isAlive,
    close: async () => {
      clearInterval(look)
      child.kill("SIGTERM")
      await Promise.race([ended, after(15_000).then(() => child.kill("SIGKILL"))])
    }
  }
}

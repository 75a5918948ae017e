import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Lock } from "./Lock.ts"

const program = fileURLToPath(new URL("../../packages/cli/bin/quotewire.js", import.meta.url))
const clock = new URL("jumpingClock.ts", import.meta.url).href

/** A `quotewire serve` process that can be killed and restarted at the same address. */
export interface Host {
  readonly base_url: string
  /** Held by the fault that affects the host as a whole. */
  readonly lock: Lock
  /** Kills it immediately, as a power failure would. */
  readonly kill: () => Promise<void>
  /** Pauses it, as if its machine were suspended, and resumes it after this many milliseconds. */
  readonly pause: (ms: number) => Promise<void>
  /** Shifts the wall clock of its machine by this many milliseconds, until it restarts. */
  readonly jump: (by_ms: number) => void
  /** Starts it, and resolves when it is ready. */
  readonly start: () => Promise<void>
  /**
   * Starts it, and restarts it as long as it ends during startup, as a supervisor does while the database is
   * unavailable.
   */
  readonly revive: () => Promise<void>
  /** Asks it to stop, and returns its exit code. */
  readonly stop: () => Promise<number | null>
  /** Whether its process is running. */
  readonly runs: () => boolean
  /** The last 20,000 characters of its standard error. */
  readonly said: () => string
}

const readyWithinMs = 180_000
const revivedWithinMs = 300_000
/** Hosts promise to stop within ten seconds. */
const stopsWithinMs = 30_000

/** Makes a host on a port, for the database that its environment names, without starting it. */
export const make = (port: number, env: Readonly<Record<string, string>>): Host => {
  let child: ChildProcess | null = null
  let said = ""
  const start = async () => {
    const args = ["--import", clock, program, "serve", "--port", `${port}`, "--json", "--no-limits", "--migrate"]
    const started = spawn(process.execPath, args, {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe", "ipc"]
    })
    child = started
    started.stderr?.on("data", (bytes) => {
      said = (said + bytes).slice(-20_000)
    })
    await new Promise<void>((ready, failed) => {
      let out = ""
      const late = setTimeout(() => failed(new Error("A host did not become ready")), readyWithinMs)
      started.once("exit", () => {
        clearTimeout(late)
        failed(new Error(`A host has ended at its start: ${said}`))
      })
      started.stdout?.on("data", (bytes) => {
        out += bytes
        if (!out.includes("\n")) return
        clearTimeout(late)
        ready()
      })
    })
  }
  const end = async (signal: "SIGKILL" | "SIGTERM") => {
    const ending = child
    child = null
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return ending?.exitCode ?? null
    const ended = once(ending, "exit")
    ending.kill(signal)
    const late = setTimeout(() => {
      said += `\n${hangs}`
      ending.kill("SIGKILL")
    }, stopsWithinMs)
    const [code]: ReadonlyArray<number | null> = await ended
    clearTimeout(late)
    return code ?? null
  }
  const revive = async () => {
    const endsAt = Date.now() + revivedWithinMs
    while (true) {
      try {
        return await start()
      } catch (error) {
        if (Date.now() > endsAt) throw error
        await end("SIGKILL")
        await after(200)
      }
    }
  }
  return {
    base_url: `http://127.0.0.1:${port}`,
    lock: new Lock(),
    start,
    revive,
    jump: (byMs) => void child?.send(byMs, () => undefined),
    kill: async () => {
      await end("SIGKILL")
    },
    pause: async (ms) => {
      const paused = child
      paused?.kill("SIGSTOP")
      await after(ms)
      paused?.kill("SIGCONT")
    },
    stop: () => end("SIGTERM"),
    runs: () => child !== null && child.exitCode === null && child.signalCode === null,
    said: () => said
  }
}

/** The log text recorded for a host that did not stop when asked to. */
export const hangs = "A host that was asked to stop did not end"

/** Waits in real time. */
export const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

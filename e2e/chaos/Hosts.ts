import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("../../packages/cli/bin/quotewire.js", import.meta.url))

/** One `quotewire serve` that can be killed and started again at the same address. */
export interface Host {
  readonly base_url: string
  /** Ends it at once, as a power cut does. */
  readonly kill: () => Promise<void>
  /** Stops it where it stands, as a machine that is suspended does, and lets it go on after so many milliseconds. */
  readonly pause: (ms: number) => Promise<void>
  /** Starts it, and answers when it is ready. */
  readonly start: () => Promise<void>
  /** Asks it to stop, and answers its exit code. */
  readonly stop: () => Promise<number | null>
  /** Whether its process runs. */
  readonly runs: () => boolean
  /** What it has said on standard error, its last 20,000 characters. */
  readonly said: () => string
}

const ready_within_ms = 60_000

/** A host on a port, working for the database that its environment names; it does not run yet. */
export const make = (port: number, env: Readonly<Record<string, string>>): Host => {
  let child: ChildProcess | null = null
  let said = ""
  const start = async () => {
    const args = [program, "serve", "--port", `${port}`, "--json", "--no-limits", "--migrate"]
    const started = spawn(process.execPath, args, { env: { ...process.env, ...env } })
    child = started
    started.stderr.on("data", (bytes) => {
      said = (said + bytes).slice(-20_000)
    })
    await new Promise<void>((ready, failed) => {
      let out = ""
      const late = setTimeout(() => failed(new Error("A host did not become ready")), ready_within_ms)
      started.once("exit", () => failed(new Error(`A host has ended at its start: ${said}`)))
      started.stdout.on("data", (bytes) => {
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
    const [code]: ReadonlyArray<number | null> = await ended
    return code ?? null
  }
  return {
    base_url: `http://127.0.0.1:${port}`,
    start,
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

/** Waits in real time. */
export const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

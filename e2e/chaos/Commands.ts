import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("../../packages/cli/bin/quotewire.js", import.meta.url))

/** The result of a command. The code is null if it was killed. */
export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** A running command. */
export interface Running {
  /** Resolves when it prints this to standard error, or when it ends. */
  readonly says: (text: string) => Promise<unknown>
  /** Kills it immediately, as a power failure would. */
  readonly kill: () => void
  readonly ended: Promise<Ended>
}

/** Starts `quotewire` with some arguments. */
export type Start = (...args: ReadonlyArray<string>) => Running

/** Starts commands in an environment. */
export const startIn =
  (env: Readonly<Record<string, string>>): Start =>
  (...args) => {
    const child = spawn(process.execPath, [program, ...args, "--json"], { env: { ...process.env, ...env } })
    let out = ""
    let err = ""
    const ended = new Promise<Ended>((resolve) => child.once("close", (code) => resolve({ code, out, err })))
    child.stdout.on("data", (bytes) => {
      out += bytes
    })
    child.stderr.on("data", (bytes) => {
      err += bytes
    })
    const says = (text: string) => {
      const said = new Promise<void>((resolve) => {
        const look = () => err.includes(text) && resolve()
        child.stderr.on("data", look)
        look()
      })
      return Promise.race([said, ended])
    }
    return { says, kill: () => child.kill("SIGKILL"), ended }
  }

/** Runs a command to its end and returns its output. */
export const answer = async (start: Start, ...args: ReadonlyArray<string>) => {
  const { code, err, out } = await start(...args).ended
  if (code !== 0) throw new Error(`quotewire ${args.join(" ")} has ended with ${code}: ${err}`)
  return JSON.parse(out)
}

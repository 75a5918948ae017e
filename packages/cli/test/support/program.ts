import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"

// The command is tested as it is shipped: the built program, started as a process of its own.
/** The built program. */
export const program = fileURLToPath(new URL("../../bin/quotewire.js", import.meta.url))

/** A process that has ended. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Starts a command, in the current folder by default. */
export const start = (args: ReadonlyArray<string>, env: Record<string, string> = {}, cwd?: string) =>
  launch([program, ...args], env, cwd)

/** Variables of every process: a person who runs the tests may keep keys, which are theirs alone. */
const ownVariables = { XDG_CONFIG_HOME: "/nonexistent" }

/** Starts Node. */
export const launch = (args: ReadonlyArray<string>, env: Record<string, string> = {}, cwd?: string) => {
  const child = spawn(process.execPath, args, { cwd, env: { ...process.env, ...ownVariables, ...env } })
  let stdout = ""
  let stderr = ""
  child.stdout.on("data", (bytes) => {
    stdout += bytes
  })
  child.stderr.on("data", (bytes) => {
    stderr += bytes
  })
  const ended = once(child, "close").then(([code]): Ended => ({ code, stdout, stderr }))
  return { child, ended, output: () => stdout, errors: () => stderr }
}

/** Runs a command to its end. */
export const run = (args: ReadonlyArray<string>, env?: Record<string, string>, cwd?: string) =>
  Effect.promise(() => start(args, env, cwd).ended)

/** A host that is ready, and stopped when the test ends. */
export const host = (args: ReadonlyArray<string>, env?: Record<string, string>, cwd?: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const started = start(args, env, cwd)
      while (!started.output().includes("\n")) await once(started.child.stdout, "data")
      return started
    }),
    ({ child }) => Effect.promise(() => stopped(child))
  )

/** Kills a process and waits for its end. */
export const stopped = async (child: ChildProcess) => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill("SIGKILL")
  await once(child, "close")
}

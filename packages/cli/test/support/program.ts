import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"

// Tests run the shipped command: the built program, in a separate process.
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

/** Variables of every process. They hide the saved keys of whoever runs the tests. */
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

/** A ready host, which is stopped when the test ends. */
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

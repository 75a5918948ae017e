import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"

/** The CPU cores that the measured process and the load generator are pinned to. */
export const cores = { server: 0, load: 1 } as const

/** A process of the bench that answers questions, one at a time. */
export interface Child {
  /** Asks a question and waits for the answer. */
  readonly ask: <Answer>(question: unknown) => Promise<Answer>
  readonly stop: () => Promise<void>
}

/**
 * Returns a command that pins a program to one core. Returns the command unchanged if `core` is null, or the machine is
 * not Linux or has a single core.
 */
export const onCore = (core: number | null, command: ReadonlyArray<string>): ReadonlyArray<string> =>
  core !== null && availableParallelism() > 1 && process.platform === "linux"
    ? ["taskset", "-c", String(core), ...command]
    : command

/**
 * Starts a script of this folder as a separate process, pinned to `core`. If `core` is null, the process may use any
 * core.
 */
export const start = (
  script: string,
  core: number | null,
  { node = [], args = [] }: { readonly node?: ReadonlyArray<string>; readonly args?: ReadonlyArray<string> } = {}
): Child => {
  const command = [process.execPath, ...node, fileURLToPath(new URL(script, import.meta.url)), ...args]
  const [program = "", ...rest] = onCore(core, command)
  const child = spawn(program, rest, { stdio: ["ignore", "inherit", "inherit", "ipc"] })
  return { ask: (question) => ask(child, question), stop: () => stop(child) }
}

/**
 * Starts a script that measures the named contender. Writes a CPU profile to the `profile` folder, unless it is null.
 */
export const startContender = (script: string, name: string, profile: string | null): Child => {
  const profiling = profile === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}/${name}`]
  return start(script, cores.server, { node: ["--expose-gc", "--max-old-space-size=4096", ...profiling], args: [name] })
}

const ask = async <Answer>(child: ChildProcess, question: unknown): Promise<Answer> => {
  const ended = new AbortController()
  const died = once(child, "exit", { signal: ended.signal }).then(([code]) => {
    throw new Error(`A process of the bench has ended with ${code}`)
  })
  const answered = once(child, "message", { signal: ended.signal }).then(([message]) => message)
  child.send(question as object)
  try {
    return await Promise.race([answered, died])
  } finally {
    ended.abort()
    await Promise.allSettled([answered, died])
  }
}

const stop = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, "exit")
  child.disconnect()
  await ended
}

/** Makes this process answer every question of its parent process. */
export const answer = <Question>(reply: (question: Question) => unknown): void => {
  process.once("disconnect", () => process.exit())
  process.on("message", async (question: Question) => {
    process.send?.((await reply(question)) as object)
  })
}

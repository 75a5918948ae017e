import { NodeServices } from "@effect/platform-node"
import {
  Cause,
  ConfigProvider,
  Console,
  Effect,
  Exit,
  Fiber,
  Layer,
  Option,
  Queue,
  Stdio,
  Stream,
  Terminal
} from "effect"
import { CliError, TerminalCapabilities } from "effect/cli"
import { run } from "../../src/Program.ts"
import { WrongUsage } from "../../src/settings/CommandErrors.ts"
import type { Ended } from "./program.ts"

/** How a command ended, and what it printed. */
export interface Ran {
  readonly how: "done" | "failed" | "wrong usage"
  readonly out: string
  readonly err: string
}

const howOf = (exit: Exit.Exit<unknown, unknown>): Ran["how"] => {
  if (Exit.isSuccess(exit)) return "done"
  const error = Option.getOrNull(Cause.findErrorOption(exit.cause))
  return error instanceof WrongUsage || CliError.isCliError(error) ? "wrong usage" : "failed"
}

const recorder = (onOut: (text: unknown) => void, onErr: (text: unknown) => void): Console.Console =>
  Object.assign(Object.create(console), { log: onOut, error: onErr })

/** The input of a command: standard input, or what a person types at a terminal, as text or as named keys. */
type Input = string | { readonly typed: string } | { readonly keys: ReadonlyArray<string> }

const keysOf = (input: Exclude<Input, string>): ReadonlyArray<string> =>
  "keys" in input ? input.keys : [...input.typed, "enter"]

const keyNamed = (name: string): Terminal.UserInput => ({
  input: Option.some(name === "enter" ? "\r" : name),
  key: { name, ctrl: false, meta: false, shift: false }
})

/** A terminal at which each of these keys is pressed once, whichever prompt reads it. */
const terminal = (keys: ReadonlyArray<string>) =>
  Layer.effect(
    Terminal.Terminal,
    Effect.map(
      Effect.tap(Queue.unbounded<Terminal.UserInput, Cause.Done>(), (queue) =>
        Queue.offerAll(queue, keys.map(keyNamed))
      ),
      (queue) =>
        Terminal.make({
          columns: Effect.succeed(80),
          rows: Effect.succeed(24),
          size: Effect.die("Nothing asks for the size."),
          readInput: Effect.succeed(queue),
          readLine: Effect.die("Nothing reads a line."),
          display: (text) => Console.log(text)
        })
    )
  )

/** Standard input, or a terminal. */
const inputOf = (input: Input) =>
  typeof input === "string"
    ? Stdio.layerTest({ stdin: Stream.make(new TextEncoder().encode(input)) })
    : Layer.mergeAll(
        terminal(keysOf(input)),
        Stdio.layerTest({ stdinIsTerminal: Effect.succeed(true), stdoutIsTerminal: Effect.succeed(true) }),
        Layer.succeed(TerminalCapabilities.TerminalCapabilities, {
          canColor: false,
          canAnimate: false,
          canPrompt: true
        })
      )

const played = (
  args: ReadonlyArray<string>,
  env: Record<string, string>,
  console: Console.Console,
  input: Input = ""
) =>
  run(args).pipe(
    Effect.provideService(Console.Console, console),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
    Effect.provide(Layer.merge(NodeServices.layer, inputOf(input)))
  )

/** Starts a command that prints until stopped. It stops at the end of the test. */
export const startInProcess = Effect.fnUntraced(function* (args: ReadonlyArray<string>, env: Record<string, string>) {
  const out = yield* Queue.unbounded<string>()
  const err: Array<string> = []
  const console = recorder(
    (text) => void Queue.offerUnsafe(out, String(text)),
    (text) => void err.push(String(text))
  )
  const fiber = yield* Effect.forkScoped(played(args, env, console))
  /** The next line of standard output. Fails if the command ends first. */
  const next = Effect.raceFirst(Queue.take(out), Effect.andThen(Fiber.join(fiber), Effect.never))
  return { next, err, stop: Effect.andThen(Fiber.interrupt(fiber), Fiber.await(fiber)) }
})

/** Runs the command in this process as `main` does, with these variables and this input. */
export const runInProcess = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  env: Record<string, string>,
  input: Input = ""
): Effect.fn.Return<Ran> {
  const out: Array<string> = []
  const err: Array<string> = []
  const into = (lines: Array<string>) => (text: unknown) => void lines.push(String(text))
  const exit = yield* Effect.exit(played(args, env, recorder(into(out), into(err)), input))
  return { how: howOf(exit), out: out.join("\n"), err: err.join("\n") }
})

const codes = { done: 0, failed: 1, "wrong usage": 2 } as const

const linesOf = (text: string): string => (text === "" ? "" : `${text}\n`)

/** Runs a command in this process. Returns the exit code and the output that a process of its own would have. */
export const runHere = (args: ReadonlyArray<string>, env: Record<string, string> = {}): Effect.Effect<Ended> =>
  Effect.map(runInProcess(args, env), ({ err, how, out }) => ({
    code: codes[how],
    stdout: linesOf(out),
    stderr: linesOf(err)
  }))

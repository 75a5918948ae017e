import { NodeServices } from "@effect/platform-node"
import { Cause, ConfigProvider, Console, Effect, Exit, Layer, Option, Stdio, Stream } from "effect"
import { CliError } from "effect/cli"
import { WrongUsage } from "../../src/CommandErrors.ts"
import { run } from "../../src/Program.ts"

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

/** Runs the command in this process as `main` does, with these variables and this standard input. */
export const runInProcess = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  env: Record<string, string>,
  input = ""
): Effect.fn.Return<Ran> {
  const out: Array<string> = []
  const err: Array<string> = []
  const into = (lines: Array<string>) => (text: unknown) => void lines.push(String(text))
  const recorder: Console.Console = Object.assign(Object.create(console), { log: into(out), error: into(err) })
  const stdio = Stdio.layerTest({ stdin: Stream.make(new TextEncoder().encode(input)) })
  const exit = yield* run(args).pipe(
    Effect.provideService(Console.Console, recorder),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
    Effect.provide(Layer.merge(NodeServices.layer, stdio)),
    Effect.exit
  )
  return { how: howOf(exit), out: out.join("\n"), err: err.join("\n") }
})

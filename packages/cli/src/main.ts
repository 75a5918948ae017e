// Schemas are compiled to code where the runtime allows it, and interpreted where it does not. It holds for the whole
// process, and for every schema that has not decoded anything yet: it stands where a program begins, never in a library.
import "effect/schema/SchemaJITCompiler/enable"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Console, Effect, Exit, Layer, Logger, Option } from "effect"
import { CliConfig, CliError, Command, GlobalFlag } from "effect/cli"
import { dev } from "./commands/dev.ts"
import { keys } from "./commands/keys.ts"
import { mcp } from "./commands/mcp.ts"
import { migrate } from "./commands/migrate.ts"
import { organizations } from "./commands/organizations.ts"
import { serve } from "./commands/serve.ts"
import { work } from "./commands/work.ts"
import { WrongUsage } from "./Failed.ts"
import * as Presenter from "./Presenter.ts"
import { variableOf, verbose } from "./Settings.ts"
import { version } from "./version.ts"

const quotewire = Command.make("quotewire").pipe(
  Command.withDescription("An insurance quoting service"),
  Command.withSharedFlags({ verbose }),
  Command.withSubcommands([dev, serve, work, mcp, migrate, organizations, keys])
)

/** Exit codes: 0 done, 1 failed, 2 wrong usage. A stop by signal is a done. */
const exitCode = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return 0
  const error = Option.getOrNull(Cause.findErrorOption(exit.cause))
  if (error instanceof WrongUsage) return 2
  return CliError.isCliError(error) ? 2 : 1
}

/** Says in one sentence why a command has failed; the rest is for `--verbose`. */
const explain = (cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (CliError.isCliError(error) || Cause.hasInterruptsOnly(cause)) return Effect.void
  const isVerbose = process.argv.includes("--verbose") || process.env[variableOf("verbose")] === "true"
  if (isVerbose) return Console.error(Cause.pretty(cause))
  const sentence = error instanceof Error ? error.message : "The command has failed; --verbose shows where."
  return Console.error(`quotewire: ${sentence}`)
}

// Standard output belongs to what a command prints.
const logs = Layer.mergeAll(Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)]), Presenter.layer)

/** A stop takes ten seconds at most, whatever still runs: less what the end itself takes. */
const longest_stop_ms = 9_500

const breakOff = () => {
  process.stderr.write("quotewire: What still ran when the time to stop was over is broken off.\n")
  process.exit(1)
}

// The first signal lets the host finish what runs; a second one ends at once.
let signals = 0
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (++signals > 1) process.exit(1)
    setTimeout(breakOff, longest_stop_ms).unref()
  })
}

Command.run(quotewire, { version }).pipe(
  Effect.provideService(CliConfig.CliConfig, { builtIns: [GlobalFlag.Help, GlobalFlag.Version] }),
  Effect.tapCause(explain),
  Effect.provide(NodeServices.layer),
  Effect.provide(logs),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, end) => end(exitCode(exit)) })
)

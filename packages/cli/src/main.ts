// Schemas are compiled to code where the runtime allows it, and interpreted where it does not. It holds for the whole
// process, and for every schema that has not decoded anything yet: it stands where a program begins, never in a library.
import "effect/schema/SchemaJITCompiler/enable"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Effect, Exit, Option } from "effect"
import { CliError } from "effect/cli"
import { WrongUsage } from "./Failed.ts"
import { run } from "./Program.ts"

/** Exit codes: 0 done, 1 failed, 2 wrong usage. A stop by signal is a done. */
const exitCode = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return 0
  const error = Option.getOrNull(Cause.findErrorOption(exit.cause))
  if (error instanceof WrongUsage) return 2
  return CliError.isCliError(error) ? 2 : 1
}

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

run(process.argv.slice(2)).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, end) => end(exitCode(exit)) })
)

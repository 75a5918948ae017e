// Compiles schemas to code if the runtime allows it. This affects the whole process and every schema that has not been
// used yet. It therefore belongs at the start of a program, never in a library.
import "effect/schema/SchemaJITCompiler/enable"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Effect, Exit, Option } from "effect"
import { CliError } from "effect/cli"
import { run } from "./Program.ts"
import * as Role from "./processes/Role.ts"
import { WrongUsage } from "./settings/CommandErrors.ts"

/** Exit codes: 0 means done, 1 failed, and 2 wrong usage. Stopping because of a signal is treated as done. */
const exitCode = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return 0
  const error = Option.getOrNull(Cause.findErrorOption(exit.cause))
  if (error instanceof WrongUsage) return 2
  return CliError.isCliError(error) ? 2 : 1
}

/** How long stopping may take, in milliseconds. Stopping and exiting together must take at most ten seconds. */
const longestStopMs = 9_500

const forceExit = () => {
  process.stderr.write("quotewire: Stopped after ten seconds; calls that were still running were interrupted.\n")
  process.exit(1)
}

// The first signal lets running calls finish. The second one exits immediately.
let signals = 0
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (++signals > 1) process.exit(1)
    setTimeout(forceExit, longestStopMs).unref()
  })
}

run(process.argv.slice(2)).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    teardown: (exit, end) => {
      end(exitCode(exit))
      // Exits explicitly, because the open IPC channel to the primary would keep a worker running.
      if (Role.role() !== "alone") process.exit(exitCode(exit))
    }
  })
)

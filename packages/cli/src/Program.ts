import { Cause, Config, Console, Effect, Layer, Logger, Option } from "effect"
import { CliConfig, CliError, Command, GlobalFlag } from "effect/cli"
import { CommandFailed, WrongUsage } from "./CommandErrors.ts"
import { carriers } from "./commands/carriers.ts"
import { cells } from "./commands/cells.ts"
import { connections } from "./commands/connections.ts"
import { dev } from "./commands/dev.ts"
import { erase } from "./commands/erase.ts"
import { events } from "./commands/events.ts"
import { keys } from "./commands/keys.ts"
import { listen } from "./commands/listen.ts"
import { mcp } from "./commands/mcp.ts"
import { migrate } from "./commands/migrate.ts"
import { organizations } from "./commands/organizations.ts"
import { quotes } from "./commands/quotes.ts"
import { requests } from "./commands/requests.ts"
import { serve } from "./commands/serve.ts"
import { trigger } from "./commands/trigger.ts"
import { work } from "./commands/work.ts"
import * as Presenter from "./Presenter.ts"
import { variableOf, verbose } from "./Settings.ts"
import { version } from "./version.ts"

/** The command with its subcommands. */
export const quotewire = Command.make("quotewire").pipe(
  Command.withDescription("An insurance quoting service"),
  Command.withSharedFlags({ verbose }),
  Command.withSubcommands([
    dev,
    serve,
    work,
    mcp,
    listen,
    trigger,
    events,
    quotes,
    requests,
    migrate,
    organizations,
    keys,
    connections,
    carriers,
    erase,
    cells
  ])
)

// Standard output is for the results of a command.
const logs = Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])

/** Runs the command, and says in one sentence why it failed. It never repeats an argument. */
export const run = (args: ReadonlyArray<string>) =>
  Command.runWith(quotewire, { version })(args).pipe(
    Effect.provideService(CliConfig.CliConfig, {
      builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions]
    }),
    Effect.tapCause((cause) => explain(cause, args)),
    Effect.provide(Layer.merge(logs, Presenter.layer))
  )

const explain = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>, args: ReadonlyArray<string>) {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (CliError.isCliError(error) || Cause.hasInterruptsOnly(cause)) return
  // Messages of other errors may repeat their input.
  const isOwn = error instanceof CommandFailed || error instanceof WrongUsage
  yield* Console.error(`quotewire: ${isOwn ? error.message : "The command failed. Use --verbose to see where."}`)
  if (args.includes("--verbose") || (yield* isVerbose)) yield* Console.error(framesOf(cause))
})

const isVerbose = Effect.orElseSucceed(Config.Boolean(variableOf("verbose")), () => false)

/** The stack frames without the messages. */
const framesOf = (cause: Cause.Cause<unknown>): string =>
  Cause.pretty(cause)
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .join("\n")

import { Cause, Config, Console, Effect, Layer, Logger, Option } from "effect"
import { CliConfig, CliError, Command, GlobalFlag } from "effect/cli"
import { printable } from "./carriers/CarrierText.ts"
import { CommandFailed, WrongUsage } from "./settings/CommandErrors.ts"
import { variableOf, verbose } from "./settings/Settings.ts"
import * as Presenter from "./terminal/Presenter.ts"
import { errorStyle } from "./terminal/Style.ts"
import { version } from "./version.ts"

/**
 * The subcommands by group, in the order in which help lists them. Each is a module of its own, so that a process loads
 * only the subcommand that it runs.
 */
const groups = {
  Try: {
    create: async () => (await import("./create/create.ts")).create,
    dev: async () => (await import("./commands/dev.ts")).dev,
    trigger: async () => (await import("./commands/trigger.ts")).trigger
  },
  Integrate: {
    mcp: async () => (await import("./commands/mcp.ts")).mcp,
    listen: async () => (await import("./commands/listen.ts")).listen,
    events: async () => (await import("./commands/events.ts")).events,
    quotes: async () => (await import("./commands/quotes.ts")).quotes,
    requests: async () => (await import("./commands/requests.ts")).requests,
    login: async () => (await import("./commands/profiles.ts")).login,
    logout: async () => (await import("./commands/profiles.ts")).logout,
    profiles: async () => (await import("./commands/profiles.ts")).profiles
  },
  Operate: {
    serve: async () => (await import("./commands/serve.ts")).serve,
    work: async () => (await import("./commands/work.ts")).work,
    migrate: async () => (await import("./commands/migrate.ts")).migrate,
    organizations: async () => (await import("./commands/organizations.ts")).organizations,
    keys: async () => (await import("./commands/keys.ts")).keys,
    operators: async () => (await import("./commands/operators.ts")).operators,
    status: async () => (await import("./commands/operating/status.ts")).status,
    audit: async () => (await import("./commands/operating/audit.ts")).audit,
    share: async () => (await import("./commands/operating/share.ts")).share,
    recoveries: async () => (await import("./commands/operating/recoveries.ts")).recoveries,
    consumers: async () => (await import("./commands/consumers.ts")).consumers,
    erase: async () => (await import("./commands/erase.ts")).erase,
    seal: async () => (await import("./commands/seal.ts")).seal,
    cells: async () => (await import("./commands/cells.ts")).cells
  },
  Carriers: {
    carriers: async () => (await import("./commands/carriers.ts")).carriers,
    connections: async () => (await import("./commands/connections.ts")).connections
  }
}

const subcommands = { ...groups.Try, ...groups.Integrate, ...groups.Operate, ...groups.Carriers }

const isSubcommand = (word: string): word is keyof typeof subcommands => Object.hasOwn(subcommands, word)

/**
 * Loads the subcommand that is called. Help, completions and suggestions for a mistyped word need all subcommands, and
 * `--version` needs no subcommand.
 */
const needed = async ([word = "", ...rest]: ReadonlyArray<string>) => {
  if (word === "--version" && rest.length === 0) return []
  const isOne = isSubcommand(word) && !rest.some((argument) => argument.startsWith("--completions"))
  if (isOne) return [await subcommands[word]()]
  const { Carriers, Integrate, Operate, Try } = groups
  return [
    { group: "Try", commands: await Promise.all(Object.values(Try).map((subcommand) => subcommand())) },
    { group: "Integrate", commands: await Promise.all(Object.values(Integrate).map((subcommand) => subcommand())) },
    { group: "Operate", commands: await Promise.all(Object.values(Operate).map((subcommand) => subcommand())) },
    { group: "Carriers", commands: await Promise.all(Object.values(Carriers).map((subcommand) => subcommand())) }
  ]
}

/** Loads the command with the subcommands that these arguments need. */
export const load = (args: ReadonlyArray<string>) =>
  Effect.map(
    Effect.promise(() => needed(args)),
    (loaded) =>
      Command.make("quotewire").pipe(
        Command.withDescription("An insurance quoting service"),
        Command.withSharedFlags({ verbose }),
        Command.withSubcommands(loaded)
      )
  )

// Logs go to standard error, because standard output is for results.
const logs = Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])

/** Runs the command. If it fails, prints one sentence that says why. The sentence never repeats an argument. */
export const run = (args: ReadonlyArray<string>) =>
  Effect.flatMap(load(args), (quotewire) => Command.runWith(quotewire, { version })(args)).pipe(
    Effect.provideService(CliConfig.CliConfig, {
      builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions]
    }),
    Effect.tapCause((cause) => explain(cause, args)),
    Effect.provide(Layer.merge(logs, Presenter.layer))
  )

const explain = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>, args: ReadonlyArray<string>) {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (CliError.isCliError(error) || Cause.hasInterruptsOnly(cause)) return
  // Only the messages of these errors are known not to repeat any input.
  const isOwn = error instanceof CommandFailed || error instanceof WrongUsage
  const { red } = yield* errorStyle
  yield* Console.error(
    red(`quotewire: ${isOwn ? printable(error.message) : "The command failed. Use --verbose to see where."}`)
  )
  if (args.includes("--verbose") || (yield* isVerbose)) yield* Console.error(framesOf(cause))
})

const isVerbose = Effect.orElseSucceed(Config.Boolean(variableOf("verbose")), () => false)

/** The stack frames of all errors in a cause, without their messages. */
const framesOf = (cause: Cause.Cause<unknown>): string =>
  Cause.pretty(cause)
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .join("\n")

import { CalendarDay, RatePlan } from "@quotewire/core"
import { Clock, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as JsonFile from "../carriers/JsonFile.ts"
import * as ConfigFile from "../config/ConfigFile.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { json } from "../settings/Settings.ts"
import * as Output from "../terminal/Output.ts"
import { ask } from "../trials/ask.ts"
import { test } from "../trials/test.ts"
import { reset, status } from "./circuits.ts"

const fileArgument = Argument.String("file").pipe(Argument.withDescription("Rate plan, a JSON file"))

// This flag has no default file: a default configuration that used the rate plan would fail to load because of the
// plan's errors, before the check could list them.
const config = Flag.String("config").pipe(
  Flag.optional,
  Flag.withDescription("Configuration file with the ratings for your own lines; none by default")
)

const ratingsOf = (file: Option.Option<string>) =>
  Option.isNone(file) ? Effect.succeed([]) : Effect.map(ConfigFile.load(file), ({ ratings = [] }) => ratings)

const check = Command.make("check", reportAllErrors({ file: fileArgument, config, json }), (settings) =>
  Effect.gen(function* () {
    const ratings = yield* ratingsOf(settings.config)
    const plan = yield* JsonFile.read(settings.file, "<file>")
    const today = CalendarDay.dayOf(yield* Clock.currentTimeMillis)
    const faults = RatePlan.check(plan, { today, ratings })
    yield* Output.result(settings, { faults }, [...faults.map(lineOf), ...summaryOf(plan).map(rowOf)])
    if (faults.length > 0) return yield* new CommandFailed({ message: "The rate plan has errors." })
  })
).pipe(Command.withDescription("Check a rate plan: its structure, every table, and every worked example"))

const lineOf = ({ message, path }: RatePlan.Fault): string => (path === "" ? message : `${path}: ${message}`)

/** Summarizes a rate plan in rows; empty if the file is not a rate plan. */
const summaryOf = (input: unknown): ReadonlyArray<readonly [string, string]> =>
  Option.match(Schema.decodeUnknownOption(RatePlan.RatePlan)(input), {
    onNone: () => [],
    onSome: (plan) => {
      const tables = [...Object.values(plan.base_cents), ...plan.factors, ...(plan.additions_cents ?? [])]
      const drivers = plan.factors.flatMap(({ mean_of_drivers }) => mean_of_drivers?.factors ?? [])
      return [
        ["carrier", `${plan.carrier.name}, ${plan.carrier.id}`],
        ["line", plan.line],
        ["reviewed on", plan.reviewed_on],
        ["states", `${plan.states.length}: ${plan.states.join(", ")}`],
        ["base rates", String(Object.keys(plan.base_cents).length)],
        ["factors", String(plan.factors.length + drivers.length)],
        ["additions", String(plan.additions_cents?.length ?? 0)],
        ["values in tables", String([...tables, ...drivers].reduce((sum, table) => sum + sizeOf(table), 0))],
        ["underwriting rules", String(plan.underwriting.length)],
        ["fees", String(plan.fees?.length ?? 0)],
        ...plan.examples.map(
          ({ declined, name, premium_cents }) => ["example", `${name}: ${declined ?? premium_cents ?? ""}`] as const
        )
      ]
    }
  })

const sizeOf = ({ bands, points, values }: RatePlan.Table): number =>
  (bands?.length ?? 0) + (points?.length ?? 0) + Object.keys(values ?? {}).length

const rowOf = ([name, value]: readonly [string, string]): string => `${name.padEnd(20)}${value}`

/**
 * `quotewire carriers` checks and tries out carriers before a host serves them, and shows their status once a host
 * serves them.
 */
export const carriers = Command.make("carriers").pipe(
  Command.withDescription("Check and test carriers before you serve them, and see their status"),
  Command.withSubcommands([check, test, ask, status, reset])
)

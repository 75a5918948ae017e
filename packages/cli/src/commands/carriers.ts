import { RatePlan, Timestamp } from "@quotewire/core"
import { Clock, Console, Effect, FileSystem, Option, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { CommandFailed } from "../CommandErrors.ts"
import { json } from "../Settings.ts"

const file = Argument.String("file").pipe(Argument.withDescription("Rate plan, a JSON file"))

const check = Command.make("check", { file, json }, (settings) =>
  Effect.gen(function* () {
    const plan = yield* readJson(settings.file)
    const today = Timestamp.fromMillis(yield* Clock.currentTimeMillis).slice(0, 10)
    const faults = RatePlan.check(plan, { today })
    if (settings.json) yield* Console.log(JSON.stringify({ faults }))
    else yield* Effect.forEach([...faults.map(lineOf), ...summaryOf(plan).map(rowOf)], (line) => Console.log(line))
    if (faults.length > 0) return yield* new CommandFailed({ message: "The rate plan has faults." })
  })
).pipe(Command.withDescription("Check a rate plan: its shape, every table, every worked example"))

/** The largest file that is read. */
const max_bytes = 10_000_000

const readJson = Effect.fnUntraced(function* (path: string) {
  const files = yield* FileSystem.FileSystem
  const unreadable = () => new CommandFailed({ message: "<file> must be a file that can be read." })
  const { size } = yield* Effect.mapError(files.stat(path), unreadable)
  if (size > max_bytes) return yield* new CommandFailed({ message: "<file> must not be larger than 10 MB." })
  const text = yield* Effect.mapError(files.readFileString(path), unreadable)
  return yield* Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: (error) => new CommandFailed({ message: `<file> must be JSON${placeOf(error)}.` })
  })
})

/** Where a parser stopped. The rest of its message may repeat the file. */
const placeOf = (error: unknown): string => {
  const [, line, column] = (error instanceof Error && /line (\d+) column (\d+)/.exec(error.message)) || []
  return line === undefined ? "" : `: it has a mistake at line ${line}, column ${column}`
}

const lineOf = ({ message, path }: RatePlan.Fault): string => (path === "" ? message : `${path}: ${message}`)

/** A summary of a plan as rows; empty if the file is not a plan. */
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

/** `quotewire carriers`: checks carriers before they are served. */
export const carriers = Command.make("carriers").pipe(
  Command.withDescription("Check carriers before you serve them"),
  Command.withSubcommands([check])
)

import { Effect } from "effect"
import { Command } from "effect/cli"
import * as Database from "../service/Database.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { json } from "../settings/Settings.ts"
import { type DatabaseSettings, database } from "../settings/StorageSettings.ts"
import * as Output from "../terminal/Output.ts"

/** `quotewire migrate` updates the schema of a database, or of each cell, to what this program needs. */
export const migrate = Command.make("migrate", reportAllErrors({ ...database, json }), (settings) =>
  run(settings)
).pipe(Command.withDescription("Update the database schema"))

const lineOf = ({ cell, failure, ran }: Database.Migrated): string => {
  const done = failure ?? (ran.length === 0 ? "The schema is up to date." : `Ran ${ran.join(", ")}.`)
  return cell === null ? done : `${cell}  ${done}`
}

const run = Effect.fnUntraced(function* (settings: DatabaseSettings & { readonly json: boolean }) {
  const all = yield* Effect.flatMap(Database.addressOf(settings), Database.migrate)
  if (settings.json) {
    const cells = all.flatMap(({ cell, failure, ran }) => (cell === null ? [] : [{ cell, migrations: ran, failure }]))
    yield* Output.json({ migrations: all.flatMap(({ ran }) => ran), ...(cells.length > 0 && { cells }) })
  } else yield* Output.lines(all.map(lineOf))
  const failed = all.filter(({ failure }) => failure !== null).length
  if (failed > 0) {
    return yield* new CommandFailed({ message: `${failed} of ${all.length} cells could not be migrated.` })
  }
})

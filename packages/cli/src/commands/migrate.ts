import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { CommandFailed } from "../CommandErrors.ts"
import * as Database from "../Database.ts"
import { json } from "../Settings.ts"
import { type DatabaseSettings, database } from "../StorageSettings.ts"

/** `quotewire migrate` updates the schema of a database, or of each cell, to what this program needs. */
export const migrate = Command.make("migrate", { ...database, json }, (settings) => run(settings)).pipe(
  Command.withDescription("Update the database schema")
)

const lineOf = ({ cell, failure, ran }: Database.Migrated): string => {
  const done = failure ?? (ran.length === 0 ? "The schema is up to date." : `Ran ${ran.join(", ")}.`)
  return cell === null ? done : `${cell}  ${done}`
}

const run = Effect.fnUntraced(function* (settings: DatabaseSettings & { readonly json: boolean }) {
  const all = yield* Effect.flatMap(Database.addressOf(settings), Database.migrate)
  if (settings.json) {
    const cells = all.flatMap(({ cell, failure, ran }) => (cell === null ? [] : [{ cell, migrations: ran, failure }]))
    yield* Console.log(
      JSON.stringify({ migrations: all.flatMap(({ ran }) => ran), ...(cells.length > 0 && { cells }) })
    )
  } else for (const migrated of all) yield* Console.log(lineOf(migrated))
  const failed = all.filter(({ failure }) => failure !== null).length
  if (failed > 0) {
    return yield* new CommandFailed({ message: `${failed} of ${all.length} cells could not be migrated.` })
  }
})

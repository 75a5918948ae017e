import { Console, Effect, type Redacted } from "effect"
import { Command } from "effect/cli"
import * as Database from "../Database.ts"
import { json } from "../Settings.ts"
import { database_url } from "../StorageSettings.ts"

/** `quotewire migrate`: updates the schema of a database to what this program needs. */
export const migrate = Command.make("migrate", { database_url, json }, (settings) => run(settings)).pipe(
  Command.withDescription("Update the database schema")
)

const run = Effect.fnUntraced(function* (settings: {
  readonly database_url: Redacted.Redacted<string>
  readonly json: boolean
}) {
  const migrations = yield* Database.migrate(settings.database_url)
  if (settings.json) return yield* Console.log(JSON.stringify({ migrations }))
  yield* Console.log(migrations.length === 0 ? "The schema is up to date." : `Ran ${migrations.join(", ")}.`)
})

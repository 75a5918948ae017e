import type { PgStorage } from "@quotewire/storage-pg"
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import * as Database from "../service/Database.ts"
import { CommandFailed, WrongUsage } from "../settings/CommandErrors.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { json } from "../settings/Settings.ts"
import { type DatabaseSettings, database } from "../settings/StorageSettings.ts"
import * as Output from "../terminal/Output.ts"

const flags = {
  ...database,
  status: Flag.Boolean("status").pipe(
    Flag.withDescription("Only show which migrations the schema has, and which are pending"),
    Flag.withDefault(false)
  ),
  dry_run: Flag.Boolean("dry-run").pipe(
    Flag.withDescription("Run the pending migrations and roll them back, to check that they succeed"),
    Flag.withDefault(false)
  ),
  json
}

interface MigrateSettings extends DatabaseSettings {
  readonly status: boolean
  readonly dry_run: boolean
  readonly json: boolean
}

/** `quotewire migrate` updates the schema of a database, or of each cell, to what this program needs. */
export const migrate = Command.make("migrate", reportAllErrors(flags), (settings) => run(settings)).pipe(
  Command.withDescription("Update the database schema")
)

const run = Effect.fnUntraced(function* (settings: MigrateSettings) {
  if (settings.status && settings.dry_run) {
    return yield* new WrongUsage({ message: "Use either --status or --dry-run, not both." })
  }
  const address = yield* Database.addressOf(settings)
  return yield* settings.status ? showStatus(address, settings) : migrateAll(address, settings)
})

/** Formats a line for people. It begins with the cell's name if there are cells. */
const lineOf = (cell: string | null, text: string): string => (cell === null ? text : `${cell}  ${text}`)

/** Fails if migrating any cell failed. */
const unlessFailed = Effect.fnUntraced(function* (
  cells: ReadonlyArray<{ readonly failure: string | null }>,
  verb: string
) {
  const failed = cells.filter(({ failure }) => failure !== null).length
  if (failed > 0) {
    return yield* new CommandFailed({ message: `${failed} of ${cells.length} cells could not be ${verb}.` })
  }
})

const migrateAll = Effect.fnUntraced(function* (address: Database.Address, settings: MigrateSettings) {
  const { dry_run } = settings
  const migrated = yield* Database.migrate(address, { dry_run })
  const cells = migrated.flatMap(({ cell, failure, ran }) =>
    cell === null ? [] : [{ cell, migrations: ran, failure }]
  )
  const done = (migrations: ReadonlyArray<string>) =>
    migrations.length === 0 ? "The schema is up to date." : `${dry_run ? "Would run" : "Ran"} ${migrations.join(", ")}.`
  yield* Output.result(
    settings,
    {
      migrations: migrated.flatMap(({ ran }) => ran),
      ...(cells.length > 0 && { cells }),
      ...(dry_run && { dry_run })
    },
    migrated.map(({ cell, failure, ran }) => lineOf(cell, failure ?? done(ran)))
  )
  yield* unlessFailed(migrated, "migrated")
})

const showStatus = Effect.fnUntraced(function* (address: Database.Address, settings: MigrateSettings) {
  const schemas = yield* Database.schemas(address)
  const cells = schemas.flatMap(({ cell, failure, status }) => (cell === null ? [] : [{ cell, ...status, failure }]))
  yield* Output.result(
    settings,
    cells.length > 0 ? { cells } : schemas[0]?.status,
    schemas.map(({ cell, failure, status }) => lineOf(cell, failure ?? (status === null ? "" : describe(status))))
  )
  yield* unlessFailed(schemas, "read")
})

const describe = ({ excludes_older, found, known, pending, serves_from }: PgStorage.SchemaStatus): string => {
  if (serves_from > known)
    return `At migration ${found}, which needs a newer program: this program knows migrations up to ${known}.`
  if (found > known)
    return `At migration ${found}. This program knows migrations up to ${known}, and can use the schema.`
  if (found === known) return `Up to date, at migration ${found}.`
  const older = excludes_older
    ? "Running hosts stop being ready when these migrations run."
    : "Running hosts stay ready."
  return `At migration ${found} of ${known}. Pending: ${pending.join(", ")}.${found === 0 ? "" : ` ${older}`}`
}

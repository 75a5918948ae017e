import { Context } from "effect"
import { statements } from "../sql/files.ts"

/** A migration of the schema. A released migration is never edited; every later change is a new migration. */
export interface Migration {
  /** The number of the migration. Numbers count from 1, without gaps. */
  readonly number: number
  readonly name: string
  /**
   * The oldest program that can still run after this migration, identified by the number of the newest migration that
   * the program knows. A migration that only adds things names the previous program, so that hosts of the older release
   * keep working during a rollout.
   */
  readonly serves_from: number
  readonly statements: ReadonlyArray<string>
}

const first = [
  ...["tables", "lanes", "commit_parts", "commit", "claim_parts", "claim", "claim_ordered", "release_leases", "erase"],
  ...["tally", "settings"]
]

/** Every migration, in order. */
export const migrations: ReadonlyArray<Migration> = [
  { number: 1, name: "begin", serves_from: 1, statements: statements(...first.map((name) => `0001_begin/${name}.sql`)) }
]

/** The number of the newest migration that this program knows. */
export const known = migrations.length

/** The migrations that this program knows. Tests provide more migrations to simulate a newer release. */
export const KnownMigrations = Context.Reference<ReadonlyArray<Migration>>("@quotewire/storage-pg/KnownMigrations", {
  defaultValue: () => migrations
})

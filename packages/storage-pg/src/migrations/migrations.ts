import { statements } from "../sql/files.ts"

/** One step of the schema. A released step is never edited: a later change is a step of its own. */
export interface Migration {
  /** From 1, without gaps. */
  readonly number: number
  readonly name: string
  /**
   * The oldest program, by the newest migration that it knows, that can still serve after this step. A step that only adds
   * names the program before it: hosts of the older release go on while the newer one is rolled out.
   */
  readonly serves_from: number
  readonly statements: ReadonlyArray<string>
}

const begin = ["tables", "lanes", "commit_parts", "commit", "claim_parts", "claim", "erase", "tally"]

/** Every step, in order. */
export const migrations: ReadonlyArray<Migration> = [
  { number: 1, name: "begin", serves_from: 1, statements: statements(...begin.map((name) => `0001_begin/${name}.sql`)) }
]

/** The newest schema that this program knows. */
export const known = migrations.length

import { claim } from "./claim.ts"
import { commit } from "./commit.ts"
import { erase } from "./erase.ts"
import { lanes } from "./lanes.ts"
import { tables } from "./tables.ts"
import { tally } from "./tally.ts"

/** One step of the schema. Steps are never edited once they are released: a change is a step of its own. */
export interface Migration {
  /** From 1, without gaps. */
  readonly number: number
  readonly name: string
  /**
   * The oldest program, by the newest migration that it knows, which this step leaves at work. A step that only adds
   * names the program before it, so that hosts of the older release serve on while the newer is rolled out.
   */
  readonly serves_from: number
  readonly statements: ReadonlyArray<string>
}

/** Every step, in order. */
export const migrations: ReadonlyArray<Migration> = [
  {
    number: 1,
    name: "begin",
    serves_from: 1,
    statements: [...tables, ...lanes, ...commit, ...claim, ...erase, ...tally]
  }
]

/** The newest schema that this program knows, and the oldest that it can serve. */
export const known = migrations.length

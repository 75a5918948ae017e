import { Schema } from "effect"
import type { Line, RatedApplication } from "../lines/Line.ts"
import { AnyObject, Callable, checker } from "../wire/Argument.ts"
import type { Coverage } from "./Plan.ts"
import type { Risk, Variables } from "./Variable.ts"

/** The fields in a plan's `coverage` that only some lines have. */
export type CoverageSetting = Exclude<keyof Coverage, "offered">

/** How rate plans see a line's applications. */
export interface Rating {
  readonly line: Line
  /** The coverages that have a base rate. */
  readonly covers: ReadonlyArray<string>
  readonly variables: Variables
  readonly settings: ReadonlyArray<CoverageSetting>
  /** The application as rate plans see it; null if it is for another line. `today` is the date of the quote request. */
  readonly riskOf: (application: RatedApplication, coverage: Coverage, today: string) => Risk | null
}

/** The definition of a rating. `Facts` is the type of the line's complete facts. */
export interface Definition<Facts extends object> extends Omit<Rating, "line" | "riskOf" | "settings"> {
  readonly line: Line<string, Facts>
  /**
   * The fields that a plan's `coverage` may have. By default none may be set, because the fields that exist are about
   * standard lines.
   */
  readonly settings?: Rating["settings"]
  /**
   * Returns what rate plans see of an application: its state, its subjects with their coverages, and the variables'
   * values.
   */
  readonly riskOf: (facts: Facts, coverage: Coverage, today: string) => Risk
}

const checked = checker(
  "Rating.make",
  Schema.Struct({
    line: Schema.Struct({ name: Schema.String, factsOf: Callable }),
    covers: Schema.Array(Schema.String),
    variables: AnyObject,
    settings: Schema.optional(Schema.Array(Schema.String)),
    riskOf: Callable
  })
)

/** Makes a line's rating, which lets rate plans price the line. */
export const make = <Facts extends object>(definition: Definition<Facts>): Rating => {
  const { line, riskOf } = checked(definition)
  return {
    settings: [],
    ...definition,
    riskOf: (application, coverage, today) =>
      application.line === line.name ? riskOf(line.factsOf(application), coverage, today) : null
  }
}

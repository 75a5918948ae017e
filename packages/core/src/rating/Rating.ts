import { Schema } from "effect"
import type { Line, RatedApplication } from "../lines/Line.ts"
import { AnyObject, Callable, checker } from "../wire/Argument.ts"
import type { Coverage } from "./Plan.ts"
import type { Risk, Variables } from "./Variable.ts"

/** The members of a plan's `coverage` that only some lines have. */
export type CoverageSetting = Exclude<keyof Coverage, "offered">

/** How rate plans see applications for a line. */
export interface Rating {
  readonly line: Line
  /** The coverages that have a base rate. */
  readonly covers: ReadonlyArray<string>
  readonly variables: Variables
  readonly settings: ReadonlyArray<CoverageSetting>
  /** The application as rate plans see it; null if it is for another line. `today` is the day of the quote request. */
  readonly riskOf: (application: RatedApplication, coverage: Coverage, today: string) => Risk | null
}

/** The definition of a rating. `Facts` is the type of the line's complete facts. */
export interface Definition<Facts extends object> extends Omit<Rating, "line" | "riskOf" | "settings"> {
  readonly line: Line<string, Facts>
  /** The fields of a plan's `coverage` that it may use; none by default, because they are about standard lines. */
  readonly settings?: Rating["settings"]
  /**
   * What rate plans see of an application: its state, its subjects with their coverages, and the values of the
   * variables.
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

/** Makes the rating of a line, which lets rate plans price it. */
export const make = <Facts extends object>(definition: Definition<Facts>): Rating => {
  const { line, riskOf } = checked(definition)
  return {
    settings: [],
    ...definition,
    riskOf: (application, coverage, today) =>
      application.line === line.name ? riskOf(line.factsOf(application), coverage, today) : null
  }
}

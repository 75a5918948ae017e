import { Schema } from "effect"
import type { Line, RatedApplication } from "../lines/Line.ts"
import { AnyObject, Callable, checker } from "../wire/Argument.ts"
import type { Coverage } from "./PlanFormat.ts"
import type { Risk, Variables } from "./Variable.ts"

/** The fields in a plan's `coverage` that only some lines have. */
export type CoverageSetting = Exclude<keyof Coverage, "offered">

/** A line's rating: what rate plans for the line can refer to, and how an application becomes a risk. */
export interface Rating {
  readonly line: Line
  /** The coverages that have a base rate. */
  readonly covers: ReadonlyArray<string>
  readonly variables: Variables
  readonly settings: ReadonlyArray<CoverageSetting>
  /**
   * Turns an application into a risk; null if the application is for another line. `today` is the date of the quote
   * request.
   */
  readonly riskOf: (application: RatedApplication, coverage: Coverage, today: string) => Risk | null
}

/** The definition of a rating. `Facts` is the type of the line's complete facts. */
export interface Definition<Facts extends object> extends Omit<Rating, "line" | "riskOf" | "settings"> {
  readonly line: Line<string, Facts>
  /**
   * The fields that a plan's `coverage` may have. By default a plan may set no such field, because the existing fields
   * are for standard lines.
   */
  readonly settings?: Rating["settings"]
  /**
   * Turns an application's facts into a risk: its state, its subjects with their coverages, and the variables' values.
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

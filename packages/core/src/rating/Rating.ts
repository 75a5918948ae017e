import type { Line } from "../lines/Line.ts"
import type { Coverage } from "./Plan.ts"
import type { Risk, Variables } from "./Variable.ts"

/** The members of a plan's `coverage` that only some lines have. */
export type CoverageSetting = Exclude<keyof Coverage, "offered">

/** What the service knows of an application when it is rated. */
export interface RatedApplication<Facts = unknown> {
  readonly line: string
  /** The complete facts, with the assumed ones. */
  readonly facts: Facts
}

/** How applications of a line look to rate plans. */
export interface Rating {
  readonly line: Line
  /** The covers that have a base rate. */
  readonly covers: ReadonlyArray<string>
  readonly variables: Variables
  readonly settings: ReadonlyArray<CoverageSetting>
  /** The application as rate plans see it; null if it is of another line. `today` is the day of the quote request. */
  readonly riskOf: (application: RatedApplication, coverage: Coverage, today: string) => Risk | null
}

/** The definition of a rating. `Facts` are the complete facts of the line. */
export interface Definition<Facts> extends Omit<Rating, "riskOf"> {
  readonly riskOf: (facts: Facts, coverage: Coverage, today: string) => Risk
}

/** Makes the rating of a line. */
export const make = <Facts>(definition: Definition<Facts>): Rating => {
  // Whoever has an application of this line has read its facts with the line's schema.
  const isOfLine = (application: RatedApplication): application is RatedApplication<Facts> =>
    application.line === definition.line.name
  return {
    ...definition,
    riskOf: (application, coverage, today) =>
      isOfLine(application) ? definition.riskOf(application.facts, coverage, today) : null
  }
}

import { Function, Result, Schema } from "effect"
import { forLines } from "../lines/HostSchema.ts"
import { linesOf } from "../lines/Lines.ts"
import { AnyObject, checker } from "../wire/Argument.ts"
import type { BrokenRule } from "../wire/BrokenRule.ts"
import * as Input from "../wire/Input.ts"
import { checkExamples } from "./checkExamples.ts"
import { checkPlan } from "./checkPlan.ts"
import { PlanFaults } from "./PlanFaults.ts"
import { RatePlan } from "./PlanFormat.ts"
import type { Rating } from "./Rating.ts"
import { type Ratings, ratingsWith } from "./ratings.ts"

export {
  format,
  highestFactor as highest_factor,
  highestRate as highest_rate,
  RatePlan,
  type Table
} from "./PlanFormat.ts"

/**
 * A mistake in a rate plan: the path of the wrong member, and the rule that the member breaks. The path is empty if the
 * mistake is about the whole file.
 */
export type Fault = BrokenRule

/** Options for a check: the date, and the ratings of your own lines. */
export interface CheckOptions {
  /**
   * Today's date, `YYYY-MM-DD`. A `reviewed_on` after this date is a mistake. If omitted, any `reviewed_on` is
   * accepted.
   */
  readonly today?: string
  /** The ratings of your own lines. You need not list the ratings of the standard lines. */
  readonly ratings?: ReadonlyArray<Rating>
}

/** The schema of `CheckOptions`. */
export const Options = Schema.Struct({
  today: Schema.optional(Schema.String),
  ratings: Schema.optional(Schema.Array(AnyObject))
})

const checked = checker("RatePlan.check", Schema.Struct({ options: Options }))

/**
 * Reads and checks the parsed JSON of a rate plan.
 *
 * Fails with all mistakes by path, at most a hundred. Tables are checked only if the plan has the right shape. A plan
 * that passes gives a premium or a decline for every application in its states.
 */
export const read = (input: unknown, options: CheckOptions = {}): Result.Result<RatePlan, ReadonlyArray<Fault>> => {
  checked({ options })
  const faults = new PlanFaults()
  const knownRatings = ratingsWith(options.ratings ?? [])
  const decoded = decoderOf(knownRatings)(input)
  if (Result.isFailure(decoded)) {
    for (const field of decoded.failure.found) faults.addField("", field)
    return Result.fail(faults.all())
  }
  const plan = decoded.success
  const rating = knownRatings.get(plan.line)
  if (rating !== undefined) {
    const context = { plan, rating, faults }
    checkPlan(context, options.today)
    // If the plan has other mistakes, the examples would only repeat them.
    if (faults.all().length === 0) checkExamples(context)
  }
  const findings = faults.all()
  return findings.length === 0 ? Result.succeed(plan) : Result.fail(findings)
}

const decoderOf = Function.memoize((knownRatings: Ratings) =>
  Input.decoder(forLines(RatePlan, linesOf(Array.from(knownRatings.values(), ({ line }) => line))))
)

/**
 * Finds the mistakes in the parsed JSON of a rate plan, by path, at most a hundred. The list is empty if
 * `ratePlanCarrier` accepts the plan.
 */
export const check = (input: unknown, options: CheckOptions = {}): ReadonlyArray<Fault> =>
  Result.match(read(input, options), { onSuccess: () => [], onFailure: (faults) => faults })

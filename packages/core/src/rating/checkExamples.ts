import { Result } from "effect"
import type { Context } from "./checkTables.ts"
import { answerOf, riskOf } from "./PlanAnswer.ts"
import type { Example } from "./PlanFormat.ts"
import type { PremiumStep } from "./Premium.ts"
import type { Risk } from "./Variable.ts"

/** The maximum number of steps in a message. */
const maxStepsListed = 40

/** Checks that the plan prices each worked example exactly, or declines it as expected. */
export const checkExamples = (context: Context): void => {
  const { faults, plan } = context
  for (const [index, example] of plan.examples.entries()) checkExample(context, example, `examples.${index}`)
  faults.require(
    plan.examples.some(({ premium_cents }) => premium_cents !== undefined),
    "examples",
    "Must have an example with a premium_cents."
  )
}

const checkExample = (context: Context, example: Example, path: string): void => {
  const { faults, plan, rating } = context
  const { application, declined, on, premium_cents } = example
  const hasOneOutcome = (premium_cents === undefined) !== (declined === undefined)
  if (!faults.require(hasOneOutcome, path, "Must have either premium_cents or declined.")) return
  const ratingByLine = new Map([[rating.line.name, rating]])
  const read = rating.line.read(application, on)
  if (Result.isFailure(read)) {
    const { missing, wrong } = read.failure
    for (const field of [...wrong, ...missing]) faults.addField(`${path}.`, field)
    return
  }
  const complete = rating.line.complete(read.success.facts, on)
  const risk = complete === null ? null : riskOf(plan, complete, on, ratingByLine)
  if (risk === null) return
  checkCodes(context, risk, path)
  const steps: Array<PremiumStep> = []
  const answer = answerOf(plan, risk, on, { known: ratingByLine, note: (step, cents) => steps.push({ step, cents }) })
  if (answer.kind === "declined") {
    faults.require(answer.reason === declined, path, `The plan declines this example: ${answer.reason}.`)
    return
  }
  if (declined !== undefined) {
    faults.add(`${path}.declined`, `The plan gives a premium of ${answer.premium.cents}.`)
    return
  }
  checkSteps(context, example, steps, path)
  faults.require(
    answer.premium.cents === premium_cents,
    `${path}.premium_cents`,
    `The plan gives ${answer.premium.cents}, by these steps: ${listOf(steps)}.`
  )
}

/** Checks that an offer's coverages are among the line's codes. */
const checkCodes = ({ faults, rating }: Context, { subjects }: Risk, path: string): void => {
  const { coverage_codes } = rating.line.codes
  const listed = new Set(subjects.flatMap(({ coverages }) => coverages.map(({ code }) => code)))
  for (const code of listed) {
    const message = `The rating lists the coverage ${code}, but ${rating.line.name} has no such coverage code.`
    faults.require(coverage_codes.includes(code), path, message)
  }
}

/** Reports only the first step that differs, because later differences follow from that step. */
const checkSteps = ({ faults }: Context, example: Example, steps: ReadonlyArray<PremiumStep>, path: string): void => {
  const expected = example.steps ?? {}
  const different = steps.find(({ cents, step }) => Object.hasOwn(expected, step) && expected[step] !== cents)
  if (different !== undefined) {
    faults.add(`${path}.steps.${different.step}`, `The plan gives ${different.cents}.`)
  }
  for (const name of Object.keys(expected)) {
    if (steps.some(({ step }) => step === name)) continue
    faults.add(`${path}.steps.${name}`, `There is no such step. The steps are: ${listOf(steps)}.`)
  }
}

/**
 * The steps as a message lists them. If there are many, the list has only the last step of each coverage, and the sums.
 */
const listOf = (steps: ReadonlyArray<PremiumStep>): string => {
  const coverOf = ({ step }: PremiumStep): string | null =>
    step.split(".").length > 2 ? step.replace(/\.[^.]*$/, "") : null
  const isLast = (step: PremiumStep, index: number): boolean => {
    const cover = coverOf(step)
    const next = steps[index + 1]
    return cover === null || next === undefined || coverOf(next) !== cover
  }
  const shownSteps = steps.length <= maxStepsListed ? steps : steps.filter(isLast)
  const ending = shownSteps.length > maxStepsListed ? ` and ${shownSteps.length - maxStepsListed} more` : ""
  return `${shownSteps
    .slice(0, maxStepsListed)
    .map(({ cents, step }) => `${step} ${cents}`)
    .join(", ")}${ending}`
}

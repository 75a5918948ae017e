import { Predicate, Result, type Schema } from "effect"
import { type ApiError, invalidInput, needsInformation } from "../wire/ApiError.ts"
import { checker, type Finding } from "../wire/Input.ts"
import type { Assumption } from "./Assumption.ts"
import { type Draft, Problems, type Rules } from "./Rules.ts"
import type { StateCode } from "./State.ts"
import type { Subject } from "./Subject.ts"

/** The checked facts of one quote request, as the caller sent them. */
export interface Application {
  /** The name of the line. */
  readonly line: string
  readonly facts: object
}

/** An application with all assumed facts added, and what follows from its facts. */
export interface Assumed extends Application {
  /** The facts that were assumed, sorted by path. */
  readonly assumptions: ReadonlyArray<Assumption>
  /** The state of the garage, the home or the pet. */
  readonly state: StateCode
  /** The insured subjects, in the order of the facts. */
  readonly subjects: ReadonlyArray<Subject>
}

/** Why facts are refused: some are wrong, or some are missing. */
export type Refusal = ApiError<"invalid_input"> | ApiError<"needs_information">

const root = "application"

/**
 * Compiles the reader of a line's facts.
 *
 * Reports every problem, at its path from `application`. `today` is the workspace's day, `YYYY-MM-DD`.
 */
export const reader = <A extends object>(
  facts: Schema.Decoder<A & Draft<A>>,
  rules: Rules<A>
): ((input: unknown, today: string) => Result.Result<A, Problems>) => {
  const check = checker(facts, [root])
  // A value is a draft if its check finds only missing facts.
  const isDraft = (_checked: unknown, checked: ReturnType<typeof check>): _checked is Draft<A> =>
    Result.isSuccess(checked) || (checked.failure.more === 0 && checked.failure.found.every(({ missing }) => missing))
  return (input, today) => {
    const checked = check(input)
    if (Result.isSuccess(checked)) {
      const problems = new Problems()
      rules(checked.success, today, problems)
      return problems.isEmpty() ? Result.succeed(checked.success) : Result.fail(problems)
    }
    const { found, more } = checked.failure
    const problems = new Problems(errorsOf(found, false), errorsOf(found, true), more)
    const refused = new Set(problems.wrong.map((error) => error.path))
    if (isDraft(input, checked)) rules(input, today, problems)
    else if (more === 0 && !refused.has(root)) {
      const draft = without(input, root, refused)
      if (isDraft(draft, check(draft))) rules(draft, today, problems)
    }
    return Result.fail(problems)
  }
}

const errorsOf = (findings: ReadonlyArray<Finding>, missing: boolean) =>
  findings.filter((finding) => finding.missing === missing).map(({ error }) => error)

/** The refusal: for the wrong facts if there are any, otherwise for the missing ones. */
export const refusalOf = ({ wrong, missing, more }: Problems): Refusal =>
  wrong.length > 0 ? invalidInput({ found: wrong, more }) : needsInformation(missing)

/** A copy of a value without the members at these paths. A removed list item becomes an empty object, to keep the indexes. */
const without = (value: unknown, path: string, refused: ReadonlySet<string>): unknown => {
  if (Array.isArray(value)) {
    return value.map((item, i) => (refused.has(`${path}.${i}`) ? {} : without(item, `${path}.${i}`, refused)))
  }
  if (!Predicate.isReadonlyObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !refused.has(`${path}.${name}`))
      .map(([name, member]) => [name, without(member, `${path}.${name}`, refused)])
  )
}

/**
 * The needs of a carrier that an application does not meet, as paths with numbers: `application.vehicles.0.vin`.
 *
 * A need is a path below `application`, with `*` for every item of a list: `vehicles.*.vin`.
 */
export const missingOf = (application: Application, needs: ReadonlyArray<string>): ReadonlyArray<string> =>
  needs.flatMap((need) => absentAt(application.facts, need.split("."), root))

const absentAt = (value: unknown, [name, ...rest]: ReadonlyArray<string>, path: string): ReadonlyArray<string> => {
  if (name === undefined) return value === undefined ? [path] : []
  if (name === "*" && Array.isArray(value)) return value.flatMap((item, i) => absentAt(item, rest, `${path}.${i}`))
  const member = Predicate.hasProperty(value, name) ? value[name] : undefined
  return absentAt(member, rest, `${path}.${name}`)
}

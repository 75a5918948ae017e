import { Predicate, Result } from "effect"
import { type ApiError, invalidInput, needsInformation } from "../wire/ApiError.ts"
import { labels, schemaOf } from "./FactCatalog.ts"
import { personalAutoRules, petRules, type Rules, rentersRules } from "./factRules.ts"
import type { PersonalAutoApplication, PetApplication, RentersApplication, StateCode } from "./facts.types.ts"
import { type Checker, compile, noProblems, type Problems } from "./JsonSchemaCheck.ts"
import type { Line } from "./Line.ts"

export { neededFact, priceTierPaths, type RequiredFact, requiredFacts, requiring, schemaOf } from "./FactCatalog.ts"

export type { Problems } from "./JsonSchemaCheck.ts"

/** The facts of one quote request, as the caller sent them and as they have been found right. */
export type Application =
  | { readonly line: "personal_auto"; readonly facts: PersonalAutoApplication }
  | { readonly line: "renters"; readonly facts: RentersApplication }
  | { readonly line: "pet"; readonly facts: PetApplication }

/** Why facts are refused: something in them is wrong, or something is still missing. */
export type Refusal = ApiError<"invalid_input"> | ApiError<"needs_information">

/**
 * Reads the facts of a line.
 *
 * Every problem is reported at its path, from `application`. Wrong facts are answered first; only when all that was
 * sent is right are the missing facts listed. `today` is the workspace's day, `YYYY-MM-DD`.
 */
export const parse = (line: Line, input: unknown, today: string): Result.Result<Application, Refusal> =>
  Result.mapError(read(line, input, today), refusalOf)

/** Refuses facts: wrong ones, or where none is wrong the missing ones. */
export const refusalOf = ({ invalid, missing, more }: Problems): Refusal =>
  invalid.length > 0 ? invalidInput({ found: invalid, more }) : needsInformation(missing)

/** Reads the facts of a line as `parse` does, and fails with everything that is wrong or missing. */
export const read = (line: Line, input: unknown, today: string): Result.Result<Application, Problems> => {
  switch (line) {
    case "personal_auto":
      return Result.map(readPersonalAuto(input, today), (facts) => ({ line: "personal_auto", facts }))
    case "renters":
      return Result.map(readRenters(input, today), (facts) => ({ line: "renters", facts }))
    case "pet":
      return Result.map(readPet(input, today), (facts) => ({ line: "pet", facts }))
  }
}

const patterns = {
  "^[^0-9<>{}\\[\\]\\\\/]+$": "Must be a name without digits, brackets and slashes.",
  "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$": "Must be a day of the calendar, YYYY-MM-DD.",
  "^[0-9]{4}-(0[1-9]|1[0-2])$": "Must be a month, YYYY-MM.",
  "^\\+1[2-9][0-9]{9}$": "Must be a US phone number: +1 and ten digits.",
  "^[0-9]{5}(-[0-9]{4})?$": "Must be a ZIP code: five digits, or five, a hyphen and four.",
  "^[A-HJ-NPR-Z0-9]{17}$": "Must be a VIN: 17 digits and capital letters without I, O and Q."
}

const compileLine = <A>(line: Line): Checker<A> =>
  compile<A>(schemaOf(line), { root: "application", patterns, labels: labels[line] })

const reader =
  <A>(checker: Checker<A>, rules: Rules<A>) =>
  (input: unknown, today: string): Result.Result<A, Problems> => {
    const problems = noProblems()
    const whole = checker.isWhole(input, problems)
    const draft = whole ? input : checker.draftOf(input, problems)
    if (draft !== null) rules(draft, today, problems)
    const isRight = whole && problems.invalid.length === 0 && problems.missing.length === 0
    return isRight ? Result.succeed(input) : Result.fail(problems)
  }

const readPersonalAuto = reader(compileLine<PersonalAutoApplication>("personal_auto"), personalAutoRules)
const readRenters = reader(compileLine<RentersApplication>("renters"), rentersRules)
const readPet = reader(compileLine<PetApplication>("pet"), petRules)

const addressOf = (application: Application): { readonly state: StateCode; readonly zip: string } => {
  switch (application.line) {
    case "personal_auto":
      return application.facts.garaging_address
    case "renters":
      return application.facts.dwelling.address
    case "pet":
      return application.facts.residence
  }
}

/** The state in which the vehicle is kept, the home lies or the pet lives. */
export const stateOf = (application: Application): StateCode => addressOf(application).state

/**
 * Which of a carrier's needs are absent, from `application` and with numbers: `application.vehicles.0.vin`.
 *
 * A need is a path below `application`, in which `*` stands for every item of a list: `vehicles.*.vin`.
 */
export const missingOf = (application: Application, needs: ReadonlyArray<string>): ReadonlyArray<string> =>
  needs.flatMap((need) => absentAt(application.facts, need.split("."), "application"))

const absentAt = (value: unknown, [name, ...rest]: ReadonlyArray<string>, path: string): ReadonlyArray<string> => {
  if (name === undefined) return value === undefined ? [path] : []
  if (name === "*" && Array.isArray(value)) return value.flatMap((item, i) => absentAt(item, rest, `${path}.${i}`))
  const member = Predicate.hasProperty(value, name) ? value[name] : undefined
  return absentAt(member, rest, `${path}.${name}`)
}

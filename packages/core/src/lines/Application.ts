import { Predicate, Result, Schema } from "effect"
import { type ApiError, type FieldError, invalidInput, needsInformation } from "../wire/ApiError.ts"
import { checker, type Finding } from "../wire/Input.ts"
import type { StateCode } from "./State.ts"

/* An application: its facts as a caller sent them, what is wrong or missing, and what was assumed. */

/** An `A` in which any part may be missing. The parts that exist are valid. */
export type Draft<A> =
  A extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Draft<Item>>
    : A extends object
      ? { readonly [K in keyof A]?: Draft<A[K]> }
      : A

/**
 * A line's rules that JSON Schema cannot express, such as consistency between facts, calendar rules and the law.
 *
 * The rules read drafts, so that one response reports their findings together with missing and malformed facts. `today`
 * is the date in the workspace, `YYYY-MM-DD`.
 */
export type Rules<A> = (draft: Draft<A>, today: string, problems: Problems) => void

/** Collects wrong and missing facts. All paths start with `application`. */
export class Problems {
  readonly wrong: Array<FieldError>
  readonly missing: Array<FieldError>
  /** The number of wrong fields in addition to the fields in `wrong`. */
  readonly more: number

  constructor(
    wrongFields: ReadonlyArray<FieldError> = [],
    missingFields: ReadonlyArray<FieldError> = [],
    moreCount = 0
  ) {
    this.wrong = [...wrongFields]
    this.missing = [...missingFields]
    this.more = moreCount
  }

  /** Whether there are no problems. */
  isEmpty(): boolean {
    return this.wrong.length + this.missing.length + this.more === 0
  }

  /** Adds a wrong fact. */
  refuse(path: string, message: string, allowed_values?: ReadonlyArray<string>): void {
    this.wrong.push(allowed_values === undefined ? { path, message } : { path, message, allowed_values })
  }

  /** Adds a missing fact, unless it is already listed. */
  require(path: string, message: string, allowed_values: ReadonlyArray<string>): void {
    if (!this.missing.some((error) => error.path === path)) this.missing.push({ path, message, allowed_values })
  }
}

/** The checked facts of one quote request, as the caller sent them. */
export interface Application<Facts extends object = object> {
  /** The line's name. */
  readonly line: string
  readonly facts: Facts
}

/** An application with its assumed facts filled in, and the values that are derived from the facts. */
export interface Assumed extends Application {
  /** The facts that were assumed, sorted by path. */
  readonly assumptions: ReadonlyArray<Assumption>
  /** The state in which the car is garaged, or in which the home or the pet is. */
  readonly state: StateCode
  /** The insured subjects, in the order in which the facts list them. */
  readonly subjects: ReadonlyArray<Subject>
}

/** Why an application is refused: facts are wrong, or facts are missing. */
export type Refusal = ApiError<"invalid_input"> | ApiError<"needs_information">

const root = "application"

/**
 * Compiles a function that reads an application for a line.
 *
 * It reports every problem, with paths that start with `application`. `today` is the date in the workspace,
 * `YYYY-MM-DD`.
 */
export const reader = <A extends object>(
  line: string,
  facts: Schema.Decoder<A & Draft<A>>,
  rules: Rules<A>
): ((input: unknown, today: string) => Result.Result<Application<A>, Problems>) => {
  const check = checker(facts, [root])
  // A value is a draft if a check finds only missing facts.
  const isDraft = (_checked: unknown, checked: ReturnType<typeof check>): _checked is Draft<A> =>
    Result.isSuccess(checked) || (checked.failure.more === 0 && checked.failure.found.every(({ missing }) => missing))
  return (input, today) => {
    const checked = check(input)
    if (Result.isSuccess(checked)) {
      const problems = new Problems()
      rules(checked.success, today, problems)
      return problems.isEmpty() ? Result.succeed({ line, facts: checked.success }) : Result.fail(problems)
    }
    const { found, more } = checked.failure
    const problems = new Problems(errorsOf(found, false), errorsOf(found, true), more)
    const refused = new Set(problems.wrong.map((error) => error.path))
    if (isDraft(input, checked)) rules(input, today, problems)
    else if (more === 0 && !refused.has(root)) {
      const draft = withoutRefused(input, root, refused)
      if (isDraft(draft, check(draft))) rules(draft, today, problems)
    }
    return Result.fail(problems)
  }
}

const errorsOf = (findings: ReadonlyArray<Finding>, isMissing: boolean) =>
  findings.filter((finding) => finding.missing === isMissing).map(({ error }) => error)

/**
 * Makes the error for an application. The error is about the wrong facts if there are any, and otherwise about the
 * missing facts.
 */
export const refusalOf = ({ wrong, missing, more }: Problems): Refusal =>
  wrong.length > 0 ? invalidInput({ found: wrong, more }) : needsInformation(missing)

/**
 * A copy of a value without the parts at these paths. A list item is replaced by an empty object, so that indexes do
 * not change.
 */
const withoutRefused = (value: unknown, path: string, refused: ReadonlySet<string>): unknown => {
  if (Array.isArray(value)) {
    return value.map((item, i) => (refused.has(`${path}.${i}`) ? {} : withoutRefused(item, `${path}.${i}`, refused)))
  }
  if (!Predicate.isReadonlyObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !refused.has(`${path}.${name}`))
      .map(([name, member]) => [name, withoutRefused(member, `${path}.${name}`, refused)])
  )
}

/**
 * The facts that a carrier needs and an application lacks, as paths with indexes such as `application.vehicles.0.vin`.
 *
 * A need is a path below `application`, such as `vehicles.*.vin`, in which `*` stands for every item of a list.
 */
export const missingOf = (application: Application, needs: ReadonlyArray<string>): ReadonlyArray<string> =>
  needs.flatMap((requirement) => absentAt(application.facts, requirement.split("."), root))

const absentAt = (value: unknown, [name, ...rest]: ReadonlyArray<string>, path: string): ReadonlyArray<string> => {
  if (name === undefined) return value === undefined ? [path] : []
  if (name === "*" && Array.isArray(value)) return value.flatMap((item, i) => absentAt(item, rest, `${path}.${i}`))
  const member = Predicate.hasProperty(value, name) ? value[name] : undefined
  return absentAt(member, rest, `${path}.${name}`)
}

/**
 * The facts that a carrier may see: all facts except optional ones that identify a person (name, street, e-mail,
 * phone). A carrier gets these only if its adapter declared them (`needs`, `wants`).
 */
export const disclosed = (
  { identifying_paths }: { readonly identifying_paths: ReadonlyArray<string> },
  { facts: allFacts }: Application,
  declared: ReadonlyArray<string>
): object => {
  const facts = structuredClone(allFacts)
  for (const path of identifying_paths) if (!declared.includes(path)) remove(facts, path.split("."))
  return facts
}

const remove = (value: unknown, [name, ...rest]: ReadonlyArray<string>): void => {
  if (name === undefined || !Predicate.isObjectOrArray(value)) return
  if (name === "*" && Array.isArray(value)) for (const item of value) remove(item, rest)
  else if (rest.length === 0) Reflect.deleteProperty(value, name)
  else remove(Reflect.get(value, name), rest)
}

/** A scalar that JSON can hold. */
export const Scalar = Schema.NullOr(Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]))
export type Scalar = typeof Scalar.Type

/** A fact that the caller did not send, and the value that was assumed for the fact. */
export const Assumption = Schema.Struct({
  path: Schema.String.annotateKey({ description: "The path of the fact, such as `application.billing_preference`" }),
  value: Scalar.annotateKey({ description: "The value that was assumed" }),
  source: Schema.String.annotateKey({ description: "Where the value comes from" }),
  label: Schema.optionalKey(Schema.String).annotateKey({ description: "The assumption as text for a person" })
}).annotate({ identifier: "Assumption" })
export type Assumption = typeof Assumption.Type

/** `T` with these members required. */
export type WithRequired<T, K extends keyof T> = T & { readonly [P in K]-?: Exclude<T[P], undefined> }

/** Collects the assumptions that are made while facts are completed. Pass paths relative to `application`. */
export class Assumptions {
  readonly #made: Array<Assumption> = []

  /** Returns a fact as sent. If it was not sent, records an assumption and returns the assumed value. */
  fill<A extends Scalar>(fact: A | undefined, path: string, value: A, label: string, source = "service_default"): A {
    if (fact !== undefined) return fact
    this.record(path, value, label, source)
    return value
  }

  /** Records an assumed value. */
  record(path: string, value: Scalar, label: string, source = "service_default"): void {
    this.#made.push({ path: `application.${path}`, value, source, label })
  }

  /** The assumptions, sorted by path. */
  sorted(): ReadonlyArray<Assumption> {
    return this.#made.sort((a, b) => (a.path < b.path ? -1 : 1))
  }
}

/** An insured subject: a vehicle, a rented home or a pet. */
export interface Subject {
  /**
   * The subject's ID: `vehicle-1` is `application.vehicles.0`, `pet-2` is `application.pets.1`, and `dwelling-1` is
   * `application.dwelling`.
   */
  readonly subject_id: string
  readonly kind: string
  /** A label for a person, without street or VIN; null if the facts are not sufficient for a label. */
  readonly label: string | null
}

/** Makes the subject of this kind at an index in its list, from 0. */
export const subject = (kind: string, index: number, label: string | null): Subject => ({
  subject_id: `${kind}-${index + 1}`,
  kind,
  label
})

import type { StateCode } from "../lines/State.ts"
import type { PlanFaults } from "./PlanFaults.ts"
import type { Condition, RatePlan, StateRule, Table } from "./PlanFormat.ts"
import type { Rating } from "./Rating.ts"
import { appliesIn, keyOf } from "./tableLookup.ts"
import type { Domain, Value, Variable, Variables } from "./Variable.ts"

/** The plan to check, its line's rating, and the collector of mistakes. */
export interface Context {
  readonly plan: RatePlan
  readonly rating: Rating
  readonly faults: PlanFaults
}

/** The object that a variable describes: the policy, a subject or a driver. */
export type Scope = keyof Variables

/** The maximum number of numbers that a table may list one by one. */
const maxListedNumbers = 200

/**
 * Finds the variable with this name. If the line does not have it, or it is not in one of these scopes, adds the
 * mistake and returns null.
 */
export const variableAt = (
  { faults, rating }: Context,
  name: string,
  path: string,
  scopes: ReadonlyArray<Scope>
): Variable | null => {
  for (const scope of ["policy", "subject", "driver"] as const) {
    const variables = rating.variables[scope]
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
    if (variable === undefined) continue
    if (scopes.includes(scope)) return variable
    faults.add(path, wrongScope[scope])
    return null
  }
  const names = scopes.flatMap((scope) => Object.keys(rating.variables[scope]))
  faults.add(path, `Must be one of the ${rating.line.name} variables: ${names.join(", ")}.`)
  return null
}

const wrongScope: { readonly [S in Scope]: string } = {
  policy: "Must not be a variable about the whole policy.",
  subject: "Must not be a variable about a single subject.",
  driver: "Must be inside mean_of_drivers, because the variable is about a driver."
}

/** The states in which a part of a plan applies. */
export const statesOf = (plan: RatePlan, stateRule: StateRule): ReadonlyArray<StateCode> =>
  plan.states.filter((state) => appliesIn(stateRule, state))

/**
 * The values that a variable can have in these states, limited to values that the plan offers; null if the values
 * cannot be listed.
 */
const needed = (plan: RatePlan, name: string, domain: Domain, states: ReadonlyArray<StateCode>) => {
  if (domain.kind !== "values") return null
  const offered = plan.coverage?.offered?.[name]?.map(keyOf)
  return (domain.inStates?.(states) ?? domain.all).filter((value) => offered?.includes(keyOf(value)) ?? true)
}

/** The variable by which a table selects a value. */
interface Selector {
  readonly name: string
  readonly domain: Domain
  /** The values that the variable can have; null if the values cannot be listed. */
  readonly listed: ReadonlyArray<Value> | null
}

/** Checks that a table's variable exists, and that the table has exactly one value for each value that can occur. */
export const checkTable = (
  context: Context,
  table: Table,
  path: string,
  reach: { readonly scopes: ReadonlyArray<Scope>; readonly states: ReadonlyArray<StateCode> }
): Variable | null => {
  const { faults, plan } = context
  if (table.by === undefined) {
    faults.add(path, "Must name the variable that selects the value: set `by`.")
    return null
  }
  const variable = variableAt(context, table.by, `${path}.by`, reach.scopes)
  if (variable === null) return null
  const { domain } = variable
  const kinds = (["values", "bands", "points"] as const).filter((kind) => table[kind] !== undefined)
  if (!faults.require(kinds.length === 1, path, "Must have exactly one of values, bands and points.")) return null
  const selector: Selector = { name: table.by, domain, listed: needed(plan, table.by, domain, reach.states) }
  if (table.values !== undefined) checkValues(context, table.values, selector, `${path}.values`)
  else checkRanges(context, table, selector, path)
  checkRest(context, table, variable, path)
  return variable
}

const checkRest = ({ faults }: Context, table: Table, { domain, may_be_unknown }: Variable, path: string): void => {
  if (domain.kind === "text") faults.require(table.otherwise !== undefined, `${path}.otherwise`, "Is missing.")
  else
    faults.require(
      table.otherwise === undefined,
      `${path}.otherwise`,
      "Must be absent, because only ZIP codes can have it: list every value."
    )
  if (may_be_unknown)
    faults.require(table.unknown !== undefined, `${path}.unknown`, "Is required, because the fact can be unknown.")
  else faults.require(table.unknown === undefined, `${path}.unknown`, "Must be absent: the fact is always known.")
}

/** The rule that a value breaks; null if the value is in the domain. */
const misfit = (name: string, domain: Domain, value: Value): string | null => {
  if (domain.kind === "text") return domain.form.test(keyOf(value)) ? null : `Must be ${domain.expected}.`
  if (domain.kind === "number") {
    const { maximum, minimum } = domain
    const number = Number(value)
    return Number.isSafeInteger(number) && keyOf(number) === keyOf(value) && number >= minimum && number <= maximum
      ? null
      : `Must be a whole number from ${minimum} to ${maximum}, as ${name} is.`
  }
  return domain.all.some((candidate) => keyOf(candidate) === keyOf(value))
    ? null
    : `Must be a value of ${name}: ${domain.all.map(keyOf).join(", ")}.`
}

const checkValues = (
  { faults }: Context,
  values: NonNullable<Table["values"]>,
  { domain, listed, name }: Selector,
  path: string
): void => {
  for (const key of Object.keys(values)) {
    const message = misfit(name, domain, key)
    if (message !== null) faults.add(`${path}.${key}`, message)
  }
  for (const value of listed ?? numbersOf(domain)) {
    faults.require(Object.hasOwn(values, keyOf(value)), `${path}.${keyOf(value)}`, "Is missing.")
  }
  if (domain.kind === "number" && domain.maximum - domain.minimum > maxListedNumbers) {
    faults.add(
      path,
      `Must use bands or points, not values: ${name} can be any number from ${domain.minimum} to ${domain.maximum}.`
    )
  }
}

const numbersOf = (domain: Domain): ReadonlyArray<number> =>
  domain.kind === "number" && domain.maximum - domain.minimum <= maxListedNumbers
    ? Array.from({ length: domain.maximum - domain.minimum + 1 }, (_, index) => domain.minimum + index)
    : []

const checkRanges = ({ faults }: Context, table: Table, { domain, listed, name }: Selector, path: string): void => {
  const numbers = domain.kind === "number" ? [domain.minimum, domain.maximum] : (listed ?? [])
  const range = numbers.filter((value) => typeof value === "number")
  if (range.length < numbers.length || domain.kind === "text") {
    faults.add(path, `Must use values, not bands or points: ${name} is not a number.`)
  } else if (range.length > 0) {
    const needs: NumberRange = { lowest: Math.min(...range), highest: Math.max(...range) }
    if (table.bands !== undefined) checkBands(faults, table.bands, needs, `${path}.bands`)
    if (table.points !== undefined) checkPoints(faults, table.points, needs, `${path}.points`)
  }
}

/** The range of numbers that a table must cover. */
interface NumberRange {
  readonly lowest: number
  readonly highest: number
}

const checkBands = (
  faults: PlanFaults,
  bands: NonNullable<Table["bands"]>,
  { highest, lowest }: NumberRange,
  path: string
): void => {
  const gapMessage = (from: number, to: number) => `Has a gap: ${from === to ? from : `${from} to ${to}`} has no value.`
  for (const [index, { from, to }] of bands.entries()) {
    const at = `${path}.${index}`
    const previousBand = bands[index - 1]
    const end = previousBand === undefined ? Math.min(from, lowest) - 1 : (previousBand.to ?? Number.POSITIVE_INFINITY)
    if (previousBand === undefined && from > lowest) faults.add(`${at}.from`, gapMessage(lowest, from - 1))
    else if (from <= end) faults.add(`${at}.from`, "Overlaps the previous band.")
    else if (previousBand !== undefined && from > end + 1) faults.add(`${at}.from`, gapMessage(end + 1, from - 1))
    if (to !== undefined) faults.require(to >= from, `${at}.to`, "Must be at least `from`.")
  }
  const last = bands.at(-1)?.to
  if (last !== undefined && last < highest) faults.add(`${path}.${bands.length - 1}.to`, gapMessage(last + 1, highest))
}

const checkPoints = (
  faults: PlanFaults,
  points: NonNullable<Table["points"]>,
  { highest, lowest }: NumberRange,
  path: string
): void => {
  for (const [index, { at }] of points.entries()) {
    const previousPoint = points[index - 1]
    const place = `${path}.${index}.at`
    if (previousPoint !== undefined)
      faults.require(at > previousPoint.at, place, "Must be greater than the previous point.")
    faults.require(at >= lowest && at <= highest, place, `Must be from ${lowest} to ${highest}.`)
  }
}

/** Checks that the variables in conditions exist, and can have the values in the conditions. */
export const checkConditions = (context: Context, conditions: ReadonlyArray<Condition>, path: string): void => {
  for (const [index, condition] of conditions.entries()) {
    const { above, below, by, is } = condition
    const at = `${path}.${index}`
    const variable = variableAt(context, by, `${at}.by`, ["policy", "subject", "driver"])
    context.faults.require(
      is !== undefined || above !== undefined || below !== undefined,
      at,
      "Must have at least one of `is`, `above` and `below`."
    )
    if (variable === null) continue
    checkListed(context, { name: by, domain: variable.domain }, is ?? [], `${at}.is`)
    if ((above !== undefined || below !== undefined) && !isNumeric(variable.domain)) {
      context.faults.add(at, `Must use \`is\`, not \`above\` or \`below\`: ${by} is not a number.`)
    }
  }
}

const isNumeric = (domain: Domain): boolean =>
  domain.kind === "number" || (domain.kind === "values" && domain.all.every((value) => typeof value === "number"))

/** Checks that a variable can have each of these values. */
export const checkListed = (
  { faults }: Context,
  { domain, name }: { readonly name: string; readonly domain: Domain },
  values: ReadonlyArray<Value>,
  path: string
): void => {
  for (const [index, value] of values.entries()) {
    const message = misfit(name, domain, value)
    if (message !== null) faults.add(`${path}.${index}`, message)
  }
}

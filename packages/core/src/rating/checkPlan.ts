import { Result } from "effect"
import * as HttpAddress from "../wire/HttpAddress.ts"
import {
  type Context,
  checkConditions,
  checkListed,
  checkTable,
  type Scope,
  statesOf,
  variableAt
} from "./checkTables.ts"
import type { Factor, StateRule, TableFactor } from "./PlanFormat.ts"
import { offerRefPlace } from "./planOffer.ts"
import type { CoverageSetting } from "./Rating.ts"

/** Checks everything in a plan except its examples. */
export const checkPlan = (context: Context, today: string | undefined): void => {
  const { faults, plan } = context
  const { terms } = plan
  faults.require(today === undefined || plan.reviewed_on <= today, "reviewed_on", "Must not be in the future.")
  faults.require(new Set(plan.states).size === plan.states.length, "states", "Must not name a state twice.")
  faults.require(
    terms.first_start_days <= terms.last_start_days,
    "terms.last_start_days",
    "Must not be below first_start_days."
  )
  faults.require(
    plan.maximum_cents === undefined || plan.maximum_cents >= plan.minimum_cents,
    "maximum_cents",
    "Must not be below minimum_cents."
  )
  checkBases(context)
  checkFactors(context)
  checkAdditions(context)
  checkFees(context)
  checkRules(context)
  checkCoverage(context)
  checkHandoff(context)
}

const checkBases = (context: Context): void => {
  const { faults, plan, rating } = context
  for (const cover of rating.covers) {
    const path = `base_cents.${cover}`
    const base = plan.base_cents[cover]
    if (base === undefined) {
      faults.add(path, "Is missing.")
    } else if (base.cents === undefined) {
      const variable = checkTable(context, base, path, { scopes: ["policy", "subject"], states: plan.states })
      if (variable !== null) checkCover(context, variable.cover, [cover], path)
    } else {
      faults.require(base.by === undefined, path, "Must have either cents or a table.")
    }
  }
  checkCovers(context, Object.keys(plan.base_cents), (cover) => `base_cents.${cover}`)
}

const checkCovers = (
  { faults, rating }: Context,
  covers: ReadonlyArray<string>,
  path: (cover: string, index: number) => string
) => {
  for (const [index, cover] of covers.entries()) {
    faults.require(rating.covers.includes(cover), path(cover, index), `Must be one of ${rating.covers.join(", ")}.`)
  }
}

/**
 * Checks that a variable about one coverage is used only for that coverage. The variable's value is unknown if the
 * coverage is not bought.
 */
const checkCover = (
  { faults }: Context,
  cover: string | undefined,
  covers: ReadonlyArray<string> | undefined,
  path: string
): void => {
  if (cover === undefined || (covers?.length === 1 && covers[0] === cover)) return
  faults.add(path, `The variable is only about ${cover}: set covers to ["${cover}"].`)
}

const reserved = ["base", "total"]

const checkNames = ({ faults }: Context, entries: ReadonlyArray<{ readonly name: string }>, path: string): void => {
  const seenNames = new Set(reserved)
  for (const [index, { name }] of entries.entries()) {
    faults.require(
      !seenNames.has(name),
      `${path}.${index}.name`,
      "Must differ from all earlier names, and from base and total."
    )
    seenNames.add(name)
  }
}

const checkWhere = ({ faults, plan }: Context, stateRule: StateRule, path: string): void => {
  faults.require(statesOf(plan, stateRule).length > 0, path, "Applies in none of the plan's states.")
}

const checkFactors = (context: Context): void => {
  const { plan } = context
  checkNames(context, plan.factors, "factors")
  for (const [index, factor] of plan.factors.entries()) checkFactor(context, factor, `factors.${index}`)
}

const checkFactor = (context: Context, factor: Factor, path: string): void => {
  const { faults, plan, rating } = context
  const { covers, mean_of_drivers: mean } = factor
  checkCovers(context, covers ?? [], (_, index) => `${path}.covers.${index}`)
  if (mean === undefined) {
    checkTableFactor(context, factor, path, { scopes: ["policy", "subject"], covers })
    return
  }
  checkWhere(context, factor, path)
  faults.require(
    factor.factor === undefined && factor.by === undefined,
    path,
    "Must have exactly one of factor, by and mean_of_drivers."
  )
  if (Object.keys(rating.variables.driver).length === 0) {
    faults.add(`${path}.mean_of_drivers`, `Must be absent: ${plan.line} has no drivers.`)
    return
  }
  checkNames(context, mean.factors, `${path}.mean_of_drivers.factors`)
  for (const [index, meanFactor] of mean.factors.entries()) {
    checkTableFactor(context, meanFactor, `${path}.mean_of_drivers.factors.${index}`, {
      scopes: ["policy", "driver"]
    })
  }
}

const checkTableFactor = (
  context: Context,
  factor: TableFactor,
  path: string,
  { covers, scopes }: { readonly scopes: ReadonlyArray<Scope>; readonly covers?: ReadonlyArray<string> | undefined }
): void => {
  checkWhere(context, factor, path)
  if (factor.factor !== undefined) {
    context.faults.require(factor.by === undefined, path, "Must have either factor or a table.")
    return
  }
  const variable = checkTable(context, factor, path, { scopes, states: statesOf(context.plan, factor) })
  if (variable !== null) checkCover(context, variable.cover, covers, path)
}

const checkAdditions = (context: Context): void => {
  const { plan } = context
  const additions = plan.additions_cents ?? []
  checkNames(context, additions, "additions_cents")
  for (const [index, addition] of additions.entries()) {
    const path = `additions_cents.${index}`
    checkWhere(context, addition, path)
    checkTable(context, addition, path, { scopes: ["policy", "subject"], states: statesOf(plan, addition) })
  }
}

const checkFees = (context: Context): void => {
  const { faults, plan, rating } = context
  const codes = rating.line.codes.fee_codes
  for (const [index, fee] of (plan.fees ?? []).entries()) {
    const path = `fees.${index}`
    faults.require(codes.includes(fee.code), `${path}.code`, `Must be one of ${codes.join(", ")}.`)
    checkWhere(context, fee, path)
    checkConditions(context, fee.when ?? [], `${path}.when`)
    if (fee.times === undefined) continue
    const counted = variableAt(context, fee.times, `${path}.times`, ["policy"])
    if (counted !== null) faults.require(counted.domain.kind === "number", `${path}.times`, "Must be a number.")
  }
}

const checkRules = (context: Context): void => {
  const { faults, plan } = context
  for (const [index, rule] of plan.underwriting.entries()) {
    const path = `underwriting.${index}`
    checkWhere(context, rule, path)
    checkConditions(context, rule.when ?? [], `${path}.when`)
    faults.require(
      rule.from === undefined || rule.until === undefined || rule.from <= rule.until,
      `${path}.until`,
      "Must not be before from."
    )
  }
}

const settings: ReadonlyArray<CoverageSetting> = [
  "loss_of_use_percent",
  "accident_only_from_age",
  "accident_waiting_days",
  "illness_waiting_days"
]

const checkCoverage = (context: Context): void => {
  const { faults, plan, rating } = context
  const { coverage } = plan
  for (const setting of settings) {
    faults.require(
      coverage?.[setting] === undefined || rating.settings.includes(setting),
      `coverage.${setting}`,
      `Must be absent: this setting does not apply to ${plan.line}.`
    )
  }
  for (const [name, values] of Object.entries(coverage?.offered ?? {})) {
    const path = `coverage.offered.${name}`
    const variable = variableAt(context, name, path, ["policy", "subject", "driver"])
    if (variable === null) continue
    if (variable.domain.kind !== "values" || name === "state") {
      faults.add(path, "Must not be restricted here: restrict it in underwriting or states.")
    } else checkListed(context, { name, domain: variable.domain }, values, path)
  }
}

const checkHandoff = ({ faults, plan }: Context): void => {
  if (plan.handoff === undefined) return
  const { hosts, url } = plan.handoff
  const read = HttpAddress.read(url.replaceAll(offerRefPlace, "1"))
  faults.require(
    Result.isSuccess(read) && read.success.protocol === "https:" && hosts.includes(read.success.hostname),
    "handoff.url",
    `Must be an https URL on one of the hosts, with no placeholder other than ${offerRefPlace}.`
  )
}

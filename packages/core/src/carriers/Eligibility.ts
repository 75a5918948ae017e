import type { Environment } from "../access/Caller.ts"
import { type Assumed, missingOf } from "../lines/Application.ts"
import * as State from "../lines/State.ts"
import type { CarrierAdapter, CarrierLine, NotAskedReason } from "./Carrier.ts"
import type { ScenarioName } from "./Scenario.ts"
import type { ScenarioRole } from "./script.ts"

/** A carrier that offers a line, and its terms for that line. */
export interface Candidate {
  readonly adapter: CarrierAdapter
  readonly line: CarrierLine
  /** The role that a host's own carrier plays in the scenario; absent if it plays no role. */
  readonly role?: ScenarioRole
}

/** The carriers of an environment that offer a line, fastest first. */
export const candidates = (
  adapters: ReadonlyArray<CarrierAdapter>,
  environment: Environment,
  line: string
): ReadonlyArray<Candidate> =>
  adapters
    .flatMap((adapter) => {
      // Only the adapter's own properties count: a host may name a line `constructor`, which every object inherits.
      const carrierLine = Object.hasOwn(adapter.lines, line) ? adapter.lines[line] : undefined
      return carrierLine !== undefined && adapter.environments.includes(environment)
        ? [{ adapter, line: carrierLine }]
        : []
    })
    .toSorted((a, b) => a.line.typical_ms - b.line.typical_ms)

/** The `candidates` of every line, in each environment. */
export type CandidatesByLine = { readonly [E in Environment]: ReadonlyMap<string, ReadonlyArray<Candidate>> }

/** Finds the `candidates` of every line and environment, once: a host's carriers do not change while it runs. */
export const candidatesOfAll = (adapters: ReadonlyArray<CarrierAdapter>): CandidatesByLine => {
  const lines = [...new Set(adapters.flatMap((adapter) => Object.keys(adapter.lines)))]
  const candidatesIn = (environment: Environment) =>
    new Map(lines.map((line) => [line, candidates(adapters, environment, line)]))
  return { sandbox: candidatesIn("sandbox"), live: candidatesIn("live") }
}

/**
 * The facts beyond the line's required facts that all of these carriers need. If one of these facts is missing, no
 * carrier can be asked.
 */
export const commonNeeds = ([first, ...others]: ReadonlyArray<Candidate>): ReadonlyArray<string> =>
  first === undefined
    ? []
    : first.line.needs.filter((requirement) => others.every(({ line }) => line.needs.includes(requirement)))

/** The `commonNeeds` of every line, in each environment. */
export type CommonNeeds = { readonly [E in Environment]: ReadonlyMap<string, ReadonlyArray<string>> }

/** Computes `commonNeeds` for every environment and line, once: a host's carriers do not change while it runs. */
export const needsOfAll = (adapters: ReadonlyArray<CarrierAdapter>, lines: Iterable<string>): CommonNeeds => {
  const names = [...lines]
  const needsIn = (environment: Environment) =>
    new Map(names.map((line) => [line, commonNeeds(candidates(adapters, environment, line))]))
  return { sandbox: needsIn("sandbox"), live: needsIn("live") }
}

/** Why a carrier is not asked, and which facts are missing. */
export interface NotAsked {
  readonly reason: NotAskedReason
  readonly missing_facts: ReadonlyArray<string>
}

/** Why a carrier is not asked; null if it is asked. */
export const reasonNotAsked = (
  candidate: Candidate,
  assumed: Assumed,
  options: {
    /** Whether the organization has set the values that the carrier asks for. */
    readonly appointed: boolean
    readonly scenario: ScenarioName | null
    readonly credit_disclosed: boolean
    readonly circuit_open: boolean
  }
): NotAsked | null => {
  const { adapter, line } = candidate
  const because = (reason: NotAskedReason, missing_facts: ReadonlyArray<string> = []): NotAsked => ({
    reason,
    missing_facts
  })
  // Checked first, because no fact or scenario can replace a connection.
  if (!options.appointed) return because("not_appointed")
  if (options.scenario !== null && adapter.simulation?.ignoresRules(options.scenario, assumed.line) === true) {
    return null
  }
  if (!line.states.includes(assumed.state)) return because("state_not_served")
  const missingFacts = missingOf(assumed, line.needs)
  if (missingFacts.length > 0) return because("facts_missing", missingFacts)
  if (line.uses_credit && !options.credit_disclosed && State.get(assumed.state).credit_use !== "prohibited") {
    return because("credit_disclosure_missing", ["credit_disclosure_receipt_id"])
  }
  return options.circuit_open ? because("circuit_open") : null
}

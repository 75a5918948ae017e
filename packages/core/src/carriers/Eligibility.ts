import type { Environment } from "../access/Caller.ts"
import type { Application } from "../lines/Application.ts"
import * as Applications from "../lines/Application.ts"
import type { Line } from "../lines/Line.ts"
import * as State from "../lines/State.ts"
import type { CarrierAdapter, CarrierLine, NotAskedReason } from "./Carrier.ts"
import type { ScenarioName } from "./Scenario.ts"

/** A carrier and what it offers for the line at hand. */
export interface Candidate {
  readonly adapter: CarrierAdapter
  readonly line: CarrierLine
}

/** The carriers of an environment that offer a line, fastest first. */
export const candidates = (
  adapters: ReadonlyArray<CarrierAdapter>,
  environment: Environment,
  line: Line
): ReadonlyArray<Candidate> =>
  adapters
    .flatMap((adapter) => {
      const offered = adapter.lines[line]
      return offered !== undefined && adapter.environments.includes(environment) ? [{ adapter, line: offered }] : []
    })
    .toSorted((a, b) => a.line.typical_ms - b.line.typical_ms)

/** The facts beyond the required ones that every one of these carriers needs: without them nobody can be asked. */
export const commonNeeds = ([first, ...others]: ReadonlyArray<Candidate>): ReadonlyArray<string> =>
  first === undefined ? [] : first.line.needs.filter((need) => others.every(({ line }) => line.needs.includes(need)))

/** `commonNeeds` of every environment and line. */
export type CommonNeeds = { readonly [E in Environment]: { readonly [L in Line]: ReadonlyArray<string> } }

/** Works out `commonNeeds` for every environment and line: the carriers of a host do not change while it runs. */
export const needsOfAll = (adapters: ReadonlyArray<CarrierAdapter>): CommonNeeds => {
  const needs = (environment: Environment, line: Line) => commonNeeds(candidates(adapters, environment, line))
  const ofLines = (environment: Environment) => ({
    personal_auto: needs(environment, "personal_auto"),
    renters: needs(environment, "renters"),
    pet: needs(environment, "pet")
  })
  return { sandbox: ofLines("sandbox"), live: ofLines("live") }
}

/** Why a carrier is not asked, and the facts that would unlock it. */
export interface Unasked {
  readonly reason: NotAskedReason
  readonly missing_facts: ReadonlyArray<string>
}

/** Decides whether a carrier is asked; null where it is. */
export const whyNot = (
  candidate: Candidate,
  application: Application,
  options: {
    readonly scenario: ScenarioName | null
    readonly credit_disclosed: boolean
    readonly circuit_open: boolean
  }
): Unasked | null => {
  const { adapter, line } = candidate
  const because = (reason: NotAskedReason, missing_facts: ReadonlyArray<string> = []): Unasked => ({
    reason,
    missing_facts
  })
  if (options.scenario !== null && adapter.simulation?.asksAnyway(options.scenario, application.line) === true) {
    return null
  }
  const state = Applications.stateOf(application)
  if (!line.states.includes(state)) return because("state_not_served")
  const missing_facts = Applications.missingOf(application, line.needs)
  if (missing_facts.length > 0) return because("facts_missing", missing_facts)
  if (line.uses_credit && !options.credit_disclosed && State.get(state).credit_use !== "prohibited") {
    return because("credit_disclosure_missing", ["credit_disclosure_receipt_id"])
  }
  return options.circuit_open ? because("circuit_open") : null
}

import { Effect } from "effect"
import { minuteMs, secondMs } from "../wire/Timestamp.ts"
import type { CarrierAdapter, CarrierAsk, CarrierOffer, CarrierReply } from "./Carrier.ts"
import { type Candidate, candidates } from "./Eligibility.ts"
import * as Scenario from "./Scenario.ts"
import { scenarioOffer } from "./scenarioOffer.ts"
import { type Act, changeOf, type ScenarioRole, type Script, scriptOf, startMs } from "./script.ts"

/*
 * How a host's own carriers play a sandbox's scenarios. If a scenario says that a carrier makes no offer, a stand-in
 * answers on the workspace's clock, and the carrier is not called. Otherwise the carrier is asked in real time, and the
 * scenario changes its offers.
 */

const isOwn = ({ adapter }: Candidate): boolean => adapter.simulation === undefined

/**
 * How many fictional carriers come before a host's own carriers in a line's order. One more fictional carrier comes
 * after them.
 */
const leadingCarriers = 3

/** The latest time at which a stand-in answers, in milliseconds. It is before the deadline. */
const maxLatencyMs = 20 * secondMs

/** The role that the host's own carrier at `index` plays in the scenarios of a line. */
const roleOf = (line: string, ownCandidates: ReadonlyArray<Candidate>, count: number, index: number): ScenarioRole => {
  const isAlone = ownCandidates.length === count
  const typicalMs = ownCandidates[index]?.line.typical_ms ?? 0
  return {
    line,
    position: isAlone ? index : leadingCarriers + index,
    count: isAlone ? ownCandidates.length : leadingCarriers + ownCandidates.length + 1,
    latency_ms: startMs + Math.min(maxLatencyMs, typicalMs)
  }
}

/** The sandbox carriers that offer a line, fastest first, as they play a scenario. */
export const candidatesInScenario = (
  adapters: ReadonlyArray<CarrierAdapter>,
  line: string,
  scenario: Scenario.ScenarioName
): ReadonlyArray<Candidate> => {
  const allCandidates = candidates(adapters, "sandbox", line)
  const ownCandidates = allCandidates.filter(isOwn)
  return allCandidates.map((candidate) => {
    const index = ownCandidates.indexOf(candidate)
    if (index === -1) return candidate
    const role = roleOf(line, ownCandidates, allCandidates.length, index)
    const script = scriptOf(scenario, role)
    return script.act === "quote" ? { ...candidate, role } : standIn(candidate, script)
  })
}

/** Replaces a carrier's functions with functions that answer as the script says, without calling the carrier. */
const standIn = ({ adapter, line }: Candidate, script: Script): Candidate => {
  const { carrier, connection, environments, handoff_hosts, lines } = adapter
  const latencyMs = script.at_ms === null ? 0 : script.at_ms - startMs
  return {
    // Declare the stand-in idempotent, so that the service repeats a failed ask once. This is safe even if the real
    // carrier does not recognize repeated asks, because the real carrier is never called.
    line: { ...line, idempotent: true },
    adapter: {
      ...{ carrier, environments, handoff_hosts, lines },
      ...(connection !== undefined && { connection }),
      ask: (ask) => Effect.succeed(replyOf(script.act, ask)),
      simulation: {
        latency_ms: ({ attempt }) => (attempt > 1 ? 0 : latencyMs),
        ignoresRules: () => true,
        callback: () => Effect.die(new Error("A stand-in carrier sends no callbacks"))
      }
    }
  }
}

const retryAfterMs = 10 * secondMs

/** The reply for an act that makes no offer. For silence, the carrier accepts the ask but never answers it. */
const replyOf = (act: Act, { idempotency_key }: CarrierAsk): CarrierReply => {
  switch (act) {
    case "decline":
      return { kind: "declined", reason: "risk_outside_guidelines" }
    case "question":
      return { kind: "question", questions: [{ path: "application", label: "Are all facts still correct?" }] }
    case "error":
      return { kind: "unavailable", reason: "carrier_error", retry_after_ms: retryAfterMs }
    default:
      return { kind: "pending", ref: idempotency_key, poll_after_ms: null }
  }
}

/**
 * How long to delay an ask to a host's own carrier, in workspace time, so that the answer arrives when the scenario
 * says.
 */
export const delayOf = ({ line, role }: Candidate, scenario: Scenario.ScenarioName | null): number => {
  const atMs = role === undefined ? null : scriptOf(scenario, role).at_ms
  if (role === undefined || atMs === null || atMs <= role.latency_ms) return 0
  return Math.max(0, atMs - startMs - line.typical_ms)
}

/**
 * How a scenario changes the offers of a host's own carrier, and when, in milliseconds of workspace time; null if the
 * offers do not change.
 */
const changeFor = (role: ScenarioRole, { asked_at, scenario }: CarrierAsk) => {
  const change = changeOf(scenario, role)
  return change === null ? null : { kind: change.kind, at: asked_at - startMs + change.at_ms }
}

/** The scenario's change to the carrier's offers that is due now; null if no change is due. */
export const dueChange = ({ role }: Candidate, ask: CarrierAsk): "price_updated" | "withdrawn" | null => {
  const change = role === undefined ? null : changeFor(role, ask)
  return change !== null && ask.now >= change.at ? change.kind : null
}

/** The checked offer of a host's own carrier, made at `now`, with the scenario's changes. */
export const withScenarioChanges = (
  role: ScenarioRole,
  ask: CarrierAsk,
  offer: CarrierOffer,
  now: number
): CarrierOffer => {
  const change = changeFor(role, ask)
  const played = scenarioOffer(offer, ask.scenario, role, now)
  return change === null ? played : { ...played, refresh_after_ms: Math.max(minuteMs, change.at - now) }
}

/** Scenarios that need two carriers, because one carrier answers and another carrier does not. */
const twoCarrierScenarios: ReadonlyArray<Scenario.ScenarioName> = ["some_carriers_silent", "incomplete_no_quotes"]

/** The names of the scenarios that these carriers can play on a line. */
export const scenariosOf = (
  adapters: ReadonlyArray<CarrierAdapter>,
  line: string
): ReadonlyArray<Scenario.ScenarioName> => {
  const always = Scenario.namesOf(line)
  const offered = candidates(adapters, "sandbox", line)
  if (offered.length === 0) return always
  return Scenario.namesOf().filter((name) => {
    if (always.includes(name)) return true
    if (name === "credit_disclosure") return offered.some((candidate) => candidate.line.uses_credit)
    return offered.length > 1 || !twoCarrierScenarios.includes(name)
  })
}

/**
 * The scenario catalogue for these carriers and lines. It omits scenarios that cannot be played on any of the lines.
 */
export const catalogueOf = (
  adapters: ReadonlyArray<CarrierAdapter>,
  lines: Iterable<string>
): typeof Scenario.catalogue => {
  const playable = Array.from(lines, (line) => ({ line, names: scenariosOf(adapters, line) }))
  return {
    ...Scenario.catalogue,
    scenarios: Scenario.catalogue.scenarios.flatMap((scenario) => {
      const playing = playable.filter(({ names }) => names.some((name) => name === scenario.name))
      return playing.length === 0 ? [] : [{ ...scenario, lines: playing.map(({ line }) => line) }]
    })
  }
}

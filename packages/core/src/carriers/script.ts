import { minuteMs, secondMs } from "../wire/Timestamp.ts"
import type { ScenarioName } from "./Scenario.ts"

/*
 * What carriers do in each scenario. All times count from the scenario's beginning, one second before the carrier is
 * asked. A scenario begins when its request starts, unless the request waited in the queue.
 */

/** How long after a scenario's beginning the carriers are asked. */
export const startMs = secondMs

/** How a carrier behaves in one ask. With `rules`, its own underwriting rules decide. */
export type Act = "rules" | "quote" | "decline" | "question" | "error" | "silent"

/** A carrier's position among the carriers of a line. The position decides the carrier's role in a scenario. */
export interface ScenarioRole {
  /** The name of the line. */
  readonly line: string
  /** The carrier's rank by latency; 0 is the fastest. */
  readonly position: number
  /** How many carriers offer the line. */
  readonly count: number
  /** When the carrier usually answers, in milliseconds after the scenario begins. */
  readonly latency_ms: number
}

/** How a carrier behaves, and when it answers, in milliseconds after the scenario begins; null if it never answers. */
export interface Script {
  readonly act: Act
  readonly at_ms: number | null
}

const slowFirstMs = 25 * secondMs
const slowSpanMs = 33 * secondMs
const lateMs = 90 * secondMs

/** Spreads the carriers' answers evenly from 25 to 58 seconds, in whole seconds. */
const spreadAnswerMs = ({ position, count }: ScenarioRole): number => {
  const share = Math.floor((slowSpanMs * position) / Math.max(1, count - 1))
  return slowFirstMs + share - (share % secondMs)
}

// If more carriers than this offer the line, one carrier declines while another is silent.
const fewCarriers = 3

const silent: Script = { act: "silent", at_ms: null }

/** How a carrier behaves in a scenario. Without a scenario, its own rules decide. */
export const scriptOf = (scenario: ScenarioName | null, role: ScenarioRole): Script => {
  const isFirst = role.position === 0
  const isLast = role.position === role.count - 1
  const afterLatency = (act: Act): Script => ({ act, at_ms: role.latency_ms })
  switch (scenario) {
    case null:
      return afterLatency("rules")
    case "single_quote":
      return afterLatency(isFirst ? "quote" : "decline")
    case "zero_quotes":
      return afterLatency("decline")
    case "some_carriers_silent":
      if (isLast) return silent
      return afterLatency(role.count > fewCarriers && role.position === 2 ? "decline" : "quote")
    case "incomplete_no_quotes":
      return isFirst ? afterLatency("decline") : silent
    case "all_carriers_silent":
      return silent
    case "all_carriers_error":
      return afterLatency("error")
    case "slow_quotes":
      return { act: "quote", at_ms: spreadAnswerMs(role) }
    case "action_required":
      // If only one carrier offers the line, that carrier asks the question.
      return afterLatency(role.position === Math.min(1, role.count - 1) ? "question" : "quote")
    case "late_answer":
      return isLast ? { act: "quote", at_ms: lateMs } : afterLatency("quote")
    // The following scenarios take effect before carriers are asked, or change only the content of an offer.
    case "quotes_ready":
    case "cannot_start":
    case "waits_in_queue":
    case "price_update":
    case "quote_withdrawn":
    case "quote_expires_soon":
    case "expiry_unknown":
    case "price_unknown":
    case "unknown_values":
    case "needs_information":
    case "consent_refused":
    case "credit_disclosure":
    case "rate_limited":
    case "service_unavailable":
    case "internal_error":
      return afterLatency("quote")
  }
}

/**
 * How an offer changes after it was made, and when, in milliseconds after the scenario begins; null if the offer never
 * changes.
 */
export const changeOf = (
  scenario: ScenarioName | null,
  role: ScenarioRole
): { readonly kind: "price_updated" | "withdrawn"; readonly at_ms: number } | null => {
  const changesQuote = scenario === "price_update" || scenario === "quote_withdrawn"
  if (!changesQuote || role.position !== 0) return null
  return { kind: scenario === "price_update" ? "price_updated" : "withdrawn", at_ms: 10 * minuteMs }
}

/** The factor of a price update, in ten-thousandths: the price rises by 4.5%. */
export const priceUpdateFactor = 10_450

/** How long an offer stays valid in the `quote_expires_soon` scenario. */
export const expiresSoonMs = 2 * minuteMs

const longestPollMs = 10 * secondMs
const shortestPollMs = 2 * secondMs

/**
 * How long to wait before the next poll of an answer that is ready in `leftMs`, or never if `leftMs` is null.
 *
 * Waits are two to ten seconds, and the last wait ends when the answer is ready.
 */
export const pollAfter = (leftMs: number | null): number => {
  if (leftMs === null || leftMs >= longestPollMs + shortestPollMs) return longestPollMs
  if (leftMs > longestPollMs) return leftMs - shortestPollMs
  return Math.max(shortestPollMs, leftMs)
}

/** Whether carriers are asked in this scenario even if their own rules on states and credit exclude the risk. */
export const ignoresRules = (scenario: ScenarioName): boolean => scenario !== "credit_disclosure"

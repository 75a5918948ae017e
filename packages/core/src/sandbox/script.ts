import type { ScenarioName } from "../carriers/Scenario.ts"
import { minute_ms, second_ms } from "../wire/Timestamp.ts"

/*
 * What fictional carriers do in the named scenarios. All times count from the origin: one second before the carrier is
 * asked. That is the moment of the start, unless the request waited in the queue.
 */

/** How long after the origin carriers are asked. */
export const start_ms = second_ms

/** How a carrier behaves in one ask. `rules`: its underwriting rules decide. */
export type Act = "rules" | "quote" | "decline" | "question" | "error" | "silent"

/** A carrier's place among the carriers of a line. */
export interface Part {
  /** The name of the line. */
  readonly line: string
  /** Its rank by latency, from 0 for the fastest. */
  readonly position: number
  /** How many carriers the line has. */
  readonly count: number
  /** Its usual latency, from the origin. */
  readonly latency_ms: number
}

/** How a carrier behaves, and when it answers: milliseconds after the origin, null for never. */
export interface Script {
  readonly act: Act
  readonly at_ms: number | null
}

const slow_first_ms = 25 * second_ms
const slow_span_ms = 33 * second_ms
const late_ms = 90 * second_ms

/** Spreads the answers evenly from 25 to 58 seconds, on whole seconds. */
const slowly = ({ position, count }: Part): number => {
  const share = Math.floor((slow_span_ms * position) / Math.max(1, count - 1))
  return slow_first_ms + share - (share % second_ms)
}

// If a line has more carriers than this, one of them declines while another is silent.
const few_carriers = 3

const silent: Script = { act: "silent", at_ms: null }

/** How a carrier behaves in a scenario; without a scenario its own rules decide. */
export const scriptOf = (scenario: ScenarioName | null, part: Part): Script => {
  const is_first = part.position === 0
  const is_last = part.position === part.count - 1
  const at = (act: Act): Script => ({ act, at_ms: part.latency_ms })
  switch (scenario) {
    case null:
      return at("rules")
    case "single_quote":
      return at(is_first ? "quote" : "decline")
    case "zero_quotes":
      return at("decline")
    case "some_carriers_silent":
      if (is_last) return silent
      return at(part.count > few_carriers && part.position === 2 ? "decline" : "quote")
    case "incomplete_no_quotes":
      return is_first ? at("decline") : silent
    case "all_carriers_silent":
      return silent
    case "all_carriers_error":
      return at("error")
    case "slow_quotes":
      return { act: "quote", at_ms: slowly(part) }
    case "action_required":
      return at(part.position === 1 ? "question" : "quote")
    case "late_answer":
      return is_last ? { act: "quote", at_ms: late_ms } : at("quote")
    // These act before carriers are asked, or change the content of an offer.
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
      return at("quote")
  }
}

/** When an offer changes after it was made, from the origin; null if it never does. */
export const changeOf = (
  scenario: ScenarioName | null,
  part: Part
): { readonly kind: "price_updated" | "withdrawn"; readonly at_ms: number } | null => {
  const changes = scenario === "price_update" || scenario === "quote_withdrawn"
  if (!changes || part.position !== 0) return null
  return { kind: scenario === "price_update" ? "price_updated" : "withdrawn", at_ms: 10 * minute_ms }
}

/** The factor by which a price rises when it changes, in ten-thousandths: 4.5 %. */
export const price_update_factor = 10_450

/** How long an offer is valid in the scenario `quote_expires_soon`. */
export const expires_soon_ms = 2 * minute_ms

const longest_poll_ms = 10 * second_ms
const shortest_poll_ms = 2 * second_ms

/**
 * How long to wait before the next poll of an answer that is ready in `left_ms` (null: never).
 *
 * Waits are two to ten seconds, and the last one ends when the answer is ready.
 */
export const pollAfter = (left_ms: number | null): number => {
  if (left_ms === null || left_ms >= longest_poll_ms + shortest_poll_ms) return longest_poll_ms
  if (left_ms > longest_poll_ms) return left_ms - shortest_poll_ms
  return Math.max(shortest_poll_ms, left_ms)
}

/** Whether carriers are asked in this scenario even if their rules on states and credit say no. */
export const ignoresRules = (scenario: ScenarioName): boolean => scenario !== "credit_disclosure"

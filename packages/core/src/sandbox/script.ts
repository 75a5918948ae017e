import type { ScenarioName } from "../carriers/Scenario.ts"
import { minute_ms, second_ms } from "../wire/Timestamp.ts"

/*
 * What fictional carriers do in the named scenarios of the sandbox. All times are counted from the origin: one second
 * before the carrier was asked, which is the moment of the start unless the request has waited in the queue.
 */

/** Carriers are asked this long after the origin. */
export const start_ms = second_ms

/** What a carrier does once. `rules`: its own underwriting rules decide. */
export type Act = "rules" | "quote" | "decline" | "question" | "error" | "silent"

/** A carrier among those of a line. */
export interface Part {
  /** The name of the line. */
  readonly line: string
  /** Its place in the order of the carriers' latencies, from 0. */
  readonly position: number
  /** How many carriers the line has. */
  readonly count: number
  /** How long it usually takes, from the origin. */
  readonly latency_ms: number
}

/** What a carrier does and when: milliseconds after the origin, null where it never answers. */
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

// Where a line has more carriers than this, one of them declines when another is silent.
const few_carriers = 3

const silent: Script = { act: "silent", at_ms: null }

/** What a carrier does in a scenario; null stands for the natural rules. */
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
    // These play before carriers are asked, or change what is in an offer.
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

/** When an offer changes after it was made, from the origin; null where it stays as it is. */
export const changeOf = (
  scenario: ScenarioName | null,
  part: Part
): { readonly kind: "price_updated" | "withdrawn"; readonly at_ms: number } | null => {
  const changes = scenario === "price_update" || scenario === "quote_withdrawn"
  if (!changes || part.position !== 0) return null
  return { kind: scenario === "price_update" ? "price_updated" : "withdrawn", at_ms: 10 * minute_ms }
}

/** By how much a price goes up when it changes: 4.5 %. */
export const price_update_factor = 10_450

/** For how long an offer stands that expires soon. */
export const expires_soon_ms = 2 * minute_ms

const longest_poll_ms = 10 * second_ms
const shortest_poll_ms = 2 * second_ms

/**
 * How long to wait until the next poll of an answer that is ready in `left_ms`.
 *
 * Steps are between two and ten seconds, and the last one ends when the answer is ready; null: it never is.
 */
export const pollAfter = (left_ms: number | null): number => {
  if (left_ms === null || left_ms >= longest_poll_ms + shortest_poll_ms) return longest_poll_ms
  if (left_ms > longest_poll_ms) return left_ms - shortest_poll_ms
  return Math.max(shortest_poll_ms, left_ms)
}

/** Scenarios in which a carrier's own rules on states and credit still decide whether it is asked. */
export const asksAnyway = (scenario: ScenarioName): boolean => scenario !== "credit_disclosure"

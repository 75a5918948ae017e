import { Data, Effect, Result, Schema } from "effect"
import { Environment } from "../access/Caller.ts"
import type {
  CarrierAdapter,
  CarrierAsk,
  CarrierLine,
  CarrierName,
  CarrierRefresh,
  CarrierReply
} from "../carriers/Carrier.ts"
import { checker } from "../wire/Argument.ts"
import { ruleText } from "../wire/BrokenRule.ts"
import { dayOf } from "../wire/CalendarDay.ts"
import { secondMs } from "../wire/Timestamp.ts"
import { answerOf, riskOf } from "./PlanAnswer.ts"
import { offerOf } from "./planOffer.ts"
import { type CheckOptions, type Fault, Options, type RatePlan, read } from "./RatePlan.ts"
import { type Ratings, ratings, ratingsWith } from "./ratings.ts"

/** An invalid rate plan. The message lists all mistakes, one on each line; `faults` contains them as data. */
export class InvalidRatePlan extends Data.TaggedError("InvalidRatePlan")<{
  readonly message: string
  readonly faults: ReadonlyArray<Fault>
}> {
  readonly code = "invalid_rate_plan"
}

/** Options for `ratePlanCarrier`. */
export interface RatePlanCarrierOptions extends CheckOptions {
  /** The environments in which the carrier is asked; `["live"]` by default. */
  readonly environments?: ReadonlyArray<Environment>
}

const checked = checker(
  "ratePlanCarrier",
  Schema.Struct({
    options: Schema.Struct({ ...Options.fields, environments: Schema.optional(Schema.Array(Environment)) })
  })
)

/**
 * Makes a carrier from a rate plan, which is the parsed JSON of a file. If the carrier offers several lines, pass a
 * list of plans.
 *
 * The carrier answers immediately, without a call. It answers with the plan's price, or declines with the reason in the
 * first underwriting rule that applies. Throws an `InvalidRatePlan` with all mistakes if a plan does not pass
 * `RatePlan.check`.
 */
export const ratePlanCarrier = (plan: unknown, options: RatePlanCarrierOptions = {}): CarrierAdapter => {
  checked({ options })
  const plans = Array.isArray(plan)
    ? readAll(
        plan.map((one: unknown, index) => [`${index}.`, one]),
        options
      )
    : readAll([["", plan]], options)
  const [first] = plans
  if (first === undefined) throw invalid([{ path: "", message: "There must be at least one plan." }])
  const faults = plans.flatMap(({ carrier, line }, index) => [
    ...(carrier.id === first.carrier.id
      ? []
      : [{ path: `${index}.carrier.id`, message: "Must match the first plan." }]),
    ...(plans.findIndex((other) => other.line === line) === index
      ? []
      : [{ path: `${index}.line`, message: "Must differ from the lines of all earlier plans." }])
  ])
  if (faults.length > 0) throw invalid(faults)
  return carrierOf(first.carrier, plans, options.environments ?? ["live"], ratingsWith(options.ratings ?? []))
}

const invalid = (faults: ReadonlyArray<Fault>): InvalidRatePlan =>
  new InvalidRatePlan({
    message: ["The rate plan cannot be served.", ...faults.map((fault) => `- ${ruleText(fault)}`)].join("\n"),
    faults
  })

/** Reads plans, each with the prefix of its paths. Throws one error with the mistakes of all plans. */
const readAll = (
  plans: ReadonlyArray<readonly [prefix: string, plan: unknown]>,
  options: CheckOptions
): ReadonlyArray<RatePlan> => {
  const results = plans.map(([prefix, plan]) =>
    Result.mapError(read(plan, options), (ofPlan) =>
      ofPlan.map(({ message, path }) => ({ path: prefix + path, message }))
    )
  )
  const faults = results.flatMap((result) => (Result.isFailure(result) ? result.failure : []))
  if (faults.length > 0) throw invalid(faults)
  return results.flatMap((result) => (Result.isSuccess(result) ? [result.success] : []))
}

/** Makes a carrier that answers with these plans, one for each line. The plans must have been checked. */
export const carrierOf = (
  { id, name }: CarrierName,
  plans: ReadonlyArray<RatePlan>,
  environments: ReadonlyArray<Environment>,
  knownRatings: Ratings = ratings
): CarrierAdapter => {
  const byLine = new Map<string, RatePlan>(plans.map((plan) => [plan.line, plan]))
  const reply = (ask: CarrierAsk): CarrierReply => replyOf(byLine.get(ask.line), ask, knownRatings)
  return {
    carrier: { id, name, registry_ids: [id] },
    environments,
    lines: Object.fromEntries(plans.map((plan) => [plan.line, lineOf(plan)])),
    handoff_hosts: [...new Set(plans.flatMap(({ handoff }) => handoff?.hosts ?? []))],
    ask: (ask) => Effect.sync(() => reply(ask)),
    refresh: (ask, offerRef) =>
      Effect.sync((): CarrierRefresh => {
        const again = reply(ask)
        const [offer] = again.kind === "offers" ? again.offers : []
        return offer?.offer_ref === offerRef ? { kind: "offer", reason: "rechecked", offer } : { kind: "withdrawn" }
      })
  }
}

const lineOf = ({ states }: RatePlan): CarrierLine => ({
  states,
  needs: [],
  uses_credit: false,
  mode: "sync",
  idempotent: true,
  attempt_timeout_ms: 5 * secondMs,
  typical_ms: 1,
  hedge_after_ms: null,
  // No other system is called, so no system can be overloaded.
  rate_per_minute: 1_000_000,
  max_concurrent: 1_000
})

/** A plan's answer. It uses the date of the quote request, so that a refresh gives the same price. */
const replyOf = (plan: RatePlan | undefined, ask: CarrierAsk, knownRatings: Ratings): CarrierReply => {
  const today = dayOf(ask.requested_at)
  const risk = plan === undefined ? null : riskOf(plan, ask, today, knownRatings)
  if (plan === undefined || risk === null) return { kind: "unavailable", reason: "unreadable_answer" }
  const answer = answerOf(plan, risk, today, { known: knownRatings })
  return answer.kind === "declined" ? answer : { kind: "offers", offers: [offerOf(plan, answer, ask, ask.now)] }
}

import { Context, type Effect, Schema } from "effect"
import { Environment } from "../access/Caller.ts"
import { Assumption, Scalar } from "../lines/Assumption.ts"
import { Money } from "../wire/Money.ts"
import { Timestamp } from "../wire/Timestamp.ts"
import type { ScenarioName } from "./Scenario.ts"

/** Who a carrier is, as it is shown in quotes and carrier results. */
export const CarrierName = Schema.Struct({
  id: Schema.String.annotate({
    description: "`naic:` and five digits for a real carrier, `sbx_…` for a fictional one"
  }),
  name: Schema.String
}).annotate({ identifier: "Carrier" })
export type CarrierName = typeof CarrierName.Type

/** Why a carrier made no offer. */
export const declineReasons = [
  "state_not_served",
  "risk_outside_guidelines",
  "driving_record",
  "license_status",
  "vehicle_not_eligible",
  "vehicle_use_not_eligible",
  "property_not_eligible",
  "prior_claims",
  "lapse_in_coverage",
  "pet_age_limit",
  "breed_not_eligible",
  "start_date_out_of_range",
  "binding_moratorium",
  "already_customer",
  "carrier_notice"
] as const
export type DeclineReason = (typeof declineReasons)[number]

/** Why a carrier gave no answer. */
export const silenceReasons = ["timeout", "carrier_error", "rate_limited", "maintenance", "unreadable_answer"] as const
export type SilenceReason = (typeof silenceReasons)[number]

/** Why a carrier was not asked. */
export const notAskedReasons = [
  "facts_missing",
  "credit_disclosure_missing",
  "state_not_served",
  "product_closed",
  "circuit_open"
] as const
export type NotAskedReason = (typeof notAskedReasons)[number]

/** A cover of one subject. Null means unknown or not applicable, never zero. */
export const CoverageItem = Schema.Struct({
  code: Schema.String,
  limit: Schema.NullOr(Money),
  deductible: Schema.NullOr(Money),
  included: Schema.NullOr(Schema.Boolean)
}).annotate({ identifier: "CoverageItem" })
export type CoverageItem = typeof CoverageItem.Type

/** What is covered: `vehicle-1` is `application.vehicles.0`, `dwelling-1` the rented home. */
export const CoveredSubject = Schema.Struct({
  subject_id: Schema.String,
  kind: Schema.String,
  label: Schema.NullOr(Schema.String),
  coverages: Schema.Array(CoverageItem)
}).annotate({ identifier: "CoveredSubject" })
export type CoveredSubject = typeof CoveredSubject.Type

/** Something that can be done next. Readers ignore types that they do not know. */
export const NextAction = Schema.StructWithRest(Schema.Struct({ type: Schema.String }), [
  Schema.Record(Schema.String, Scalar)
]).annotate({ identifier: "NextAction" })
export type NextAction = typeof NextAction.Type

/**
 * One price offer, as a carrier's adapter gives it back.
 *
 * The engine checks it before it becomes a quote; an offer that does not pass counts as `unreadable_answer`.
 */
export const CarrierOffer = Schema.Struct({
  /** The carrier's own name of the offer: needed to refresh it and to hand the person over. */
  offer_ref: Schema.String,
  product: Schema.NullOr(Schema.String),
  premium: Schema.NullOr(Money),
  term_months: Schema.NullOr(Schema.Int),
  billing_cycle: Schema.NullOr(Schema.String),
  fees: Schema.Array(Schema.Struct({ code: Schema.String, amount: Money })),
  conditions: Schema.Array(Schema.String),
  subjects: Schema.Array(CoveredSubject),
  assumptions: Schema.Array(Assumption),
  expires_at: Schema.NullOr(Timestamp),
  /** What the price is worth, for a person. */
  evidence_label: Schema.String,
  /** Where the person can go on with this offer; null where only assistance helps. */
  handoff_url: Schema.NullOr(Schema.String),
  /** Next actions beyond those that the engine makes; passed through as they are. */
  extra_actions: Schema.optionalKey(Schema.Array(NextAction)),
  /** Quote reason other than `offered`. */
  reason: Schema.optionalKey(Schema.String),
  /** When the engine is to ask again for this offer, in milliseconds after the answer. */
  refresh_after_ms: Schema.optionalKey(Schema.Int)
})
export type CarrierOffer = typeof CarrierOffer.Type

/** What a carrier wants to know. Its words are stored and shown as they are: they must not repeat a fact. */
const Question = Schema.Struct({
  path: Schema.String,
  label: Schema.String,
  allowed_values: Schema.optionalKey(Schema.Array(Schema.String))
})

/**
 * What a carrier says to an ask or a poll, also as it travels in a message, such as a callback. Failures are values: an
 * adapter that dies counts as `carrier_error`, and the log says where it died.
 *
 * The schema says that a reply can be read, not that its offers are good: the engine checks offers of every carrier alike.
 */
export const CarrierReply = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("offers"), offers: Schema.Array(CarrierOffer) }),
  Schema.Struct({ kind: Schema.Literal("declined"), reason: Schema.Literals(declineReasons) }),
  /**
   * Accepted: the answer comes later. With `poll_after_ms` the engine polls; without it the carrier calls back.
   * `callback_after_ms` is for carriers that are simulated: the moment at which their side of the callback is played.
   */
  Schema.Struct({
    kind: Schema.Literal("pending"),
    ref: Schema.String,
    poll_after_ms: Schema.NullOr(Schema.Int),
    callback_after_ms: Schema.optionalKey(Schema.Int)
  }),
  Schema.Struct({ kind: Schema.Literal("question"), questions: Schema.Array(Question) }),
  Schema.Struct({
    kind: Schema.Literal("unavailable"),
    reason: Schema.Literals(silenceReasons),
    retry_after_ms: Schema.optionalKey(Schema.Int)
  })
])
export type CarrierReply = typeof CarrierReply.Type

/** What a carrier says when an offer is looked at again. */
export const CarrierRefresh = Schema.Union([
  Schema.Struct({
    kind: Schema.Literal("offer"),
    reason: Schema.Literals(["price_updated", "terms_updated", "rechecked"]),
    offer: CarrierOffer
  }),
  Schema.Struct({ kind: Schema.Literal("withdrawn") }),
  Schema.Struct({ kind: Schema.Literal("unavailable"), reason: Schema.Literals(silenceReasons) })
])
export type CarrierRefresh = typeof CarrierRefresh.Type

/** One question to one carrier. */
export interface CarrierAsk<Facts = unknown> {
  /** The name of the line. */
  readonly line: string
  readonly environment: Environment
  /** The facts that the adapter declared, assumed ones filled in. */
  readonly facts: Facts
  /** The facts that were assumed. */
  readonly assumptions: ReadonlyArray<Assumption>
  /** Whether the person has agreed to the use of credit information. */
  readonly credit_disclosed: boolean
  /** The same at every try of the same ask, so that a carrier can tell a repeat. */
  readonly idempotency_key: string
  /** 1 for the first try, 2 for the only repeat. */
  readonly attempt: number
  /** The named outcome to play (sandbox); null for the natural rules. */
  readonly scenario: ScenarioName | null
  /** When the quote request was accepted, when this carrier was first asked, and now: milliseconds of workspace time. */
  readonly requested_at: number
  readonly asked_at: number
  readonly now: number
  /** When the collection ends: an answer after it is discarded. */
  readonly deadline: number
}

/** A callback as it arrived: header names in lower case, the body's raw bytes. */
export interface CarrierCallback {
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: Uint8Array
}

/** What an adapter offers for one line. Times in milliseconds. */
export interface CarrierLine {
  /** USPS codes of the states served. */
  readonly states: ReadonlyArray<string>
  /** Fact paths this carrier needs beyond the required ones; without them it is not asked. */
  readonly needs: ReadonlyArray<string>
  readonly uses_credit: boolean
  readonly mode: "sync" | "poll" | "callback"
  /** May the same ask be sent twice? Only such carriers are ever hedged or asked again in doubt. */
  readonly idempotent: boolean
  readonly attempt_timeout_ms: number
  /** How long an answer usually takes; an attempt never starts when less than this is left. */
  readonly typical_ms: number
  /** The time within which 95 of 100 answers come, after which an idempotent ask is hedged; null: never. */
  readonly hedge_after_ms: number | null
  readonly rate_per_minute: number
  readonly max_concurrent: number
}

/** A carrier as the engine sees it. Fictional and real carriers implement the same contract. */
export interface CarrierAdapter {
  readonly carrier: CarrierName & { readonly registry_ids: ReadonlyArray<string> }
  readonly environments: ReadonlyArray<Environment>
  /** What it offers for each line, by name. */
  readonly lines: Readonly<Record<string, CarrierLine>>
  /** Hosts to which a person may be handed over. */
  readonly handoff_hosts: ReadonlyArray<string>
  readonly ask: (ask: CarrierAsk) => Effect.Effect<CarrierReply>
  readonly poll?: (ask: CarrierAsk, ref: string) => Effect.Effect<CarrierReply>
  /** Verifies a callback on its raw bytes; null where it is not genuine. */
  readonly callback?: (
    callback: CarrierCallback
  ) => Effect.Effect<{ readonly ref: string; readonly reply: CarrierReply } | null>
  readonly refresh?: (ask: CarrierAsk, offer_ref: string) => Effect.Effect<CarrierRefresh>
  /** Present on carriers that exist only in the sandbox. */
  readonly simulation?: CarrierSimulation
}

/** The part of a fictional carrier that stands for the world outside: how long it takes, and its side of a callback. */
export interface CarrierSimulation {
  /** How long this try takes until its answer, in milliseconds of workspace time. */
  readonly latency_ms: (ask: CarrierAsk) => number
  /** Whether the carrier is asked in this scenario whatever its own rules say. */
  readonly asksAnyway: (scenario: ScenarioName, line: string) => boolean
  /** The callback that the carrier would send for this ask. */
  readonly callback: (ask: CarrierAsk, ref: string) => Effect.Effect<CarrierCallback>
}

/** The environments in which one of these carriers at least can be asked. */
export const environmentsOf = (adapters: ReadonlyArray<CarrierAdapter>): ReadonlyArray<Environment> =>
  Environment.literals.filter((environment) => adapters.some((adapter) => adapter.environments.includes(environment)))

/** The carriers of a host. */
export class CarrierAdapters extends Context.Service<CarrierAdapters, ReadonlyArray<CarrierAdapter>>()(
  "@quotewire/core/CarrierAdapters"
) {}

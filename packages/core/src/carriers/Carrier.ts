import { Context, type Effect, Schema, Struct } from "effect"
import { Environment } from "../access/Caller.ts"
import { Assumption, Scalar } from "../lines/Application.ts"
import * as Input from "../wire/Input.ts"
import { Money } from "../wire/Money.ts"
import { Timestamp } from "../wire/Timestamp.ts"
import type { ScenarioName } from "./Scenario.ts"

/** The identity of a carrier, as shown in quotes and carrier results. */
export const CarrierName = Schema.Struct({
  id: Schema.String.annotate({
    description: "`naic:` and five digits for a real carrier, `sbx_…` for a fictional one"
  }),
  name: Schema.String.annotateKey({ description: "The name to show to a person" })
}).annotate({ identifier: "Carrier" })
export type CarrierName = typeof CarrierName.Type

/** The reasons why a carrier declines, and what they mean. */
export const declineMeanings = {
  state_not_served: "The carrier does not offer the line in the state",
  risk_outside_guidelines: "The risk does not fit the carrier's guidelines",
  driving_record: "A driver's accidents or violations",
  license_status: "The status of a driver's license",
  vehicle_not_eligible: "The carrier does not insure a vehicle like this",
  vehicle_use_not_eligible: "The carrier does not insure the way a vehicle is used",
  property_not_eligible: "The carrier does not insure a home like this",
  prior_claims: "Earlier claims",
  lapse_in_coverage: "A gap in earlier insurance",
  pet_age_limit: "The pet is too young or too old",
  breed_not_eligible: "The carrier does not insure the breed",
  start_date_out_of_range: "The policy would start too early or too late",
  binding_moratorium: "The carrier accepts no new policies in the area for now, for example because of a storm",
  already_customer: "The person is a customer of the carrier",
  carrier_notice: "Another reason; `message` has the carrier's words"
}
/** The reasons why a carrier declines. */
export const declineReasons = Struct.keys(declineMeanings)
export type DeclineReason = keyof typeof declineMeanings

/** The reasons why a carrier does not answer, and what they mean. */
export const noAnswerMeanings = {
  timeout: "The carrier did not answer in time",
  carrier_error: "The carrier's system failed",
  rate_limited: "The carrier limits how often it can be asked",
  maintenance: "The carrier's system is down for maintenance",
  unreadable_answer: "The carrier's answer could not be read"
}
/** The reasons why a carrier does not answer. */
export const noAnswerReasons = Struct.keys(noAnswerMeanings)
export type NoAnswerReason = keyof typeof noAnswerMeanings

/** The reasons why a carrier is not asked, and what they mean. */
export const notAskedMeanings = {
  facts_missing: "The carrier needs facts that were not sent",
  credit_disclosure_missing: "The carrier uses credit information, and the person has not read the disclosure",
  state_not_served: "The carrier does not offer the line in the state",
  product_closed: "The carrier does not take new business",
  circuit_open: "The carrier failed too often, and is not asked for a while",
  not_appointed: "The organization has no connection to the carrier"
}
/** The reasons why a carrier is not asked. */
export const notAskedReasons = Struct.keys(notAskedMeanings)
export type NotAskedReason = keyof typeof notAskedMeanings

/** One coverage for one subject. Null means unknown or not applicable, never zero. */
export const CoverageItem = Schema.Struct({
  code: Schema.String.annotateKey({ description: "The coverage: one of the line's `coverage_codes`" }),
  limit: Schema.NullOr(Money).annotateKey({
    description: "The most that the coverage pays; null if unknown or not applicable"
  }),
  deductible: Schema.NullOr(Money).annotateKey({
    description: "What the person pays first on a claim; null if unknown or not applicable"
  }),
  included: Schema.NullOr(Schema.Boolean).annotateKey({
    description: "Whether the coverage is part of the offer; null if the carrier has not said"
  })
}).annotate({ identifier: "CoverageItem" })
export type CoverageItem = typeof CoverageItem.Type

/** An insured subject, such as `vehicle-1` (`application.vehicles.0`) or `dwelling-1` (the rented home). */
export const CoveredSubject = Schema.Struct({
  subject_id: Schema.String.annotateKey({
    description: "The insured subject: `vehicle-1` is `application.vehicles.0`"
  }),
  kind: Schema.String.annotateKey({ description: "What it is: one of the line's `subject_kinds`" }),
  label: Schema.NullOr(Schema.String).annotateKey({ description: "The name to show to a person; null if it has none" }),
  coverages: Schema.Array(CoverageItem).annotateKey({ description: "Its coverages" })
}).annotate({ identifier: "CoveredSubject" })
export type CoveredSubject = typeof CoveredSubject.Type

/** Something that the person can do next. Readers ignore types that they do not know. */
export const NextAction = Schema.StructWithRest(
  Schema.Struct({
    type: Schema.String.annotateKey({ description: "What the person can do. Ignore types that you do not know" })
  }),
  [Schema.Record(Schema.String, Scalar)]
).annotate({ identifier: "NextAction" })
export type NextAction = typeof NextAction.Type

/**
 * One price offer, as a carrier's adapter returns it.
 *
 * The service checks each offer before turning the offer into a quote. An answer with an offer that breaks a rule is
 * treated as `unreadable_answer`.
 */
export const CarrierOffer = Schema.Struct({
  /** The carrier's own reference for the offer, used to refresh it. */
  offer_ref: Schema.String,
  /** The name of the product; null if the product has no name. */
  product: Schema.NullOr(Schema.String),
  /** The price for the whole term; null if the offer has no price. */
  premium: Schema.NullOr(Money),
  /** The length of the policy's term in months; null if it is not known. */
  term_months: Schema.NullOr(Schema.Int),
  /** How often the person pays, such as `monthly`. */
  billing_cycle: Schema.NullOr(Schema.String),
  /** Fees in addition to the premium. */
  fees: Schema.Array(Schema.Struct({ code: Schema.String, amount: Money })),
  /** The conditions of the offer, as sentences for the person. */
  conditions: Schema.Array(Schema.String),
  /** The insured subjects, such as vehicles, each with its coverages. */
  subjects: Schema.Array(CoveredSubject),
  /** The values that the carrier assumed for facts that it did not receive. */
  assumptions: Schema.Array(Assumption),
  /** When the offer expires; null if the carrier names no time. */
  expires_at: Schema.NullOr(Timestamp),
  /** A sentence that tells the person how reliable the price is. */
  evidence_label: Schema.String,
  /** The page where the person can continue with this offer; null if the carrier has no such page. */
  handoff_url: Schema.NullOr(Schema.String),
  /**
   * Next actions besides the actions that the service adds: at most 10, with at most 20 members each. Their types must
   * differ from the types that the service adds. A link must be an https URL on one of the adapter's `handoff_hosts`.
   * Markup and hidden characters are removed from other text.
   */
  extra_actions: Schema.optionalKey(Schema.Array(NextAction)),
  /** The quote's reason code; `offered` if this field is absent. */
  reason: Schema.optionalKey(Schema.String),
  /** When the service must refresh this offer, in milliseconds after the answer. */
  refresh_after_ms: Schema.optionalKey(Schema.Int)
})
export type CarrierOffer = typeof CarrierOffer.Type

/** A carrier's question. Its text is shown to the person, so it must not repeat a fact. */
export const Question = Schema.Struct({
  path: Schema.String,
  label: Schema.String,
  allowed_values: Schema.optionalKey(Schema.Array(Schema.String))
})

/** A carrier's refusal of a risk. */
export const Declined = Schema.Struct({
  kind: Schema.Literal("declined"),
  reason: Schema.Literals(declineReasons),
  /** The carrier's own words, for the person. They must not repeat a fact. */
  message: Schema.optionalKey(Schema.String)
})

/** A reply that says why there is no answer. */
export const Unavailable = Schema.Struct({
  kind: Schema.Literal("unavailable"),
  reason: Schema.Literals(noAnswerReasons),
  /** How long the carrier asks the service to wait, in milliseconds. */
  retry_after_ms: Schema.optionalKey(Schema.Int),
  /** Whether asking or polling again is pointless. An unreadable answer is always final. */
  final: Schema.optionalKey(Schema.Boolean)
})
export type Unavailable = typeof Unavailable.Type

/** The longest reference that a carrier may assign to an ask or an offer, in characters. */
export const maxRef = 2_000

/**
 * A carrier's answer to an ask or a poll, including an answer that arrives in a callback. Return failures as values: if
 * an adapter throws, the result is `carrier_error`, and the log says where it threw.
 *
 * The schema guarantees only that a reply is readable. After that, the service checks every carrier's offers in the
 * same way.
 */
export const CarrierReply = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("offers"), offers: Schema.Array(CarrierOffer) }),
  Declined,
  /**
   * The carrier accepted the ask and answers later. With `poll_after_ms` the service polls; without it, the carrier
   * calls back. `callback_after_ms` is for simulated carriers only: after this time, the service simulates the
   * callback.
   */
  Schema.Struct({
    kind: Schema.Literal("pending"),
    ref: Input.textUpTo(maxRef),
    poll_after_ms: Schema.NullOr(Schema.Int),
    callback_after_ms: Schema.optionalKey(Schema.Int)
  }),
  Schema.Struct({ kind: Schema.Literal("question"), questions: Schema.Array(Question) }),
  Unavailable
])
export type CarrierReply = typeof CarrierReply.Type

/** A carrier's answer to a refresh of an offer. */
export const CarrierRefresh = Schema.Union([
  Schema.Struct({
    kind: Schema.Literal("offer"),
    reason: Schema.Literals(["price_updated", "terms_updated", "rechecked"]),
    offer: CarrierOffer
  }),
  Schema.Struct({ kind: Schema.Literal("withdrawn") }),
  Unavailable
])
export type CarrierRefresh = typeof CarrierRefresh.Type

/** The values that an organization set for a carrier, by name, such as a producer code and an API key. */
export type ConnectionValues = Readonly<Record<string, string>>

/** The values that an organization must set for a carrier, by name. A `secret` is never shown again; a `string` is. */
export type ConnectionFields = Readonly<Record<string, "string" | "secret">>

/** A carrier's answer to a connection test. */
export const ConnectionTest = Schema.Union([
  Schema.Struct({ ok: Schema.Literal(true) }),
  Schema.Struct({ ok: Schema.Literal(false), message: Schema.String })
])
export type ConnectionTest = typeof ConnectionTest.Type

/** An ask: one request to one carrier for its offers, with the facts about a person. */
export interface CarrierAsk<Facts = unknown> {
  /** The name of the line. */
  readonly line: string
  readonly environment: Environment
  /** The facts that the adapter needs, including assumed facts. */
  readonly facts: Facts
  /** The facts that were assumed. */
  readonly assumptions: ReadonlyArray<Assumption>
  /**
   * The values that the request's organization set for this carrier; absent if the carrier declares no `connection`.
   */
  readonly connection?: ConnectionValues
  /** Whether the person has read the credit disclosure, so that credit information may be used. */
  readonly credit_disclosed: boolean
  /** The key of this ask. It stays the same for every attempt, so that a carrier can recognize a repeat. */
  readonly idempotency_key: string
  /** The attempt number of this ask, from 1. */
  readonly attempt: number
  /** The scenario to play (sandbox); null if the carriers' own rules decide. */
  readonly scenario: ScenarioName | null
  /**
   * When the quote request was accepted, when this carrier was first asked, and the current time, all in milliseconds
   * of workspace time.
   */
  readonly requested_at: number
  readonly asked_at: number
  readonly now: number
  /**
   * When the service stops collecting answers, in milliseconds of workspace time. The service drops answers that arrive
   * later.
   */
  readonly deadline: number
}

/** A callback as received, with header names in lower case and the body as raw bytes. */
export interface CarrierCallback {
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: Uint8Array
}

/** A maintenance window of a carrier, in real time (RFC 3339), such as `2026-12-24T18:00:00Z`. */
export interface MaintenanceWindow {
  readonly from: string
  readonly until: string
}

/**
 * The longest timeout of an attempt, in milliseconds. A carrier that needs longer replies `pending`; the service then
 * polls it or waits for its callback.
 */
export const maxAttemptMs = 15_000

/** A carrier's terms for one line. Times are in milliseconds. */
export interface CarrierLine {
  /** USPS codes of the states that the carrier serves. */
  readonly states: ReadonlyArray<string>
  /**
   * Paths of facts that this carrier needs beyond the line's required facts. Without these facts, the carrier is not
   * asked.
   */
  readonly needs: ReadonlyArray<string>
  /** Paths of facts that this carrier receives if they are known. The carrier is asked even without these facts. */
  readonly wants?: ReadonlyArray<string>
  /**
   * When the carrier is unavailable. During these windows, the carrier is not asked, and the reason is `maintenance`.
   */
  readonly maintenance?: ReadonlyArray<MaintenanceWindow>
  /**
   * Whether the carrier uses credit information. If so, it is asked only after the credit disclosure, except in states
   * that prohibit this use.
   */
  readonly uses_credit: boolean
  /** How the carrier answers: in the call itself, to a later `poll`, or with a callback. */
  readonly mode: "sync" | "poll" | "callback"
  /**
   * Whether the carrier recognizes a repeated ask. Only then does the service hedge asks, or ask again after an unknown
   * outcome.
   */
  readonly idempotent: boolean
  /** The timeout of one attempt, in milliseconds; at most 15,000. */
  readonly attempt_timeout_ms: number
  /** How long an answer usually takes. No attempt starts if less than this is left before the deadline. */
  readonly typical_ms: number
  /** The 95th percentile of the carrier's latency, after which an idempotent ask is hedged; null to never hedge. */
  readonly hedge_after_ms: number | null
  /** The maximum number of calls a minute. Further calls wait. */
  readonly rate_per_minute: number
  /** The maximum number of concurrent calls. Further calls wait. */
  readonly max_concurrent: number
}

/** A carrier's refusal: the carrier does not write this risk. */
export type Decline = typeof Declined.Type

/** A carrier, implemented by an adapter. Fictional and real carriers share one contract. */
export interface CarrierAdapter {
  readonly carrier: CarrierName & { readonly registry_ids: ReadonlyArray<string> }
  readonly environments: ReadonlyArray<Environment>
  /** The lines that the carrier offers, by name. */
  readonly lines: Readonly<Record<string, CarrierLine>>
  /** The hosts that `handoff_url` may link to. */
  readonly handoff_hosts: ReadonlyArray<string>
  /**
   * The values that an organization must set. Until then this carrier is not asked, and the reason is `not_appointed`.
   */
  readonly connection?: ConnectionFields
  /**
   * Paths of values in JSON and XML bodies that recordings of exchanges omit, such as `applicant` or `drivers.*.name`.
   * `*` stands for any name or index, and in XML a path may begin at any element. Recordings always omit fields with
   * names such as `access_token` or `password`, and the connection's secrets.
   */
  readonly redact?: ReadonlyArray<string>
  /**
   * Whether bodies that are neither JSON nor XML are recorded verbatim; by default only their type and length are
   * recorded. `redact` does not apply to such bodies.
   */
  readonly keeps_text_bodies?: boolean
  /**
   * Tests a connection's values, for example by requesting a token. The test must not ask for a price. The result's
   * `message` is for the operator and must not repeat a value. If an adapter lacks this function, its connections
   * cannot be tested.
   */
  readonly testConnection?: (values: ConnectionValues, environment: Environment) => Effect.Effect<ConnectionTest>
  /** Decides, without calling the carrier, whether the carrier writes this risk at all. Must be pure. */
  readonly appetite?: (ask: CarrierAsk) => Decline | null
  readonly ask: (ask: CarrierAsk) => Effect.Effect<CarrierReply>
  readonly poll?: (ask: CarrierAsk, ref: string) => Effect.Effect<CarrierReply>
  /**
   * Verifies a callback against its raw bytes, and reads it. Returns null if the callback is not genuine.
   *
   * The returned `ref` tells which ask the callback answers. Return the ask's `idempotency_key`, or the `ref` of its
   * `pending` reply.
   */
  readonly callback?: (
    callback: CarrierCallback
  ) => Effect.Effect<{ readonly ref: string; readonly reply: CarrierReply } | null>
  readonly refresh?: (ask: CarrierAsk, offer_ref: string) => Effect.Effect<CarrierRefresh>
  /**
   * Returns a fresh `handoff_url` when the person clicks the link; null if the person cannot continue. The fresh link
   * replaces the URL in the offer.
   */
  readonly handoff?: (ask: CarrierAsk, offer_ref: string) => Effect.Effect<string | null>
  /** Present on carriers that exist only in the sandbox. */
  readonly simulation?: CarrierSimulation
}

/** What the service simulates for a fictional carrier: its latency and its callbacks. */
export interface CarrierSimulation {
  /** How long this attempt takes, in milliseconds of workspace time. */
  readonly latency_ms: (ask: CarrierAsk) => number
  /** Whether the carrier is asked in this scenario even if its own rules exclude the risk. */
  readonly ignoresRules: (scenario: ScenarioName, line: string) => boolean
  /** The callback that the carrier sends for this ask. */
  readonly callback: (ask: CarrierAsk, ref: string) => Effect.Effect<CarrierCallback>
}

/** The environments in which at least one of these carriers can be asked. */
export const environmentsOf = (adapters: ReadonlyArray<CarrierAdapter>): ReadonlyArray<Environment> =>
  Environment.literals.filter((environment) => adapters.some((adapter) => adapter.environments.includes(environment)))

/** The carriers of a host. */
export class CarrierAdapters extends Context.Service<CarrierAdapters, ReadonlyArray<CarrierAdapter>>()(
  "@quotewire/core/CarrierAdapters"
) {}

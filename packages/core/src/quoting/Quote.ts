import { Schema } from "effect"
import { Environment } from "../access/Caller.ts"
import { type CarrierAdapter, CarrierName, type CarrierOffer, CoveredSubject, NextAction } from "../carriers/Carrier.ts"
import { Assumption } from "../lines/Application.ts"
import type { Line } from "../lines/Line.ts"
import type { LineName } from "../lines/LineName.ts"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { ApplicationId, QuoteId, QuoteRequestId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { cents, Money } from "../wire/Money.ts"
import { fromMillis, Timestamp, toMillis } from "../wire/Timestamp.ts"

/** The reasons for a quote's status, with a sentence for each. New reasons may appear (api.md, Quote statuses). */
export const reasons = {
  offered: "This price is available until the date shown.",
  price_updated: "The carrier has changed the price.",
  terms_updated: "The carrier has changed the terms.",
  rechecked: "The carrier has confirmed this price.",
  expired: "This quote has expired.",
  withdrawn_by_carrier: "The carrier has withdrawn this offer.",
  superseded: "A newer quote request replaces this quote.",
  declined_after_review: "The carrier has declined after a review.",
  state_moratorium: "The carrier has paused new policies in this state.",
  consent_withdrawn: "The person has withdrawn consent."
} as const

/** A price. The premium covers the whole term, regardless of the billing cycle (api.md, Prices). */
export const Price = Schema.Struct({
  premium: Schema.NullOr(Money).annotateKey({
    description: "The price of the whole term; null if the carrier named none"
  }),
  term_months: Schema.NullOr(Schema.Int).annotateKey({
    description: "The length of the term in months; null if unknown"
  }),
  billing_cycle: Schema.NullOr(Schema.String).annotateKey({
    description: "How it is paid: one of the line's `billing_cycles`; null if unknown"
  }),
  fees: Schema.Array(
    Schema.Struct({
      code: Schema.String.annotateKey({ description: "The fee: one of the line's `fee_codes`" }),
      amount: Money.annotateKey({ description: "The amount" })
    })
  ).annotateKey({ description: "The fees of the carrier" }),
  comparison: Schema.NullOr(
    Schema.Struct({
      amount: Money.annotateKey({ description: "The price for comparing quotes" }),
      label: Schema.String.annotateKey({ description: "What the price is for" })
    })
  ).annotateKey({ description: "A price for comparing quotes; null if there is none" })
}).annotate({ identifier: "Price" })
export type Price = typeof Price.Type

/** One version of a quote: a carrier's price offer, not coverage (api.md, Quote record). Versions never change. */
export const Quote = Schema.Struct({
  id: QuoteId.annotateKey({ description: "The identifier of the quote" }),
  version: Schema.Int.annotateKey({ description: "Increases by one with each change; versions never change" }),
  environment: Environment.annotateKey({ description: "The environment of the request" }),
  quote_request_id: QuoteRequestId.annotateKey({ description: "The request that it belongs to" }),
  application_id: ApplicationId.annotateKey({ description: "The facts that it is priced for" }),
  application_version: Schema.Int.annotateKey({ description: "The version of these facts" }),
  status: Schema.Literals(["active", "inactive"]).annotateKey({ description: "Whether the offer is still available" }),
  status_details: Schema.Struct({
    reason: Schema.String.annotateKey({ description: "The reason, for a program. New ones can be added" }),
    message: Schema.String.annotateKey({ description: "The reason, as a sentence for a person" })
  }).annotateKey({ description: "Why it has this status" }),
  source: Schema.Struct({
    carrier: CarrierName.annotateKey({ description: "The carrier" }),
    product: Schema.NullOr(Schema.String).annotateKey({ description: "The name of the product; null if unknown" }),
    registry_ids: Schema.Array(Schema.String).annotateKey({
      description: "The carrier's and its partners' entries in public registries, such as `naic:10003`"
    })
  }).annotateKey({ description: "Who makes the offer" }),
  price: Price.annotateKey({ description: "What it costs" }),
  coverage: Schema.Struct({
    conditions: Schema.Array(Schema.String).annotateKey({
      description: "What the offer depends on, as sentences for a person"
    }),
    subjects: Schema.Array(CoveredSubject).annotateKey({ description: "The insured subjects, each with its coverages" })
  }).annotateKey({ description: "What it covers" }),
  availability: Schema.Struct({
    expires_at: Schema.NullOr(Timestamp).annotateKey({
      description: "When the offer expires; null if the carrier did not say"
    })
  }).annotateKey({ description: "How long the offer is valid" }),
  next_actions: Schema.Array(NextAction).annotateKey({ description: "What the person can do next" }),
  evidence: Schema.Struct({
    source_time: Schema.NullOr(Timestamp).annotateKey({ description: "When the carrier made it; null if unknown" }),
    assumptions: Schema.Array(Assumption).annotateKey({ description: "The facts that were assumed" }),
    label: Schema.String.annotateKey({ description: "What to show with the price" })
  }).annotateKey({ description: "Where the offer comes from" })
}).annotate({ identifier: "Quote" })
export type Quote = typeof Quote.Type

/** The record kind for quotes, keyed by ID and listed by request. Every version that was offered stays readable. */
export const kind = Kind.make({
  name: "quote",
  schema: Quote,
  sealed: true,
  keeps_history: true,
  wakes: "parent",
  listing: ({ availability, quote_request_id, status }) => ({
    parent: quote_request_id,
    status,
    expires_at: status === "active" && availability.expires_at !== null ? toMillis(availability.expires_at) : null
  })
})

/**
 * The stored record of a quote version. `created_at` is when the first version was created, and `now` is the current
 * time, both in milliseconds of workspace time.
 */
export const toStored = (quote: Quote, line: LineName, created_at: number, now: number): StoredRecord =>
  kind.record(quote, { id: quote.id, version: quote.version, line, created_at, updated_at: now })

/** The data that turns an offer into a quote, besides the offer itself. */
export interface Origin {
  readonly id: QuoteId
  readonly environment: Environment
  readonly line: Line
  readonly quote_request_id: QuoteRequestId
  readonly application_id: ApplicationId
  readonly carrier: CarrierAdapter["carrier"]
  /** When the carrier answered, in milliseconds of workspace time. */
  readonly answered_at: number
  /** The path `/go/…`, which redirects to the carrier; null if the offer has no page. */
  readonly redirect_path: string | null
  /** The base URL to prepend to `redirect_path`. */
  readonly base_url: string
}

/** Makes a version of a quote from an offer: the first version, or a later version after a refresh. */
export const fromOffer = (offer: CarrierOffer, origin: Origin, version = 1): Quote => {
  const reason = offer.reason ?? "offered"
  return {
    id: origin.id,
    version,
    environment: origin.environment,
    quote_request_id: origin.quote_request_id,
    application_id: origin.application_id,
    application_version: 1,
    status: "active",
    status_details: { reason, message: messageOf(reason) },
    source: {
      carrier: { id: origin.carrier.id, name: origin.carrier.name },
      product: offer.product,
      registry_ids: origin.carrier.registry_ids
    },
    price: {
      premium: offer.premium,
      term_months: offer.term_months,
      billing_cycle: offer.billing_cycle,
      fees: offer.fees,
      comparison: comparisonOf(offer, origin.line)
    },
    coverage: { conditions: offer.conditions, subjects: offer.subjects },
    availability: { expires_at: offer.expires_at },
    next_actions: actionsOf(offer, origin, version),
    evidence: {
      source_time: fromMillis(origin.answered_at),
      assumptions: offer.assumptions.toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)),
      label: offer.evidence_label
    }
  }
}

/** Rebuilds the carrier's offer from a version of its quote: the inverse of `fromOffer`. */
export const offerOf = (
  { availability, coverage, evidence, next_actions, price, source }: Quote,
  { handoff_url, offer_ref }: Pick<CarrierOffer, "handoff_url" | "offer_ref">
) => {
  const { comparison: _, ...priced } = price
  const offer: CarrierOffer = {
    offer_ref,
    handoff_url,
    ...priced,
    ...coverage,
    product: source.product,
    assumptions: evidence.assumptions,
    expires_at: availability.expires_at,
    evidence_label: evidence.label,
    extra_actions: next_actions.filter(({ type }) => !ownActions.includes(type))
  }
  return offer
}

/** The types of the actions that the service itself adds. */
const ownActions = ["continue_on_carrier_site", "request_assistance"]

const messageOf = (reason: string): string => {
  const reasonCodes: Readonly<Record<string, string>> = reasons
  return reasonCodes[reason] ?? "This price is available until the date shown."
}

/** The premium for one month of coverage, rounded half up. This amount makes offers with different terms comparable. */
const comparisonOf = (offer: CarrierOffer, line: Line): Price["comparison"] => {
  if (offer.premium === null || offer.term_months === null) return null
  const month = Math.floor((2 * offer.premium.amount_minor + offer.term_months) / (2 * offer.term_months))
  const label = "Per month of cover, for comparing offers; not an instalment amount."
  return { amount: cents(month), label: line.premium_includes_fees ? label : `${label} Fees, if any, may be extra.` }
}

const actionsOf = (offer: CarrierOffer, origin: Origin, version: number): ReadonlyArray<NextAction> => {
  // All fields of an action are strings, including the version (api.md, Next actions).
  const names = { quote_id: origin.id, quote_version: String(version) }
  const onward: ReadonlyArray<NextAction> =
    origin.redirect_path === null
      ? []
      : [
          {
            type: "continue_on_carrier_site",
            ...names,
            redirect_path: origin.redirect_path,
            url: origin.base_url + origin.redirect_path,
            open: "new_tab"
          }
        ]
  return [...onward, { type: "request_assistance", ...names }, ...(offer.extra_actions ?? [])]
}

/** Whether the quote has expired at `now`, in milliseconds of workspace time. */
export const hasExpired = (quote: Quote, now: number): boolean =>
  quote.status === "active" && quote.availability.expires_at !== null && now >= toMillis(quote.availability.expires_at)

/** Makes the next version of a quote that is no longer available. The only action left is to ask for help. */
export const deactivate = (
  quote: Quote,
  reason: "expired" | "withdrawn_by_carrier" | "superseded" | "consent_withdrawn"
): Quote => ({
  ...quote,
  version: quote.version + 1,
  status: "inactive",
  status_details: { reason, message: reasons[reason] },
  next_actions: [{ type: "request_assistance", quote_id: quote.id, quote_version: String(quote.version + 1) }]
})

/**
 * The newest version of a quote at `now`, in milliseconds of workspace time, encoded as JSON.
 *
 * A quote that has expired is shown as expired even before the expiry job has stored the quote's last version. The JSON
 * text is the same before and after the job stores that version.
 */
export const newestAt = (
  stored: StoredRecord,
  now: number
): { readonly version: number; readonly json: Json.Json<Quote> } => {
  if (stored.expires_at === null || now < stored.expires_at) {
    return { version: stored.version, json: kind.json(stored) }
  }
  const expired = deactivate(kind.value(stored), "expired")
  return { version: expired.version, json: Json.encode(expired) }
}

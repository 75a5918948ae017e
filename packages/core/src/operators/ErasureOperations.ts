import { Effect, Schema } from "effect"
import { Environment } from "../access/Caller.ts"
import type { ErasureReport } from "../quoting/erasing/Erasure.ts"
import { Erasures } from "../quoting/erasing/Erasures.ts"
import { OrganizationId, QuoteRequestId } from "../wire/Ids.ts"
import { textUpTo } from "../wire/Input.ts"
import * as Json from "../wire/Json.ts"
import { Timestamp } from "../wire/Timestamp.ts"
import * as OperatorOperation from "./OperatorOperation.ts"
import type { Operator } from "./OperatorToken.ts"

const tag = "Erasing"

const count = (description: string) => Schema.Int.annotateKey({ description })

const Report = Schema.Struct({
  erased: count("How many quote requests were erased now"),
  already_erased: count("How many were erased before"),
  to_erase: count("How many would be erased, in a dry run"),
  requests: Schema.Array(
    Schema.Struct({
      quote_request_id: QuoteRequestId.annotateKey({ description: "The quote request" }),
      outcome: Schema.Literals(["erased", "already_erased", "to_erase"]).annotateKey({ description: "What was done" }),
      erased_at: Schema.NullOr(Timestamp).annotateKey({ description: "When it was erased, in its workspace's time" }),
      by: Schema.NullOr(Schema.String).annotateKey({ description: "Who erased it, in their own words" }),
      ended: Schema.Boolean.annotateKey({ description: "Whether it was in progress, and ends with the erasure" }),
      quotes: count("How many quotes it has. Their prices remain")
    })
  ).annotateKey({ description: "The requests, oldest first: at most the first 1,000. The counts include all" })
}).annotate({ identifier: "ErasureReport" })

const howFields = {
  by: Schema.optionalKey(textUpTo(200, 1)).annotateKey({
    description:
      "Who erases the data, or the ticket. It is kept for years, so it must not name the person. Required unless dry_run"
  }),
  dry_run: Schema.optionalKey(Schema.Boolean).annotateKey({
    description: "Whether to report what would be erased, and to change nothing"
  })
}

type ErasureFlags = { readonly by?: string; readonly dry_run?: boolean }

/** The options of an erasure. If `by` is missing, the service refuses the erasure and names the field. */
const optionsOf = ({ by = "", dry_run = false }: ErasureFlags) => (dry_run ? { dry_run: true as const } : { by })

/** Erases a person's data from one quote request. */
export const eraseQuoteRequest = OperatorOperation.make({
  name: "erase_quote_request",
  summary: "Erase a person's data from a quote request",
  description:
    "Erases facts, contact data and what carriers wrote about the person. Statuses, prices, events and the record of consent remain. Erasing again changes nothing and says so. After service_unavailable, call again: it continues where it stopped.",
  tag,
  route: { method: "POST", path: "/operator/v1/quote-requests/{id}/erase", query: {}, status: 200 },
  scope: "write",
  reach: "organization",
  input: Schema.Struct({
    id: QuoteRequestId.annotateKey({ description: "The quote request, `qreq_…`" }),
    ...howFields
  }),
  output: Report,
  errors: [],
  about: ({ id }) => ({ quote_request_id: id }),
  run: ({ organization_id }: Operator, { id, ...options }) =>
    Erasures.use((erasures) =>
      Effect.map(
        erasures.erase(
          { quote_request_id: id, ...(organization_id !== null && { organization_id }) },
          optionsOf(options)
        ),
        (report: ErasureReport) => Json.encode(report)
      )
    )
})

/** Erases a person's data from all quote requests that were started with a consent receipt. */
export const eraseReceipt = OperatorOperation.make({
  name: "erase_receipt",
  summary: "Erase a person's data from all quote requests of a receipt",
  description:
    "Like erase_quote_request, for every quote request that was started with one receipt of consent. The receipt is sent in the body, because it can identify a person; it is never recorded.",
  tag,
  route: { method: "POST", path: "/operator/v1/organizations/{organization_id}/erasures", query: {}, status: 200 },
  scope: "write",
  reach: "organization",
  input: Schema.Struct({
    organization_id: OrganizationId.annotateKey({ description: "The organization, `org_…`" }),
    environment: Environment.annotateKey({ description: "The environment that the requests are in" }),
    consent_receipt_id: textUpTo(128, 1).annotateKey({ description: "The receipt" }),
    ...howFields
  }),
  output: Report,
  errors: ["not_found"],
  run: (_, { by, dry_run, ...target }) =>
    Erasures.use((erasures) =>
      Effect.map(
        erasures.erase(
          target,
          optionsOf({ ...(by !== undefined && { by }), ...(dry_run !== undefined && { dry_run }) })
        ),
        (report: ErasureReport) => Json.encode(report)
      )
    )
})

import { Effect, Schema } from "effect"
import * as Quote from "../quoting/Quote.ts"
import * as QuoteRequest from "../quoting/QuoteRequest.ts"
import * as JobPayload from "../runner/JobPayload.ts"
import type { JobKind } from "../storage/Job.ts"
import { type LaneJob, readOne, type Storage, type StorageUnavailable } from "../storage/Storage.ts"
import { QuoteId, QuoteRequestId, SubscriptionId, type WorkspaceId } from "../wire/Ids.ts"
import { fromMillis, Timestamp, toMillis } from "../wire/Timestamp.ts"

/** What each kind of job does when the job is due; null for maintenance jobs, which nobody waits for. */
const whats = {
  collect: "carriers_asked",
  // A fictional carrier's ask is a job that is due when the answer arrives.
  ask_carrier: "carrier_answer",
  poll_carrier: "carrier_answer",
  carrier_callback: "carrier_answer",
  close_request: "request_deadline",
  end_action: "action_deadline",
  expire_quote: "quote_expiry",
  refresh_quote: "quote_update",
  deliver: "webhook_attempt",
  cancel_deliveries: null,
  drop_subscription: null,
  recover_deliveries: null
} as const satisfies Record<JobKind, string | null>

const What = Schema.Literals([
  "carriers_asked",
  "carrier_answer",
  "request_deadline",
  "action_deadline",
  "quote_expiry",
  "quote_update",
  "webhook_attempt"
])

/** What happens next as a sandbox's clock advances (api.md, Sandbox workspace). */
export const NextDue = Schema.Struct({
  at: Timestamp.annotateKey({ description: "When it happens, on the sandbox's clock" }),
  what: What.annotateKey({ description: "What happens" }),
  quote_request_id: Schema.NullOr(QuoteRequestId).annotateKey({ description: "The quote request; null if none" }),
  carrier_id: Schema.NullOr(Schema.String).annotateKey({ description: "The carrier; null if none" }),
  quote_id: Schema.NullOr(QuoteId).annotateKey({ description: "The quote; null if none" }),
  subscription_id: Schema.NullOr(SubscriptionId).annotateKey({ description: "The event subscription; null if none" })
}).annotate({ identifier: "NextDue" })
export type NextDue = typeof NextDue.Type

/** The maximum number of jobs to read. Many jobs can be left over from requests that have ended. */
const maxJobs = 100

/** Finds what is due next in a workspace after `now`, in milliseconds of workspace time; null if nothing is due. */
export const find = (
  storage: Storage["Service"],
  workspace_id: WorkspaceId,
  now: number
): Effect.Effect<NextDue | null, StorageUnavailable> =>
  Effect.gen(function* () {
    const jobs = yield* storage.lane({ workspace_id, limit: maxJobs })
    for (const job of jobs) {
      if (job.due_at <= now) continue
      const next = yield* nextDueOf(storage, workspace_id, job)
      if (next !== null) return next
    }
    return null
  })

/** Whether a job will still change its quote. An update may have moved the quote's expiry. */
const isStillDue = ({ availability, status }: Quote.Quote, { due_at, kind }: LaneJob): boolean => {
  if (status !== "active") return false
  return kind !== "expire_quote" || (availability.expires_at !== null && toMillis(availability.expires_at) <= due_at)
}

/** What a job will do; null for a maintenance job, and for a job that will no longer change anything. */
const nextDueOf = Effect.fnUntraced(function* (storage: Storage["Service"], workspace_id: WorkspaceId, job: LaneJob) {
  const description = whats[job.kind]
  if (description === null) return null
  const { carrier_id = null, quote_id = null, quote_request_id = null, subscription_id = null } = JobPayload.about(job)
  const quote = quote_id === null ? null : yield* readOne(storage, Quote.kind, workspace_id, quote_id)
  if (quote_id !== null && (quote === null || !isStillDue(quote, job))) return null
  const request_id = quote_request_id ?? quote?.quote_request_id ?? null
  if (quote_request_id !== null) {
    const request = yield* readOne(storage, QuoteRequest.kind, workspace_id, quote_request_id)
    if (request === null || QuoteRequest.isFinal(request)) return null
    if (carrier_id !== null && !QuoteRequest.isPending(request, carrier_id)) return null
  }
  const next: NextDue = {
    at: fromMillis(job.due_at),
    what: description,
    quote_request_id: request_id,
    carrier_id,
    quote_id,
    subscription_id
  }
  return next
})

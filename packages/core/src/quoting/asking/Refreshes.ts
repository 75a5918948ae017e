import { Effect, Option } from "effect"
import type { CarrierOffer, CarrierRefresh } from "../../carriers/Carrier.ts"
import { CarrierClient } from "../../carriers/CarrierClient.ts"
import * as CarrierFailure from "../../carriers/CarrierFailure.ts"
import { dueChange } from "../../carriers/OwnCarrierScenarios.ts"
import * as Recorder from "../../carriers/recorder/Recorder.ts"
import { priceUpdateFactor } from "../../carriers/script.ts"
import { mul } from "../../rating/Amount.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import type { StoredRecord } from "../../storage/Change.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import { Storage } from "../../storage/Storage.ts"
import { Ids } from "../../wire/Ids.ts"
import { cents } from "../../wire/Money.ts"
import { minuteMs } from "../../wire/Timestamp.ts"
import * as ApplicationRecord from "../ApplicationRecord.ts"
import * as OfferRecord from "../OfferRecord.ts"
import * as Quote from "../Quote.ts"
import * as QuoteChange from "../QuoteChange.ts"
import { AskJobs } from "./AskJobs.ts"
import * as PendingAsks from "./PendingAsks.ts"
import { checkRefreshed, makeOriginLoader } from "./ReplyRules.ts"

/**
 * Makes the handler that asks carriers whether offers are still valid, and stores a new version of each quote that has
 * changed.
 */
export const make = Effect.gen(function* () {
  const client = yield* CarrierClient
  const storage = yield* Storage
  const ids = yield* Ids
  const askRecords = yield* PendingAsks.PendingAsks
  const newVersion = yield* makeNewVersion
  const { finish } = yield* AskJobs
  const recorder = yield* Recorder.Recorder

  return Effect.fnUntraced(function* (job: ClaimedJob, now: number) {
    const { attempt = 1, quote_id } = JobPayload.read(job, "refresh_quote")
    const key = { workspace_id: job.workspace_id, id: quote_id }
    const stored = yield* storage.get({ ...key, kind: Quote.kind.name })
    const offer = yield* storage.get({ ...key, kind: OfferRecord.kind.name })
    if (Option.isNone(stored) || Option.isNone(offer)) return yield* finish(job)
    const quote = Quote.kind.value(stored.value)
    const { carrier_id, offer_ref } = OfferRecord.kind.value(offer.value)
    const request = yield* askRecords.request(job.workspace_id, quote.quote_request_id)
    const pending =
      request === null || quote.status === "inactive" || Quote.hasExpired(quote, now)
        ? null
        : yield* askRecords.pending(job.workspace_id, request, {
            carrier_id,
            attempt,
            now,
            exchange: "refresh"
          })
    if (pending === null || PendingAsks.lacksConnection(pending)) return yield* finish(job)
    const withdrawal = (): QuoteChange.ChangePart =>
      QuoteChange.deactivationChange(ids, {
        stored: stored.value,
        line: pending.line,
        reason: "withdrawn_by_carrier",
        at: now
      })
    const change = dueChange(pending.candidate, pending.ask)
    if (change === "withdrawn") return yield* finish(job, withdrawal())
    if (change === "price_updated") {
      return yield* finish(
        job,
        yield* newVersion(pending, stored.value, raised(quote, OfferRecord.kind.value(offer.value)), now)
      )
    }
    const result = yield* PendingAsks.logged(pending, client.refresh(pending, offer_ref))
    if (result._tag === "no_room") {
      const due = { ...pending.queue, due_at: now + result.again_after_ms }
      return yield* finish(job, { jobs: [JobPayload.make("refresh_quote", { quote_id, attempt }, due)] })
    }
    const refresh = result.value
    const refreshed = refresh.kind === "offer" ? { ...refresh.offer, reason: refresh.reason } : null
    const secrets = recorder.secretsOf(pending.draft, pending.ask.connection)
    const checked =
      refreshed === null ? null : yield* PendingAsks.logged(pending, checkRefreshed(pending, refreshed, secrets, now))
    const recorded = yield* PendingAsks.logged(
      pending,
      recorder.end(pending.draft, PendingAsks.exchangeSubjectOf(pending))
    )
    const expects = recorded.length === 0 ? [] : [ApplicationRecord.factsStored(pending.request.application_id)]
    const end = (part: QuoteChange.ChangePart) =>
      finish(job, { ...part, writes: [...part.writes, ...recorded], expects })
    if (refresh.kind === "withdrawn") return yield* end(withdrawal())
    if (checked === null) {
      const waitMs = pauseAfterRefresh(refresh, attempt)
      const due = { ...pending.queue, due_at: now + (waitMs ?? 0) }
      const jobs = waitMs === null ? [] : [JobPayload.make("refresh_quote", { quote_id, attempt: attempt + 1 }, due)]
      return yield* end({ ...QuoteChange.emptyPart, jobs })
    }
    yield* end(yield* newVersion(pending, stored.value, checked, now))
  })
})

/** Makes a function that builds the next version of a quote from a refreshed offer. */
const makeNewVersion = Effect.gen(function* () {
  const ids = yield* Ids
  const loadOrigin = yield* makeOriginLoader

  return Effect.fnUntraced(function* (
    pendingAsk: PendingAsks.PendingAsk,
    stored: StoredRecord,
    offer: CarrierOffer,
    now: number
  ) {
    const { id, version } = Quote.kind.value(stored)
    const origin = yield* loadOrigin(pendingAsk, id, offer, now)
    return QuoteChange.versionChange(ids, {
      quote: Quote.fromOffer(offer, origin, version + 1),
      offer,
      carrier_id: pendingAsk.candidate.adapter.carrier.id,
      line: pendingAsk.line,
      created_at: stored.created_at,
      at: now,
      queue: pendingAsk.queue
    })
  })
})

/** A quote's offer at the higher price of the `price_update` scenario. */
const raised = (quote: Quote.Quote, record: OfferRecord.OfferRecord): CarrierOffer => {
  const offer = Quote.offerOf(quote, record)
  if (offer.premium === null) return offer
  const premium = cents(mul(offer.premium.amount_minor, priceUpdateFactor))
  return { ...offer, premium, reason: "price_updated" }
}

/** The maximum number of attempts at a refresh while the carrier is unreachable. */
const maxAttempts = 3

/**
 * How long to wait before retrying a failed refresh. Null if the refresh is not retried, so the quote stays unchanged.
 */
const pauseAfterRefresh = (refresh: CarrierRefresh, attempt: number): number | null =>
  refresh.kind === "unavailable" && CarrierFailure.mayAnswerLater(refresh) && attempt < maxAttempts
    ? Math.max(minuteMs * 2 ** (attempt - 1), refresh.retry_after_ms ?? 0)
    : null

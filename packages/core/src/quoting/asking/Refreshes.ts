import { Effect, Option } from "effect"
import type { CarrierRefresh } from "../../carriers/Carrier.ts"
import { CarrierClient } from "../../carriers/CarrierClient.ts"
import * as Failure from "../../carriers/Failure.ts"
import * as Recorder from "../../carriers/recorder/Recorder.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import { Storage } from "../../storage/Storage.ts"
import { Ids } from "../../wire/Ids.ts"
import { minuteMs } from "../../wire/Timestamp.ts"
import * as Quote from "../Quote.ts"
import * as Start from "../Start.ts"
import * as AskLoading from "./AskLoading.ts"
import { Asks } from "./Asks.ts"
import { checkRefreshed, makeOriginLoader } from "./ReplyRules.ts"

/** Asks carriers whether their offers are still valid, and stores a new version of each quote that has changed. */
export const make = Effect.gen(function* () {
  const client = yield* CarrierClient
  const storage = yield* Storage
  const ids = yield* Ids
  const loading = yield* AskLoading.AskLoading
  const loadOrigin = yield* makeOriginLoader
  const { finish } = yield* Asks
  const recorder = yield* Recorder.Recorder

  return Effect.fnUntraced(function* (job: ClaimedJob, at: number) {
    const { attempt = 1, quote_id } = JobPayload.read(job, "refresh_quote")
    const key = { workspace_id: job.workspace_id, id: quote_id }
    const stored = yield* storage.get({ ...key, kind: Quote.kind.name })
    const offer = yield* storage.get({ ...key, kind: Quote.offerKind.name })
    if (Option.isNone(stored) || Option.isNone(offer)) return yield* finish(job)
    const quote = Quote.kind.value(stored.value)
    const { carrier_id, offer_ref } = Quote.offerKind.value(offer.value)
    const request = yield* loading.request(job.workspace_id, quote.quote_request_id)
    const pending =
      request === null || quote.status === "inactive" || Quote.hasExpired(quote, at)
        ? null
        : yield* loading.pending(job.workspace_id, request, {
            carrier_id,
            attempt,
            now: at,
            exchange: "refresh"
          })
    if (pending === null || AskLoading.lacksConnection(pending)) return yield* finish(job)
    const asked = yield* AskLoading.logged(pending, client.refresh(pending, offer_ref))
    if (asked._tag === "no_room") {
      const due = { ...pending.queue, due_at: at + asked.again_after_ms }
      return yield* finish(job, { jobs: [JobPayload.make("refresh_quote", { quote_id, attempt }, due)] })
    }
    const found = asked.value
    const refreshed = found.kind === "offer" ? { ...found.offer, reason: found.reason } : null
    const secrets = recorder.secretsOf(pending.draft, pending.ask.connection)
    const checked =
      refreshed === null ? null : yield* AskLoading.logged(pending, checkRefreshed(pending, refreshed, secrets, at))
    const recorded = yield* AskLoading.logged(pending, recorder.end(pending.draft, AskLoading.subjectOf(pending)))
    const expects = recorded.length === 0 ? [] : [Start.factsStored(pending.request.application_id)]
    const end = (part: Quote.Part) => finish(job, { ...part, writes: [...part.writes, ...recorded], expects })
    if (found.kind === "withdrawn") {
      return yield* end(Quote.deactivationChange(ids, pending.line, stored.value, "withdrawn_by_carrier", at))
    }
    if (checked === null) {
      const waitMs = pauseAfterRefresh(found, attempt)
      const due = { ...pending.queue, due_at: at + (waitMs ?? 0) }
      const jobs = waitMs === null ? [] : [JobPayload.make("refresh_quote", { quote_id, attempt: attempt + 1 }, due)]
      return yield* end({ ...nothing, jobs })
    }
    const origin = yield* loadOrigin(pending, quote.id, checked, at)
    const made = {
      quote: Quote.fromOffer(checked, origin, quote.version + 1),
      offer: checked,
      carrier_id,
      line: pending.line,
      created_at: stored.value.created_at,
      at,
      queue: pending.queue
    }
    yield* end(Quote.versionChange(ids, made))
  })
})

/** The maximum number of tries of a refresh while the carrier is unreachable. */
const maxTries = 3

/** How long to wait before a failed refresh is retried; null if it is not retried, and the quote stays unchanged. */
const pauseAfterRefresh = (found: CarrierRefresh, attempt: number): number | null =>
  found.kind === "unavailable" && Failure.mayAnswerLater(found) && attempt < maxTries
    ? Math.max(minuteMs * 2 ** (attempt - 1), found.retry_after_ms ?? 0)
    : null

const nothing: Quote.Part = { writes: [], events: [], jobs: [] }

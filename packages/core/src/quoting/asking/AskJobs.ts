import { Effect } from "effect"
import type { CarrierReply } from "../../carriers/Carrier.ts"
import type { ExchangeType } from "../../carriers/recorder/Exchange.ts"
import * as Recorder from "../../carriers/recorder/Recorder.ts"
import type * as JobPayload from "../../runner/JobPayload.ts"
import * as Change from "../../storage/Change.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import { retryOnConflict, Storage } from "../../storage/Storage.ts"
import type { Part } from "../QuoteChange.ts"
import { isFinal, type QuoteRequest } from "../QuoteRequest.ts"
import * as Start from "../Start.ts"
import * as AskLoading from "./AskLoading.ts"
import * as AskRefs from "./AskRefs.ts"
import * as ReplyRules from "./ReplyRules.ts"

/** What the jobs of asks have in common: loading a pending ask, and committing the changes from its answer. */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const loading = yield* AskLoading.make
  const refs = yield* AskRefs.make
  const applyReply = yield* ReplyRules.make
  const recorder = yield* Recorder.make

  /** Finishes a job together with its changes. */
  const finish = (job: ClaimedJob, part: Partial<Part> & Partial<Pick<Change.Change, "expects">> = {}) =>
    storage.commit(Change.make(job.workspace_id, { ...part, finishes: [job] }))

  /** The pending ask of a job; null if it is no longer pending, and the job is finished. */
  const load = Effect.fnUntraced(function* (
    job: ClaimedJob,
    { quote_request_id, carrier_id, attempt }: JobPayload.Payloads["ask_carrier"],
    at: number
  ) {
    const request = yield* loading.request(job.workspace_id, quote_request_id)
    if (request !== null && AskLoading.isPending(request, carrier_id)) {
      const pending = yield* loading.pending(job.workspace_id, request, {
        carrier_id,
        attempt,
        now: at,
        exchange: exchangeOf(job)
      })
      if (pending !== null) return pending
    }
    yield* AskLoading.logLate(carrier_id, quote_request_id)
    yield* finish(job)
    return null
  })

  /**
   * Applies a reply and commits the changes; `job` is null for a callback from outside.
   *
   * After a conflict it decides again here, because running the job again would ask the carrier again.
   */
  const applyAndCommit = Effect.fnUntraced(function* (
    pending: AskLoading.PendingAsk,
    reply: CarrierReply,
    at: number,
    job: ClaimedJob | null,
    again_after_ms: number | null = null
  ) {
    const accepted = refs.accept(pending, yield* AskLoading.logged(pending, ReplyRules.checkReply(pending, reply, at)))
    const checked = yield* AskLoading.logged(pending, accepted)
    const recorded = yield* AskLoading.logged(pending, recorder.end(pending.draft, AskLoading.subjectOf(pending)))
    let known: QuoteRequest | null = pending.request
    const attempt = Effect.gen(function* () {
      const request = known ?? (yield* loading.request(pending.workspace_id, pending.request.id))
      known = null
      // If the request was erased meanwhile, there is nothing to answer.
      const part: Partial<Part> =
        request === null ? {} : yield* applyReply({ ...pending, request }, checked, at, again_after_ms)
      // An erasure ends the request before it erases the facts, and must not be followed by a record of them.
      const records = request === null || isFinal(request) ? [] : recorded
      const change = {
        ...part,
        writes: [...(part.writes ?? []), ...records],
        expects: records.length === 0 ? [] : [Start.factsStored(pending.request.application_id)],
        finishes: job === null ? [] : [job]
      }
      yield* storage.commit(Change.make(pending.workspace_id, change))
    })
    yield* retryOnConflict(attempt)
  })

  return { finish, load, applyAndCommit }
})

/** What the adapter is called for by a job. */
const exchangeOf = ({ kind }: ClaimedJob): ExchangeType =>
  kind === "poll_carrier" ? "poll" : kind === "carrier_callback" ? "callback" : "ask"

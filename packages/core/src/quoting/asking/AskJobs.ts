import { Context, Effect, Layer } from "effect"
import type { Seal } from "../../access/Seal.ts"
import type { CarrierReply } from "../../carriers/Carrier.ts"
import * as Recorder from "../../carriers/recorder/Recorder.ts"
import type * as JobPayload from "../../runner/JobPayload.ts"
import * as Change from "../../storage/Change.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import { retryOnConflict, Storage } from "../../storage/Storage.ts"
import type { Ids } from "../../wire/Ids.ts"
import type { Part } from "../QuoteChange.ts"
import { isFinal, isPending, type QuoteRequest } from "../QuoteRequest.ts"
import * as Start from "../Start.ts"
import * as AskLoading from "./AskLoading.ts"
import * as CarrierReferences from "./CarrierReferences.ts"
import * as CircuitNote from "./CircuitNote.ts"
import * as ReplyRules from "./ReplyRules.ts"

const make = Effect.gen(function* () {
  const storage = yield* Storage
  const loading = yield* AskLoading.AskLoading
  const refs = yield* CarrierReferences.CarrierReferences
  const applyReply = yield* ReplyRules.make
  const recorder = yield* Recorder.Recorder

  /** Finishes a job together with its changes. */
  const finish = (job: ClaimedJob, part: Partial<Part> & Partial<Pick<Change.Change, "expects">> = {}) =>
    storage.commit(Change.make(job.workspace_id, { ...part, finishes: [job] }))

  /** The pending ask of a job. Null if it is no longer pending; the job is then finished. */
  const load = Effect.fnUntraced(function* (
    job: ClaimedJob,
    { quote_request_id, carrier_id, attempt }: JobPayload.Payloads["ask_carrier"],
    at: number
  ) {
    const request = yield* loading.request(job.workspace_id, quote_request_id)
    if (request !== null && isPending(request, carrier_id)) {
      const pending = yield* loading.pending(job.workspace_id, request, {
        carrier_id,
        attempt,
        now: at,
        exchange: exchangeOf(job)
      })
      if (pending !== null) return pending
    }
    yield* AskLoading.logNotCalled(exchangeOf(job), carrier_id, quote_request_id)
    yield* finish(job)
    return null
  })

  /**
   * Applies a reply and commits the changes; `job` is null for a callback from outside.
   *
   * After a conflict it decides again here, because rerunning the job would ask the carrier again.
   */
  const applyAndCommit = Effect.fnUntraced(function* (
    pending: AskLoading.PendingAsk,
    reply: CarrierReply,
    at: number,
    job: ClaimedJob | null,
    againAfterMs: number | null = null
  ) {
    const secrets = recorder.secretsOf(pending.draft, pending.ask.connection)
    const checking = ReplyRules.checkReply(pending, reply, secrets, at)
    const accepted = refs.accept(pending, yield* AskLoading.logged(pending, checking))
    const checked = yield* AskLoading.logged(pending, accepted)
    const recorded = yield* AskLoading.logged(pending, recorder.end(pending.draft, AskLoading.subjectOf(pending)))
    let known: QuoteRequest | null = pending.request
    const attempt = Effect.gen(function* () {
      const request = known ?? (yield* loading.request(pending.workspace_id, pending.request.id))
      known = null
      // If the request was erased in the meantime, there is nothing to answer.
      const part: Partial<Part> =
        request === null ? {} : yield* applyReply({ ...pending, request }, checked, at, againAfterMs)
      // An erasure ends the request before it erases the facts. No record of them may follow.
      const records = request === null || isFinal(request) ? [] : recorded
      const notes = request === null ? [] : noteOf(pending, at)
      const change = {
        ...part,
        writes: [...(part.writes ?? []), ...records, ...notes],
        expects: records.length === 0 ? [] : [Start.factsStored(pending.request.application_id)],
        finishes: job === null ? [] : [job]
      }
      yield* storage.commit(Change.make(pending.workspace_id, change))
      const isDropped = isAnswer(checked) && (part.writes ?? []).length === 0
      if (isDropped) yield* AskLoading.logLate(pending.candidate.adapter.carrier.id, pending.request.id)
    })
    yield* retryOnConflict(attempt)
  })

  return { finish, load, applyAndCommit }
})

/** The common parts of ask jobs: loading a pending ask, and committing the changes from its answer. */
export class AskJobs extends Context.Service<AskJobs, Effect.Success<typeof make>>()("@quotewire/core/AskJobs") {
  static readonly layer: Layer.Layer<
    AskJobs,
    never,
    Storage | Seal | Ids | AskLoading.AskLoading | CarrierReferences.CarrierReferences | Recorder.Recorder
  > = Layer.effect(AskJobs, make)
}

const isAnswer = ({ kind }: CarrierReply): boolean => kind !== "pending" && kind !== "unavailable"

/** The note of an ask that has changed the circuit of its carrier; none if it has not. */
const noteOf = ({ ask, candidate, draft, request }: AskLoading.PendingAsk, at: number) => {
  const change = draft?.circuit_change ?? null
  if (change === null) return []
  const { id: carrier_id } = candidate.adapter.carrier
  const about = { quote_request_id: request.id, carrier_id, attempt: ask.attempt, at }
  return [CircuitNote.toStored(about, change.to, change)]
}

/** The call to the adapter that a job makes. */
const exchangeOf = ({ kind }: ClaimedJob): AskLoading.JobExchange =>
  kind === "poll_carrier" ? "poll" : kind === "carrier_callback" ? "callback" : "ask"

import { Effect, Predicate } from "effect"
import { Seal } from "../../access/sealing/Seal.ts"
import { Workspaces } from "../../access/Workspaces.ts"
import * as AnswerRules from "../../carriers/AnswerRules.ts"
import {
  type CarrierAdapter,
  CarrierAdapters,
  type CarrierCallback,
  type CarrierReply,
  maxAttemptMs
} from "../../carriers/Carrier.ts"
import { checkedReply, logUnavailable, orIfThrown } from "../../carriers/CarrierClient.ts"
import * as Reply from "../../carriers/Reply.ts"
import * as ExchangeDraft from "../../carriers/recorder/ExchangeDraft.ts"
import * as Recorder from "../../carriers/recorder/Recorder.ts"
import * as ClockHold from "../../runner/ClockHold.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import { factsStored } from "../ApplicationRecord.ts"
import { isPending, type QuoteRequest } from "../QuoteRequest.ts"
import { AskJobs } from "./AskJobs.ts"
import * as CarrierReferences from "./CarrierReferences.ts"
import * as PendingAsks from "./PendingAsks.ts"

/** Makes the functions that apply carriers' callbacks, and that play simulated carriers' callbacks. */
export const make = Effect.gen(function* () {
  const seal = yield* Seal
  const workspaces = yield* Workspaces
  const askRecords = yield* PendingAsks.PendingAsks
  const { finish, load, applyAndCommit } = yield* AskJobs
  const recorder = yield* Recorder.Recorder
  const read = yield* makeRead

  const callback = Effect.fnUntraced(function* (carrier_id: string, carrierCallback: CarrierCallback) {
    const matched = yield* read(carrier_id, carrierCallback)
    if (matched === null) return false
    const { draft } = matched
    const { now } = yield* workspaces.moment(matched.workspace_id)
    const request = yield* askRecords.request(matched.workspace_id, matched.id)
    const pending =
      request !== null && isPending(request, carrier_id)
        ? yield* askRecords.pending(matched.workspace_id, request, {
            carrier_id,
            attempt: 1,
            now,
            exchange: "callback"
          })
        : null
    if (pending !== null) yield* applyAndCommit({ ...pending, draft }, { reply: matched.reply, at: now }, null)
    else {
      yield* PendingAsks.logLate(carrier_id, matched.id)
      if (request !== null)
        yield* recorder.endAlone(
          draft,
          lateSubject(matched.workspace_id, request, now),
          factsStored(request.application_id)
        )
    }
    return true
  })

  /**
   * Plays a simulated carrier's callback, which is then handled like any other callback. For a real carrier, this only
   * finishes the job, whose purpose was to hold the clock until now.
   */
  const play = Effect.fnUntraced(function* (job: ClaimedJob, now: number) {
    if (ClockHold.holds(job)) return yield* finish(job)
    const payload = JobPayload.read(job, "carrier_callback")
    const pending = yield* load(job, payload, now)
    if (pending === null) return
    const { adapter } = pending.candidate
    const ref = yield* CarrierReferences.openAccepted(seal, job.workspace_id, payload)
    const played = Effect.suspend(
      () => (ref === null ? null : adapter.simulation?.callback(pending.ask, ref)) ?? Effect.succeed(null)
    )
    const carrierCallback = yield* PendingAsks.logged(pending, orIfThrown(() => null)(played))
    // A simulated carrier's callback cannot be too early: it is played in this process, which already knows the
    // reference.
    const matched =
      carrierCallback === null
        ? null
        : yield* Effect.catchTag(read(adapter.carrier.id, carrierCallback), "CallbackTooEarly", () =>
            Effect.succeed(null)
          )
    yield* applyAndCommit(pending, { reply: matched?.reply ?? Reply.unavailable("unreadable_answer"), at: now }, job)
  })

  return { callback, play }
})

/**
 * Makes a function that reads the reply in a callback and finds its request. The function returns null if the callback
 * is not genuine, is not an answer, or matches no ask.
 */
const makeRead = Effect.gen(function* () {
  const adapters = yield* CarrierAdapters
  const refs = yield* CarrierReferences.CarrierReferences
  const recorder = yield* Recorder.Recorder

  const readBy = Effect.fnUntraced(function* (adapter: CarrierAdapter, carrierCallback: CarrierCallback) {
    const read = yield* Effect.suspend(() => adapter.callback?.(carrierCallback) ?? Effect.succeed(null)).pipe(
      // Anybody can send callbacks, so a callback on which the adapter hangs must not stay open forever.
      Effect.timeoutOrElse({
        duration: maxAttemptMs,
        orElse: () => Effect.as(Effect.logWarning("A carrier's callback was not read in time"), null)
      }),
      orIfThrown(() => null)
    )
    if (!Predicate.isObject(read)) return null
    const { ref, reply: answer } = read
    const isAnswer = answer?.kind !== "pending" || (answer.poll_after_ms !== null && adapter.poll !== undefined)
    if (!isAnswer) return yield* Effect.as(AnswerRules.log([noAnswer]), null)
    const request = typeof ref === "string" ? yield* refs.find(adapter.carrier.id, ref) : null
    if (request === null) return yield* Effect.as(AnswerRules.log([noRef]), null)
    const reply = yield* Effect.tap(checkedReply(answer), () => logUnavailable(answer)).pipe(
      Effect.annotateLogs({ quote_request_id: request.id })
    )
    return { ...request, reply }
  })

  return Effect.fnUntraced(
    function* (carrierId: string, carrierCallback: CarrierCallback) {
      const adapter = adapters.find(({ carrier }) => carrier.id === carrierId)
      if (adapter?.callback === undefined) return null
      const draft = yield* recorder.beginCallback(adapter, carrierCallback)
      const matched = yield* ExchangeDraft.during(draft)(
        ExchangeDraft.watched(null, answerOf, readBy(adapter, carrierCallback))
      )
      if (matched !== null) return { ...matched, draft }
      // No quote request was found for this callback, so the exchange is counted and reported, but not stored.
      yield* recorder.end(draft, null)
      return null
    },
    (read, carrier_id) => Effect.annotateLogs(read, { carrier_id })
  )
})

const answerOf = (matched: { readonly reply: CarrierReply } | null) => matched?.reply ?? ({ kind: "refused" } as const)

/** The subject for recording a callback that came after its ask was answered. */
const lateSubject = (workspace_id: WorkspaceId, request: QuoteRequest, now: number): Recorder.ExchangeSubject => ({
  workspace_id,
  quote_request_id: request.id,
  application_id: request.application_id,
  environment: request.environment,
  line: request.line,
  attempt: 1,
  at: now,
  connection: {}
})

const noRef = {
  path: "ref",
  message: "Must be the idempotency_key of an ask to this carrier, or the ref of its pending reply."
}
const noAnswer = {
  path: "reply.kind",
  message:
    "Must not be pending, because a callback delivers the answer. To poll for the answer instead, define poll and set poll_after_ms."
}

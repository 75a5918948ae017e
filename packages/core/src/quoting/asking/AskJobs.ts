import { Context, Effect, Layer, Option, Random } from "effect"
import type { Seal } from "../../access/sealing/Seal.ts"
import { Workspaces } from "../../access/Workspaces.ts"
import type { CarrierReply, Unavailable } from "../../carriers/Carrier.ts"
import { type AskResult, CarrierClient, repeatPause } from "../../carriers/CarrierClient.ts"
import * as Reply from "../../carriers/Reply.ts"
import * as Recorder from "../../carriers/recorder/Recorder.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import * as Change from "../../storage/Change.ts"
import type { ClaimedJob, NewJob } from "../../storage/Job.ts"
import { commit, retryOnConflict, Storage } from "../../storage/Storage.ts"
import type { Ids } from "../../wire/Ids.ts"
import { secondMs } from "../../wire/Timestamp.ts"
import * as ApplicationRecord from "../ApplicationRecord.ts"
import type { ChangePart } from "../QuoteChange.ts"
import * as QuoteRequest from "../QuoteRequest.ts"
import * as AskMark from "./AskMark.ts"
import * as CarrierReferences from "./CarrierReferences.ts"
import * as CircuitNote from "./CircuitNote.ts"
import * as PendingAsks from "./PendingAsks.ts"
import { lacksConnection, logged, type PendingAsk } from "./PendingAsks.ts"
import * as ReplyRules from "./ReplyRules.ts"
import * as SeenRequests from "./SeenRequests.ts"

const make = Effect.gen(function* () {
  const jobs = { ...(yield* makeJobs), applyAndCommit: yield* makeApply, answeredAt: yield* makeAnsweredAt }
  return { ...jobs, ask: yield* makeAsk(jobs) }
})

/** Asks carriers, and commits what follows from their answers, including answers to polls and in callbacks. */
export class AskJobs extends Context.Service<AskJobs, Effect.Success<typeof make>>()("@quotewire/core/AskJobs") {
  static readonly layer: Layer.Layer<
    AskJobs,
    never,
    | Storage
    | Seal
    | Ids
    | Workspaces
    | CarrierClient
    | PendingAsks.PendingAsks
    | CarrierReferences.CarrierReferences
    | Recorder.Recorder
  > = Layer.effect(AskJobs, make)
}

/** Makes the functions with which every ask job begins and ends. */
const makeJobs = Effect.gen(function* () {
  const storage = yield* Storage
  const askRecords = yield* PendingAsks.PendingAsks

  /** Finishes a job in the same change that stores its results. */
  const finish = (job: ClaimedJob, part: Partial<ChangePart> & Partial<Pick<Change.Change, "expects">> = {}) =>
    storage.commit(Change.make(job.workspace_id, { ...part, finishes: [job] }))

  /** Loads a job's pending ask. If the ask is no longer pending, finishes the job and returns null. */
  const load = Effect.fnUntraced(function* (
    job: ClaimedJob,
    { quote_request_id, carrier_id, attempt }: JobPayload.Payloads["ask_carrier"],
    now: number
  ) {
    const request = yield* askRecords.request(job.workspace_id, quote_request_id)
    if (request !== null && QuoteRequest.isPending(request, carrier_id)) {
      const pending = yield* askRecords.pending(job.workspace_id, request, {
        carrier_id,
        attempt,
        now,
        exchange: exchangeOf(job)
      })
      if (pending !== null) return pending
    }
    yield* PendingAsks.logNotCalled(exchangeOf(job), carrier_id, quote_request_id)
    yield* finish(job)
    return null
  })

  return { finish, load }
})

/**
 * Makes a function that applies a carrier's reply and commits the change. `job` is null if the reply came in a real
 * carrier's callback.
 *
 * The first decision starts from the request as it was loaded, or as a later answer in this process has changed it.
 * After a conflict, only the decision is repeated. Rerunning the job would ask the carrier again.
 */
const makeApply = Effect.gen(function* () {
  const storage = yield* Storage
  const askRecords = yield* PendingAsks.PendingAsks
  const refs = yield* CarrierReferences.CarrierReferences
  const applyReply = yield* ReplyRules.make
  const recorder = yield* Recorder.Recorder

  return Effect.fnUntraced(function* (
    pendingAsk: PendingAsk,
    { reply, ...arrived }: ReplyRules.ArrivedReply,
    job: ClaimedJob | null,
    seen: SeenRequests.Seen = SeenRequests.nothing()
  ) {
    const { at } = arrived
    const secrets = recorder.secretsOf(pendingAsk.draft, pendingAsk.ask.connection)
    const { checked, recorded } = yield* logged(
      pendingAsk,
      Effect.gen(function* () {
        const read = yield* ReplyRules.checkReply(pendingAsk, reply, secrets, at)
        return {
          checked: read.kind === "pending" ? yield* refs.accept(pendingAsk, read) : read,
          recorded: yield* recorder.end(pendingAsk.draft, PendingAsks.exchangeSubjectOf(pendingAsk))
        }
      })
    )
    const isOvertaken = seen.newest !== null && seen.newest.version > pendingAsk.request.version
    let requestRead = isOvertaken ? seen.newest : pendingAsk.request
    const attempt = Effect.gen(function* () {
      const request = requestRead ?? (yield* askRecords.request(pendingAsk.workspace_id, pendingAsk.request.id))
      requestRead = null
      // If the request has been erased in the meantime, nothing is left to answer.
      const part: Partial<ChangePart> =
        request === null ? {} : yield* applyReply({ ...pendingAsk, request }, { ...arrived, reply: checked })
      // An erasure ends the request before it erases the facts. From then on, no record about the facts may be added.
      const records = request === null || QuoteRequest.isFinal(request) ? [] : recorded
      const notes = request === null ? [] : noteOf(pendingAsk, at)
      const change = {
        ...part,
        writes: [...(part.writes ?? []), ...records, ...notes],
        expects: records.length === 0 ? [] : [ApplicationRecord.factsStored(pendingAsk.request.application_id)],
        finishes: job === null ? [] : [job]
      }
      yield* storage.commit(Change.make(pendingAsk.workspace_id, change))
      seen.newest = requestIn(part) ?? request
      const isDropped = isAnswer(checked) && (part.writes ?? []).length === 0
      if (isDropped) yield* PendingAsks.logLate(pendingAsk.candidate.adapter.carrier.id, pendingAsk.request.id)
    })
    yield* retryOnConflict(attempt)
  })
})

/** The version of a request that a part writes; null if the part writes no request. */
const requestIn = ({ writes = [] }: Partial<ChangePart>): QuoteRequest.QuoteRequest | null => {
  const written = writes.find(({ kind }) => kind === QuoteRequest.kind.name)
  return written === undefined ? null : QuoteRequest.kind.value(written)
}

/** The functions that ask, poll and callback jobs share. */
interface Jobs extends Effect.Success<typeof makeJobs> {
  readonly applyAndCommit: Effect.Success<typeof makeApply>
  readonly answeredAt: Effect.Success<typeof makeAnsweredAt>
}

/**
 * Makes a function that returns when an answer came: the due time for an ordered job, and otherwise the current time,
 * because the call took real time.
 */
const makeAnsweredAt = Effect.map(
  Workspaces,
  (workspaces) => (pendingAsk: PendingAsk, claimedAt: number) =>
    pendingAsk.queue.ordered
      ? Effect.succeed(claimedAt)
      : Effect.map(workspaces.moment(pendingAsk.workspace_id), ({ now }) => now)
)

const makeAsk = Effect.fnUntraced(function* ({ answeredAt, applyAndCommit, finish, load }: Jobs) {
  const client = yield* CarrierClient
  const begin = yield* makeBegin
  const isWanted = yield* makeIsWanted
  const seenRequests = new SeenRequests.SeenRequests()

  const carryOut = Effect.fnUntraced(function* ({ job, pending, seen }: ClaimedAsk, step: AskStep, now: number) {
    if ("later" in step) return yield* finish(job, { jobs: [step.later] })
    const { again, never_asked = false, note, reply } = step
    if (note !== undefined) yield* logged(pending, note)
    const again_after_ms = again === undefined ? null : yield* again
    yield* applyAndCommit({ ...pending, never_asked }, { reply, at: now, again_after_ms }, job, seen)
  })

  const ask = Effect.fnUntraced(function* (job: ClaimedJob, claimedAt: number, seen: SeenRequests.Seen) {
    const payload = JobPayload.read(job, "ask_carrier")
    const pending = yield* load(job, payload, claimedAt)
    if (pending === null) return
    const claimed = { job, payload, pending, seen, at: claimedAt }
    const instead = insteadOfAsking(claimed)
    if (instead !== null) return yield* carryOut(claimed, instead, claimedAt)
    const askResult = yield* logged(pending, client.ask(pending, begin(pending, claimedAt), isWanted(pending)))
    const now = askResult._tag === "replied" ? yield* answeredAt(pending, claimedAt) : claimedAt
    yield* carryOut(claimed, afterAsking(claimed, askResult, now), now)
  })

  // Ordered jobs run one after another and may be decided again, so each of them gets its own state.
  return (job: ClaimedJob, claimedAt: number) =>
    job.ordered
      ? Effect.suspend(() => ask(job, claimedAt, SeenRequests.nothing()))
      : seenRequests.during(JobPayload.read(job, "ask_carrier").quote_request_id, (seen) => ask(job, claimedAt, seen))
})

/** A claimed job, and the ask to which the job belongs. */
interface ClaimedAsk {
  readonly job: ClaimedJob
  readonly payload: JobPayload.Payloads["ask_carrier"]
  readonly pending: PendingAsk
  readonly seen: SeenRequests.Seen
  readonly at: number
}

/** What a job for an ask leads to: a later job for the ask, or a reply that is applied. */
type AskStep =
  | { readonly later: NewJob }
  | {
      readonly reply: CarrierReply
      /**
       * Decides how long to wait before the ask is repeated; null if the ask is not repeated. By default it is not
       * repeated.
       */
      readonly again?: Effect.Effect<number | null>
      /** Logs why there is no answer. */
      readonly note?: Effect.Effect<void>
      /** Whether it is certain that the carrier was not asked; false by default. */
      readonly never_asked?: boolean
    }

/** The step that replaces a call to the carrier; null if the carrier must be called. */
const insteadOfAsking = (claimed: ClaimedAsk): AskStep | null => {
  const { at, job, payload, pending } = claimed
  // A postponed job is ordered, and an ordered job can be decided more than once. Therefore it does not call the
  // carrier itself, but queues a separate, unordered job for the call.
  if (payload.put_off === true) {
    return { later: PendingAsks.askJob(pending, "ask_carrier", PendingAsks.payloadOf(pending), at) }
  }
  const never_asked = isFirstAttempt(claimed)
  if (isTooLate(pending)) return { reply: payload.had_no_room === true ? notNow.no_room : silentReply, never_asked }
  if (lacksConnection(pending)) return { reply: silentReply, never_asked, note: logWithout }
  return wasCutOff(job, pending) && pending.candidate.line.idempotent
    ? { reply: cutOffReply, note: noteDeath(pending, at), again: pauseBeforeSecondAttempt(pending) }
    : null
}

/** The step that follows an attempt to call the carrier. */
const afterAsking = (claimed: ClaimedAsk, askResult: AskResult, now: number): AskStep => {
  const { at, job, payload, pending } = claimed
  switch (askResult._tag) {
    case "replied":
      return { reply: askResult.reply, again: pauseBeforeRepeat(pending, askResult.reply, now) }
    case "in_doubt":
      return { reply: silentReply, ...(wasCutOff(job, pending) && { note: noteDeath(pending, at) }) }
    default: {
      const { _tag: reason, again_after_ms } = askResult
      if (!hasTimeAfter(pending, again_after_ms)) return { reply: notNow[reason], never_asked: isFirstAttempt(claimed) }
      const due = { ...pending.queue, due_at: at + again_after_ms }
      return { later: JobPayload.make("ask_carrier", { ...payload, had_no_room: reason === "no_room" }, due) }
    }
  }
}

/**
 * Whether this is the first claim of the first attempt. After an earlier claim, the carrier may already have been
 * asked.
 */
const isFirstAttempt = ({ job, payload }: ClaimedAsk): boolean => payload.attempt === 1 && job.lease === 1

/**
 * Makes a function that stores a mark before an ask begins, for carriers that cannot recognize a repeated ask. The
 * function returns whether the ask may be made.
 *
 * If an earlier run has already begun this attempt, nobody knows whether the carrier was asked. Such an ask is never
 * repeated.
 */
const makeBegin = Effect.map(
  Storage,
  (storage) =>
    ({ ask, workspace_id, request, candidate }: PendingAsk, now: number) => {
      if (candidate.line.idempotent) return Effect.succeed(true)
      const writes = [AskMark.toStored(request.id, candidate.adapter.carrier.id, ask.attempt, now)]
      return commit(storage, Change.make(workspace_id, { writes })).pipe(
        Effect.as(true),
        Effect.catchTag("VersionConflict", () => Effect.succeed(false))
      )
    }
)

/**
 * Makes a function that returns whether an answer would still be used. The function returns false if the request has
 * ended, for example because it was erased.
 */
const makeIsWanted = Effect.map(
  Storage,
  (storage) =>
    ({ candidate, request, workspace_id }: PendingAsk) =>
      Effect.map(
        storage.get({ workspace_id, kind: QuoteRequest.kind.name, id: request.id }),
        Option.exists((stored) => QuoteRequest.isPending(QuoteRequest.kind.value(stored), candidate.adapter.carrier.id))
      )
)

/**
 * Whether an earlier run of this call has no result, because its process died or hangs. The carrier's answer may have
 * caused that, and could do the same to this process.
 */
export const wasCutOff = ({ expired_leases }: ClaimedJob, { candidate }: PendingAsk): boolean =>
  expired_leases > 0 && candidate.adapter.simulation === undefined

/**
 * How long to wait before repeating a call that was cut off. The random wait spreads a dead process's calls, so that,
 * if one call kills the next process too, few other calls are lost with that process.
 */
export const pauseAfterDeath = Random.nextIntBetween(secondMs, 10 * secondMs)

/**
 * How long to wait before the second attempt after the first attempt was cut off; null if no second attempt may follow,
 * or if no time is left for one.
 */
const pauseBeforeSecondAttempt = (pendingAsk: PendingAsk): Effect.Effect<number | null> =>
  pendingAsk.ask.attempt > 1
    ? Effect.succeed(null)
    : Effect.map(pauseAfterDeath, (pauseMs) => (hasTimeAfter(pendingAsk, pauseMs) ? pauseMs : null))

/** Notes in the exchange's draft and in the log that the process that made an earlier call died. */
export const noteDeath = ({ draft }: PendingAsk, now: number): Effect.Effect<void> =>
  Effect.andThen(
    Effect.sync(() => draft?.cutOff(now)),
    Effect.logWarning("A call to a carrier was cut off: the process that made the call ended or does not respond")
  )

/** The reply that stands in for a call that was cut off. */
export const cutOffReply = Reply.unavailable("carrier_error")

/** The reply that stands in for an ask that cannot be made, or that may already have been made. */
export const silentReply = Reply.unavailable("timeout")

const logWithout = Effect.logWarning("Did not ask a carrier: its connection was removed after the request began")

/** The replies that stand in for a carrier that cannot be asked in the time left. */
const notNow = { no_room: Reply.unavailable("rate_limited"), closed: Reply.unavailable("maintenance") } as const

/** Whether an answer can still be expected if the carrier is asked after this wait. */
const hasTimeAfter = ({ candidate: { line }, ask }: PendingAsk, waitMs: number): boolean =>
  ask.deadline - ask.now - waitMs >= line.typical_ms

/** Whether too little time is left to ask. */
const isTooLate = (pendingAsk: PendingAsk): boolean =>
  pendingAsk.candidate.adapter.simulation === undefined && !hasTimeAfter(pendingAsk, 0)

/** The maximum number of attempts at an ask while the carrier rate-limits it. */
const maxAttempts = 5

/**
 * How long to wait before retrying an ask: at least as long as the carrier requests. Null if the ask must not be
 * retried or too little time is left.
 */
const pauseBeforeRepeat = Effect.fnUntraced(function* (pendingAsk: PendingAsk, reply: CarrierReply, now: number) {
  if (reply.kind !== "unavailable" || !mayRepeat(pendingAsk, reply)) return null
  const { ask, candidate } = pendingAsk
  const backoffMs = (yield* repeatPause) * 2 ** (ask.attempt - 1)
  const pauseMs = Math.max(backoffMs, reply.retry_after_ms ?? 0)
  const hasTime = ask.deadline - now - pauseMs >= candidate.line.typical_ms
  return candidate.adapter.simulation !== undefined || hasTime ? pauseMs : null
})

/**
 * Whether an ask may be retried after this reply. After `rate_limited` with a time to wait, it may be retried, because
 * the carrier did not accept it. After a temporary failure, it may be retried once, if the carrier recognizes repeated
 * asks.
 */
const mayRepeat = (
  { ask, candidate: { line } }: PendingAsk,
  { final: isFinal = false, reason, retry_after_ms }: Unavailable
): boolean => {
  if (isFinal) return false
  if (reason === "rate_limited") return retry_after_ms !== undefined && ask.attempt < maxAttempts
  const isTemporary = reason === "carrier_error" || reason === "timeout" || retry_after_ms !== undefined
  return isTemporary && line.idempotent && ask.attempt === 1
}

const isAnswer = ({ kind }: CarrierReply): boolean => kind !== "pending" && kind !== "unavailable"

/** The note that an ask changed its carrier's circuit; empty if the circuit did not change. */
const noteOf = ({ ask, candidate, draft, request }: PendingAsk, now: number) => {
  const change = draft?.circuit_change ?? null
  if (change === null) return []
  const { id: carrier_id } = candidate.adapter.carrier
  const subject = { quote_request_id: request.id, carrier_id, attempt: ask.attempt, at: now }
  return [CircuitNote.toStored(subject, change.to, change)]
}

/** The kind of exchange with the adapter that a job makes. */
const exchangeOf = ({ kind }: ClaimedJob): PendingAsks.JobExchangeType =>
  kind === "poll_carrier" ? "poll" : kind === "carrier_callback" ? "callback" : "ask"

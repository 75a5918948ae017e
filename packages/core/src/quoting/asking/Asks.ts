import { Effect } from "effect"
import { Workspaces } from "../../access/Workspaces.ts"
import type { CarrierReply } from "../../carriers/Carrier.ts"
import { CarrierClient, repeatPause } from "../../carriers/CarrierClient.ts"
import * as Reply from "../../carriers/Reply.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import * as Change from "../../storage/Change.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import { commit, Storage } from "../../storage/Storage.ts"
import * as AskJobs from "./AskJobs.ts"
import { lacksConnection, logged, type PendingAsk } from "./AskLoading.ts"
import * as BegunAsk from "./BegunAsk.ts"

/** Asks carriers, and polls those that have accepted an ask. */
export const make = Effect.gen(function* () {
  const client = yield* CarrierClient
  const workspaces = yield* Workspaces
  const { finish, load, applyAndCommit } = yield* AskJobs.make
  const begin = yield* makeBegin

  /** When an answer came: the job's due time if its jobs are ordered, otherwise now, because real time has passed. */
  const answeredAt = (pending: PendingAsk, at: number) =>
    pending.ordered ? Effect.succeed(at) : Effect.map(workspaces.moment(pending.workspace_id), ({ now }) => now)

  const ask = Effect.fnUntraced(function* (job: ClaimedJob, at: number) {
    const payload = JobPayload.read(job, "ask_carrier")
    const pending = yield* load(job, payload, at)
    if (pending === null) return
    if (isTooLate(pending)) {
      return yield* applyAndCommit(pending, payload.had_no_room === true ? notNow.no_room : silence, at, job)
    }
    if (lacksConnection(pending)) {
      yield* logged(pending, logWithout)
      return yield* applyAndCommit(pending, silence, at, job)
    }
    const asked = yield* logged(pending, client.ask(pending, begin(pending, at)))
    if (asked._tag === "in_doubt") return yield* applyAndCommit(pending, silence, at, job)
    if (asked._tag !== "replied") {
      if (!hasTimeAfter(pending, asked.again_after_ms))
        return yield* applyAndCommit(pending, notNow[asked._tag], at, job)
      const due = { due_at: at + asked.again_after_ms, ordered: job.ordered }
      const again = { ...payload, had_no_room: asked._tag === "no_room" }
      return yield* finish(job, { jobs: [JobPayload.make("ask_carrier", again, due)] })
    }
    const now = yield* answeredAt(pending, at)
    yield* applyAndCommit(pending, asked.reply, now, job, yield* pauseBeforeRepeat(pending, asked.reply, now))
  })

  const poll = Effect.fnUntraced(function* (job: ClaimedJob, at: number) {
    const payload = JobPayload.read(job, "poll_carrier")
    const { ref } = payload
    const pending = yield* load(job, payload, at)
    if (pending === null) return
    const polled = lacksConnection(pending) ? null : yield* logged(pending, client.poll(pending, ref))
    if (polled?._tag === "no_room") {
      const due = { due_at: at + polled.again_after_ms, ordered: job.ordered }
      return yield* finish(job, { jobs: [JobPayload.make("poll_carrier", payload, due)] })
    }
    const reply = polled?.value ?? silence
    const now = yield* answeredAt(pending, at)
    if (reply.kind !== "unavailable") return yield* applyAndCommit(pending, reply, now, job)
    // The carrier has accepted the ask. A failed poll is not an answer, and the next poll may succeed.
    const again: CarrierReply = { kind: "pending", ref, poll_after_ms: failed_poll_after_ms }
    yield* applyAndCommit(pending, again, now, job, Math.max(failed_poll_after_ms, reply.retry_after_ms ?? 0))
  })

  return { ask, poll }
})

/**
 * For a carrier that cannot recognize a repeat: commits that the ask begins. Returns whether the ask may be made.
 *
 * If an earlier run has already begun this try, nobody knows whether the carrier was asked. Such an ask is never made twice.
 */
const makeBegin = Effect.map(
  Storage,
  (storage) =>
    ({ ask, workspace_id, request, candidate }: PendingAsk, at: number) => {
      if (candidate.line.idempotent) return Effect.succeed(true)
      const writes = [BegunAsk.toStored(request.id, candidate.adapter.carrier.id, ask.attempt, at)]
      return commit(storage, Change.make(workspace_id, { writes })).pipe(
        Effect.as(true),
        Effect.catchTag("VersionConflict", () => Effect.succeed(false))
      )
    }
)

const failed_poll_after_ms = 10_000

/** The reply for an ask that cannot be made, or may have been made before. */
const silence = Reply.unavailable("timeout")

const logWithout = Effect.logWarning(
  "A carrier is not asked, because its connection was removed after the request began"
)

/** The replies for a carrier that cannot be asked in the time that is left. */
const notNow = { no_room: Reply.unavailable("rate_limited"), closed: Reply.unavailable("maintenance") } as const

/** Whether an answer can still be expected if the carrier is asked after a wait. */
const hasTimeAfter = ({ candidate: { line }, ask }: PendingAsk, wait_ms: number): boolean =>
  ask.deadline - ask.now - wait_ms >= line.typical_ms

/** Whether too little time is left to ask. */
const isTooLate = (pending: PendingAsk): boolean =>
  pending.candidate.adapter.simulation === undefined && !hasTimeAfter(pending, 0)

/** How often an ask is made at most while the carrier answers that it gets too many. */
const max_tries = 5

/**
 * How long to wait before an ask is made again: at least as long as the carrier wants; null if it is not made again, or too
 * little time is left.
 */
const pauseBeforeRepeat = Effect.fnUntraced(function* (pending: PendingAsk, reply: CarrierReply, now: number) {
  if (reply.kind !== "unavailable" || !mayRepeat(pending, reply)) return null
  const { ask, candidate } = pending
  const backoff_ms = (yield* repeatPause) * 2 ** (ask.attempt - 1)
  const pause_ms = Math.max(backoff_ms, reply.retry_after_ms ?? 0)
  const hasTime = ask.deadline - now - pause_ms >= candidate.line.typical_ms
  return candidate.adapter.simulation !== undefined || hasTime ? pause_ms : null
})

/**
 * Whether an ask may be made again after this reply. After a `rate_limited` that names a wait it may, because the carrier has
 * not taken it. After a failure that may pass it may once, if the carrier recognizes repeats.
 */
const mayRepeat = (
  { ask, candidate: { line } }: PendingAsk,
  { reason, retry_after_ms }: Extract<CarrierReply, { kind: "unavailable" }>
): boolean => {
  if (reason === "rate_limited") return retry_after_ms !== undefined && ask.attempt < max_tries
  const passes = reason === "carrier_error" || reason === "timeout" || retry_after_ms !== undefined
  return passes && line.idempotent && ask.attempt === 1
}

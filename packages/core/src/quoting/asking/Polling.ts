import { Effect } from "effect"
import { Seal } from "../../access/sealing/Seal.ts"
import type { CarrierReply } from "../../carriers/Carrier.ts"
import { CarrierClient } from "../../carriers/CarrierClient.ts"
import * as CarrierFailure from "../../carriers/CarrierFailure.ts"
import * as Reply from "../../carriers/Reply.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import { AskJobs, cutOffReply, noteDeath, pauseAfterDeath, silentReply, wasCutOff } from "./AskJobs.ts"
import * as CarrierReferences from "./CarrierReferences.ts"
import { lacksConnection, logged, type PendingAsk } from "./PendingAsks.ts"

/** Polls the carriers that have accepted an ask. */
export const make = Effect.gen(function* () {
  const client = yield* CarrierClient
  const seal = yield* Seal
  const { answeredAt, applyAndCommit, finish, load } = yield* AskJobs

  return Effect.fnUntraced(function* (job: ClaimedJob, claimedAt: number) {
    const payload = JobPayload.read(job, "poll_carrier")
    const pending = yield* load(job, payload, claimedAt)
    if (pending === null) return
    if (wasCutOff(job, pending)) {
      yield* logged(pending, noteDeath(pending, claimedAt))
      if (payload.was_cut_off === true)
        return yield* applyAndCommit(pending, { reply: cutOffReply, at: claimedAt }, job)
      const due = { ...pending.queue, due_at: claimedAt + (yield* pauseAfterDeath) }
      return yield* finish(job, { jobs: [JobPayload.make("poll_carrier", { ...payload, was_cut_off: true }, due)] })
    }
    const ref = yield* CarrierReferences.openAccepted(seal, job.workspace_id, payload)
    if (ref === null)
      return yield* applyAndCommit(pending, { reply: Reply.failed("unreadable_answer"), at: claimedAt }, job)
    const polled = lacksConnection(pending) ? null : yield* logged(pending, client.poll(pending, ref))
    if (polled?._tag === "no_room") {
      const due = { ...pending.queue, due_at: claimedAt + polled.again_after_ms }
      return yield* finish(job, { jobs: [JobPayload.make("poll_carrier", payload, due)] })
    }
    const reply = polled?.value ?? silentReply
    const now = yield* answeredAt(pending, claimedAt)
    const waitMs = pauseAfterPoll(pending, reply, now)
    if (waitMs === null) return yield* applyAndCommit(pending, { reply, at: now }, job)
    // The carrier has accepted the ask. A failed poll is not an answer, because the next poll may succeed.
    const again: CarrierReply = { kind: "pending", ref, poll_after_ms: failedPollAfterMs }
    yield* applyAndCommit(pending, { reply: again, at: now, again_after_ms: waitMs }, job)
  })
})

const failedPollAfterMs = 10_000

/**
 * How long to wait before a carrier is polled again after a failed poll. Null if the reply must be applied: it is an
 * answer or a final failure, or no time is left for another poll and no callback can come.
 */
const pauseAfterPoll = (
  { ask, candidate: { adapter } }: PendingAsk,
  reply: CarrierReply,
  now: number
): number | null => {
  if (reply.kind !== "unavailable" || !CarrierFailure.mayAnswerLater(reply)) return null
  const waitMs = Math.max(failedPollAfterMs, reply.retry_after_ms ?? 0)
  return now + waitMs < ask.deadline || adapter.callback !== undefined ? waitMs : null
}

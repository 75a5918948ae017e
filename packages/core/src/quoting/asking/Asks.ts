import { Effect } from "effect"
import { Workspaces } from "../../access/Workspaces.ts"
import type { CarrierReply } from "../../carriers/Carrier.ts"
import { CarrierClient, repeatPause } from "../../carriers/CarrierClient.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import * as Change from "../../storage/Change.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import { commit, Storage } from "../../storage/Storage.ts"
import * as AskJobs from "./AskJobs.ts"
import { lacksConnection } from "./AskLoading.ts"
import * as BegunAsk from "./BegunAsk.ts"
import { logged, type PendingAsk } from "./PendingAsk.ts"

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
    if (isTooLate(pending)) return yield* applyAndCommit(pending, silence, at, job)
    if (lacksConnection(pending)) {
      yield* logged(pending, logWithout)
      return yield* applyAndCommit(pending, silence, at, job)
    }
    const asked = yield* logged(pending, client.ask(pending, begin(pending, at)))
    if (asked._tag === "in_doubt") return yield* applyAndCommit(pending, silence, at, job)
    if (asked._tag === "no_room" || (asked._tag === "closed" && hasTimeAfter(pending, asked.again_after_ms))) {
      const due = { due_at: at + asked.again_after_ms, ordered: job.ordered }
      return yield* finish(job, { jobs: [JobPayload.make("ask_carrier", payload, due)] })
    }
    if (asked._tag === "closed") return yield* applyAndCommit(pending, closed, at, job)
    const now = yield* answeredAt(pending, at)
    const pause_ms = mayRepeat(pending, asked.reply, now) ? yield* repeatPause : null
    yield* applyAndCommit(pending, asked.reply, now, job, pause_ms)
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
    // The carrier has accepted the ask. A failed poll is not an answer, and the next poll may succeed.
    const again: CarrierReply = { kind: "pending", ref, poll_after_ms: failed_poll_after_ms }
    const now = yield* answeredAt(pending, at)
    yield* applyAndCommit(pending, reply.kind === "unavailable" ? again : reply, now, job)
  })

  return { ask, poll }
})

/**
 * For a carrier that cannot recognize a repeat: commits that the ask begins. Returns whether the ask may be made.
 *
 * If an earlier run has already begun it, nobody knows whether the carrier was asked. Such an ask is never made twice.
 */
const makeBegin = Effect.map(Storage, (storage) => ({ workspace_id, request, candidate }: PendingAsk, at: number) => {
  if (candidate.line.idempotent) return Effect.succeed(true)
  const writes = [BegunAsk.toStored(request.id, candidate.adapter.carrier.id, at)]
  return commit(storage, Change.make(workspace_id, { writes })).pipe(
    Effect.as(true),
    Effect.catchTag("VersionConflict", () => Effect.succeed(false))
  )
})

const failed_poll_after_ms = 10_000

/** The reply for an ask that cannot be made, or may have been made before. */
const silence: CarrierReply = { kind: "unavailable", reason: "timeout" }

const logWithout = Effect.logWarning(
  "A carrier is not asked, because its connection was removed after the request began"
)

/** The reply for a carrier whose maintenance outlasts the request. */
const closed: CarrierReply = { kind: "unavailable", reason: "maintenance" }

/** Whether an answer can still be expected if the carrier is asked after a wait. */
const hasTimeAfter = ({ candidate: { line }, ask }: PendingAsk, wait_ms: number): boolean =>
  ask.deadline - ask.now - wait_ms >= line.typical_ms

/** Whether too little time is left to ask. */
const isTooLate = (pending: PendingAsk): boolean =>
  pending.candidate.adapter.simulation === undefined && !hasTimeAfter(pending, 0)

/** Whether to repeat an ask: once, after an error or time-out, if the carrier recognizes repeats and time is left. */
const mayRepeat = ({ ask, candidate: { adapter, line } }: PendingAsk, reply: CarrierReply, now: number): boolean =>
  reply.kind === "unavailable" &&
  (reply.reason === "carrier_error" || reply.reason === "timeout") &&
  ask.attempt === 1 &&
  line.idempotent &&
  (adapter.simulation !== undefined || ask.deadline - now >= line.typical_ms)

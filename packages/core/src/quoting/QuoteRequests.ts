import { Clock, Context, Effect, Layer, Option } from "effect"
import * as Cursor from "../access/Cursor.ts"
import { Seal } from "../access/sealing/Seal.ts"
import type { Call } from "../calls/Call.ts"
import * as Monotonic from "../concurrency/Monotonic.ts"
import type { JobHandler, JobHandlers } from "../runner/JobHandler.ts"
import * as JobPayload from "../runner/JobPayload.ts"
import * as Change from "../storage/Change.ts"
import { LongPolls, type WaitForHint } from "../storage/Hints.ts"
import type { ClaimedJob } from "../storage/Job.ts"
import { commit, readOne, retryOnConflict, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import { Ids, type WorkspaceId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { defaultLimit } from "../wire/Pagination.ts"
import { secondMs, toMillis } from "../wire/Timestamp.ts"
import * as UnstartedAsks from "./asking/UnstartedAsks.ts"
import * as Quote from "./Quote.ts"
import * as QuoteRequest from "./QuoteRequest.ts"
import {
  type CancelResult,
  forPartner,
  type GetInput,
  type ListInput,
  maxWaitSeconds,
  type QuoteRequestPage,
  type QuoteRequestWithQuotes
} from "./QuoteRequestViews.ts"
import { mayRead } from "./readAuthority.ts"

/** Reads, lists, cancels and ends quote requests. */
export class QuoteRequests extends Context.Service<
  QuoteRequests,
  {
    /** Reads a request with its quotes. While the request is in progress, can wait for a change (api.md, Waiting). */
    readonly get: (
      call: Call,
      input: GetInput
    ) => Effect.Effect<Json.Json<QuoteRequestWithQuotes>, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /** Lists requests, newest first. */
    readonly list: (
      call: Call,
      input: ListInput
    ) => Effect.Effect<Json.Json<QuoteRequestPage>, ApiError.ApiError<"invalid_cursor"> | StorageUnavailable>
    /** Cancels a request that is still queued. Cancelling it again returns the same response. */
    readonly cancel: (
      call: Call,
      id: string
    ) => Effect.Effect<Json.Json<CancelResult>, ApiError.ApiError<"not_found"> | StorageUnavailable>
    readonly jobs: JobHandlers<"close_request" | "end_action">
    /** Abandons a job that failed too many times: the job's request fails with `internal_error`. */
    readonly abandon: JobHandler
  }
>()("@quotewire/core/QuoteRequests") {
  static readonly layer: Layer.Layer<QuoteRequests, never, Storage | Seal | Ids | LongPolls> = Layer.effect(
    QuoteRequests,
    Effect.gen(function* () {
      const reads = yield* makeReads
      const steps = yield* makeSteps
      return QuoteRequests.of({
        ...reads,
        cancel: (call, id) => retryOnConflict(steps.cancel(call, id)),
        jobs: {
          close_request: steps.close,
          end_action: steps.job(QuoteRequest.endAction)
        },
        abandon: steps.job((request, now) =>
          QuoteRequest.isFinal(request) ? null : QuoteRequest.fail(request, "internal_error", now)
        )
      })
    })
  )
}

/** Makes a function that finds a request for a caller who may read it. Fails with `not_found` for any other request. */
const makeFind = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal

  return Effect.fnUntraced(function* (call: Call, id: string) {
    const stored = yield* storage.get({ workspace_id: call.caller.workspace_id, kind: QuoteRequest.kind.name, id })
    if (Option.isNone(stored)) return yield* ApiError.make("not_found")
    if (call.caller.kind !== "server") {
      const request = QuoteRequest.kind.value(stored.value)
      if (!(yield* mayRead(storage, seal, call, request))) return yield* ApiError.make("not_found")
    }
    return stored.value
  })
})

/** Makes the methods that read quote requests. */
const makeReads = Effect.gen(function* () {
  const storage = yield* Storage
  const longPolls = yield* LongPolls
  const find = yield* makeFind

  const withQuotes = Effect.fnUntraced(function* (call: Call, stored: Change.StoredRecord) {
    const page = yield* storage.page({
      workspace_id: call.caller.workspace_id,
      kind: Quote.kind.name,
      parent: stored.id,
      order: "oldest",
      after: null,
      limit: maxQuotes
    })
    const now = (yield* Clock.currentTimeMillis) + call.moment.workspace.clock_offset_ms
    const answer = Json.object<QuoteRequestWithQuotes>({
      quote_request: QuoteRequest.kind.json(stored),
      quotes: Json.array(page.records.map((record) => Quote.newestAt(record, now).json))
    })
    return call.caller.kind === "link" ? Json.encode(forPartner(Json.read(answer))) : answer
  })

  /** Waits until the request has a version above `base` or is no longer in progress, or until the time is up. */
  const waitFor = Effect.fnUntraced(function* (
    call: Call,
    { base, id, waitMs }: { readonly id: string; readonly base: number; readonly waitMs: number },
    waitForHint: WaitForHint
  ) {
    const until = (yield* Monotonic.millis) + waitMs
    while (true) {
      const stored = yield* find(call, id)
      const leftMs = until - (yield* Monotonic.millis)
      if (leftMs <= 0 || !mayChange(stored, base)) return stored
      const woken = yield* waitForHint(leftMs)
      if (woken !== "changed") return yield* find(call, id)
    }
  })

  const get = Effect.fnUntraced(function* (call: Call, input: GetInput) {
    const waitMs = (input.wait_seconds ?? maxWaitSeconds) * secondMs
    const first = yield* find(call, input.id)
    const base = input.since_version ?? first.version
    if (waitMs === 0 || !mayChange(first, base)) return yield* withQuotes(call, first)
    const newest = yield* longPolls.listen({ workspace_id: call.caller.workspace_id, id: input.id }, (waitForHint) =>
      waitFor(call, { id: input.id, base, waitMs }, waitForHint)
    )
    return yield* withQuotes(call, newest)
  })

  return { get, list: yield* makeList }
})

const makeList = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal

  return Effect.fnUntraced(function* (call: Call, input: ListInput) {
    const { limit = defaultLimit, cursor, ...filters } = input
    const scope = { list: "quote_requests", workspace_id: call.caller.workspace_id, filters }
    const after = cursor === undefined ? null : yield* Cursor.read(seal, scope, cursor)
    const page = yield* storage.page({
      workspace_id: call.caller.workspace_id,
      kind: QuoteRequest.kind.name,
      order: "newest",
      after,
      limit,
      ...(filters.status !== undefined && { status: filters.status }),
      ...(filters.line !== undefined && { line: filters.line }),
      ...(filters.created_after !== undefined && { created_after: toMillis(filters.created_after) }),
      ...(filters.created_before !== undefined && { created_before: toMillis(filters.created_before) }),
      ...(filters.updated_since !== undefined && { updated_since: toMillis(filters.updated_since) })
    })
    const nextCursor = page.next === null ? null : yield* Cursor.write(seal, scope, page.next)
    return Json.object<QuoteRequestPage>({
      quote_requests: Json.array(page.records.map(QuoteRequest.kind.json)),
      next_cursor: Json.encode(nextCursor)
    })
  })
})

/** Makes the steps of a request that callers and jobs can trigger. */
const makeSteps = Effect.gen(function* () {
  const storage = yield* Storage
  const ids = yield* Ids
  const find = yield* makeFind
  const unstartedAsks = yield* UnstartedAsks.make

  const changeOf = (workspaceId: WorkspaceId, step: QuoteRequest.Step, now: number) =>
    Change.make(workspaceId, {
      writes: [QuoteRequest.toStored(step.request)],
      events: [QuoteRequest.requestEvent(ids, step, now)]
    })

  const cancel = Effect.fnUntraced(function* (call: Call, id: string) {
    const request = QuoteRequest.kind.value(yield* find(call, id))
    const step = QuoteRequest.cancel(request, call.moment.now)
    if (step === null) {
      const isCancelled = request.status_details.reason === "cancelled_by_caller"
      return Json.encode<CancelResult>({
        id: request.id,
        version: request.version,
        status: isCancelled ? "cancelled" : "cannot_stop"
      })
    }
    yield* commit(storage, changeOf(call.caller.workspace_id, step, call.moment.now))
    return Json.encode<CancelResult>({ id: request.id, version: step.request.version, status: "cancelled" })
  })

  const load = Effect.fnUntraced(function* (job: ClaimedJob) {
    const id = JobPayload.requestOf(job)
    return id === null ? null : yield* readOne(storage, QuoteRequest.kind, job.workspace_id, id)
  })
  const finish = (job: ClaimedJob, step: QuoteRequest.Step | null, now: number) => {
    const change = step === null ? Change.make(job.workspace_id, {}) : changeOf(job.workspace_id, step, now)
    return storage.commit({ ...change, finishes: [job] })
  }

  /**
   * Makes a handler for jobs that take one step of a request. If the step is not possible, the handler only finishes
   * the job.
   */
  const stepJob = (decide: (request: QuoteRequest.QuoteRequest, at: number) => QuoteRequest.Step | null): JobHandler =>
    Effect.fnUntraced(function* (job, now) {
      const request = yield* load(job)
      yield* finish(job, request === null ? null : decide(request, now), now)
    })

  const close: JobHandler = Effect.fnUntraced(function* (job, now) {
    const request = yield* load(job)
    if (request === null || !QuoteRequest.hasPending(request)) return yield* finish(job, null, now)
    if (request.environment === "sandbox") {
      const carrierIds = yield* unstartedAsks(job.workspace_id, request.id)
      return yield* finish(job, QuoteRequest.close(request, now, carrierIds), now)
    }
    const { gave_way = false } = JobPayload.read(job, "close_request")
    if (gave_way || now - job.due_at < lateMs) return yield* finish(job, QuoteRequest.close(request, now), now)
    const again = { quote_request_id: request.id, gave_way: true }
    const jobs = [JobPayload.make("close_request", again, { due_at: now + giveWayMs, ordered: false })]
    yield* storage.commit(Change.make(job.workspace_id, { jobs, finishes: [job] }))
  })

  return { cancel, close, job: stepJob }
})

/**
 * If the job that closes a live request runs this many milliseconds late, the request's asks may be late too. Those
 * asks then run first, because only they can report that their carriers were never asked.
 */
const lateMs = 250
const giveWayMs = secondMs

/**
 * The maximum number of quotes to read. A request always has fewer quotes, because it uses at most ten offers from each
 * carrier.
 */
const maxQuotes = 1_000

/** Whether a request has not reached a version above `base` yet but still can. */
const mayChange = (stored: Change.StoredRecord, base: number): boolean =>
  stored.status === "in_progress" && stored.version <= base

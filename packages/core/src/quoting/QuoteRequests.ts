import { Clock, Context, Effect, Layer, Option } from "effect"
import * as Cursor from "../access/Cursor.ts"
import { Seal } from "../access/Seal.ts"
import type { Call } from "../calls/Call.ts"
import type { JobHandler, JobHandlers } from "../runner/JobHandler.ts"
import * as JobPayload from "../runner/JobPayload.ts"
import * as Change from "../storage/Change.ts"
import { commit, retryOnConflict } from "../storage/retryOnConflict.ts"
import { Storage, type StorageUnavailable } from "../storage/Storage.ts"
import { type NextHint, Waiters } from "../storage/Waiters.ts"
import * as ApiError from "../wire/ApiError.ts"
import { Ids, type WorkspaceId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { default_limit } from "../wire/Page.ts"
import { toMillis } from "../wire/Timestamp.ts"
import { requestEvent } from "./QuoteChange.ts"
import * as QuoteRequest from "./QuoteRequest.ts"
import {
  type CancelResult,
  type GetInput,
  type ListInput,
  max_wait_seconds,
  type QuoteRequestPage,
  type QuoteRequestWithQuotes
} from "./QuoteRequestViews.ts"
import { mayRead } from "./readAuthority.ts"
import { newestAt, quoteRequests, quotes, storedRequest } from "./StoredRecords.ts"

/** Reads, lists, cancels and ends quote requests. */
export class QuoteRequests extends Context.Service<
  QuoteRequests,
  {
    /** Reads a request with its quotes; waits for a change while it is in progress (api.md, Quote requests and quotes). */
    readonly get: (
      call: Call,
      input: GetInput
    ) => Effect.Effect<Json.Json<QuoteRequestWithQuotes>, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /** Lists requests, newest first. */
    readonly list: (
      call: Call,
      input: ListInput
    ) => Effect.Effect<Json.Json<QuoteRequestPage>, ApiError.ApiError<"invalid_cursor"> | StorageUnavailable>
    /** Cancels a request that is still queued; a second cancellation answers as the first. */
    readonly cancel: (
      call: Call,
      id: string
    ) => Effect.Effect<Json.Json<CancelResult>, ApiError.ApiError<"not_found"> | StorageUnavailable>
    readonly jobs: JobHandlers<"close_request" | "end_action">
    /** Gives a job up that has failed too often: the request that it was for fails with `internal_error`. */
    readonly abandon: JobHandler
  }
>()("@quotewire/core/QuoteRequests") {
  static readonly layer: Layer.Layer<QuoteRequests, never, Storage | Seal | Ids | Waiters> = Layer.effect(
    QuoteRequests,
    Effect.gen(function* () {
      const means: Means = {
        storage: yield* Storage,
        seal: yield* Seal,
        ids: yield* Ids,
        waiters: yield* Waiters
      }
      return QuoteRequests.of({
        get: (call, input) => get(means, call, input),
        list: (call, input) => list(means, call, input),
        cancel: (call, id) => retryOnConflict(cancel(means, call, id)),
        jobs: {
          close_request: stepping(means, QuoteRequest.close),
          end_action: stepping(means, QuoteRequest.endAction)
        },
        abandon: stepping(means, (request, at) =>
          QuoteRequest.isFinal(request) ? null : QuoteRequest.fail(request, "internal_error", at)
        )
      })
    })
  )
}

/** What the functions below work with. */
interface Means {
  readonly storage: Storage["Service"]
  readonly seal: Seal["Service"]
  readonly ids: Ids["Service"]
  readonly waiters: Waiters["Service"]
}

const find = Effect.fnUntraced(function* ({ storage, seal }: Means, call: Call, id: string) {
  const stored = yield* storage.get({ workspace_id: call.caller.workspace_id, kind: quoteRequests.name, id })
  if (Option.isNone(stored)) return yield* ApiError.make("not_found")
  if (call.caller.kind !== "server") {
    const request = quoteRequests.value(stored.value)
    if (!(yield* mayRead(storage, seal, call, request))) return yield* ApiError.make("not_found")
  }
  return stored.value
})

const withQuotes = Effect.fnUntraced(function* ({ storage }: Means, call: Call, stored: Change.StoredRecord) {
  const page = yield* storage.page({
    workspace_id: call.caller.workspace_id,
    kind: quotes.name,
    parent: stored.id,
    order: "oldest",
    after: null,
    limit: max_quotes
  })
  const now = (yield* Clock.currentTimeMillis) + call.moment.workspace.clock_offset_ms
  return Json.object<QuoteRequestWithQuotes>({
    quote_request: quoteRequests.json(stored),
    quotes: Json.array(page.records.map((record) => newestAt(record, now).json))
  })
})

const get = Effect.fnUntraced(function* (means: Means, call: Call, input: GetInput) {
  const wait_ms = (input.wait_seconds ?? max_wait_seconds) * 1_000
  const first = yield* find(means, call, input.id)
  const base = input.since_version ?? first.version
  if (wait_ms === 0 || !isAwaited(first, base)) return yield* withQuotes(means, call, first)
  const settled = yield* means.waiters.listening({ workspace_id: call.caller.workspace_id, id: input.id }, (next) =>
    waitFor(means, call, input.id, base, wait_ms, next)
  )
  return yield* withQuotes(means, call, settled)
})

const waitFor = Effect.fnUntraced(function* (
  means: Means,
  call: Call,
  id: string,
  base: number,
  wait_ms: number,
  next: NextHint
) {
  const until = (yield* Clock.currentTimeMillis) + wait_ms
  while (true) {
    const stored = yield* find(means, call, id)
    const left_ms = until - (yield* Clock.currentTimeMillis)
    if (left_ms <= 0 || !isAwaited(stored, base)) return stored
    const woken = yield* next(left_ms)
    if (woken !== "changed") return yield* find(means, call, id)
  }
})

const list = Effect.fnUntraced(function* ({ storage, seal }: Means, call: Call, input: ListInput) {
  const { limit = default_limit, cursor, ...filters } = input
  const scope = { list: "quote_requests", workspace_id: call.caller.workspace_id, filters }
  const after = cursor === undefined ? null : yield* Cursor.read(seal, scope, cursor)
  const page = yield* storage.page({
    workspace_id: call.caller.workspace_id,
    kind: quoteRequests.name,
    order: "newest",
    after,
    limit,
    ...(filters.status !== undefined && { status: filters.status }),
    ...(filters.line !== undefined && { line: filters.line }),
    ...(filters.created_after !== undefined && { created_after: toMillis(filters.created_after) }),
    ...(filters.created_before !== undefined && { created_before: toMillis(filters.created_before) }),
    ...(filters.updated_since !== undefined && { updated_since: toMillis(filters.updated_since) })
  })
  const next_cursor = page.next === null ? null : yield* Cursor.write(seal, scope, page.next)
  return Json.object<QuoteRequestPage>({
    quote_requests: Json.array(page.records.map(quoteRequests.json)),
    next_cursor: Json.encode(next_cursor)
  })
})

const cancel = Effect.fnUntraced(function* (means: Means, call: Call, id: string) {
  const request = quoteRequests.value(yield* find(means, call, id))
  const step = QuoteRequest.cancel(request, call.moment.now)
  if (step === null) {
    const cancelled = request.status_details.reason === "cancelled_by_caller"
    return Json.encode<CancelResult>({
      id: request.id,
      version: request.version,
      status: cancelled ? "cancelled" : "cannot_stop"
    })
  }
  yield* commit(means.storage, changeOf(means, call.caller.workspace_id, step, call.moment.now))
  return Json.encode<CancelResult>({ id: request.id, version: step.request.version, status: "cancelled" })
})

const changeOf = ({ ids }: Means, workspace_id: WorkspaceId, step: QuoteRequest.Step, at: number) =>
  Change.make(workspace_id, {
    writes: [storedRequest(step.request)],
    events: [requestEvent(ids, step, at)]
  })

/** A job that takes one step of a request, or finds that there is none to take any more. */
const stepping = (
  means: Means,
  decide: (request: QuoteRequest.QuoteRequest, at: number) => QuoteRequest.Step | null
): JobHandler =>
  Effect.fnUntraced(function* (job, at) {
    const id = JobPayload.requestOf(job)
    const stored =
      id === null
        ? Option.none()
        : yield* means.storage.get({ workspace_id: job.workspace_id, kind: quoteRequests.name, id })
    const step = Option.isNone(stored) ? null : decide(quoteRequests.value(stored.value), at)
    yield* means.storage.commit({
      ...(step === null ? Change.make(job.workspace_id, {}) : changeOf(means, job.workspace_id, step, at)),
      finishes: [job]
    })
  })

/** No request has more quotes than this: at most ten of each carrier. */
const max_quotes = 1_000

const isAwaited = (stored: Change.StoredRecord, base: number): boolean =>
  stored.status === "in_progress" && stored.version <= base

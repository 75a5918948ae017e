import { Clock, Context, Effect, Layer, Option, Predicate } from "effect"
import { Seal } from "../access/Seal.ts"
import { askTokens } from "../access/Token.ts"
import { Workspaces } from "../access/Workspaces.ts"
import * as BrokenRule from "../carriers/BrokenRule.ts"
import { CarrierAdapters, type CarrierCallback, type CarrierReply } from "../carriers/Carrier.ts"
import * as Asking from "../carriers/CarrierClient.ts"
import { Lines } from "../lines/Lines.ts"
import type { JobHandlers } from "../runner/JobHandler.ts"
import * as JobPayload from "../runner/JobPayload.ts"
import * as Change from "../storage/Change.ts"
import type { ClaimedJob } from "../storage/Job.ts"
import { retryOnConflict } from "../storage/retryOnConflict.ts"
import { Storage, type StorageUnavailable } from "../storage/Storage.ts"
import { Ids } from "../wire/Ids.ts"
import { PublicUrl } from "../wire/PublicUrl.ts"
import { applyReply, checkRefreshed, checkReply, type Naming, originOf, type PendingAsk } from "./Answering.ts"
import { isAwaited, loadAsk, loadRequest, openRequest, type Sources } from "./AskLoading.ts"
import { collection, couldNotStart } from "./Collecting.ts"
import * as Quote from "./Quote.ts"
import { deactivation, offered, type Part } from "./QuoteChange.ts"
import { type QuoteRequest, scenarioOf } from "./QuoteRequest.ts"
import { offers, quotes, storedBeginning } from "./StoredRecords.ts"

/** Asks carriers and takes in what they answer. */
export class Carriers extends Context.Service<
  Carriers,
  {
    /** Takes in a carrier's callback; false where it is not genuine. A repeat or a late one changes nothing. */
    readonly callback: (carrier_id: string, callback: CarrierCallback) => Effect.Effect<boolean, StorageUnavailable>
    readonly jobs: JobHandlers<"collect" | "ask_carrier" | "poll_carrier" | "carrier_callback" | "refresh_quote">
  }
>()("@quotewire/core/Carriers") {
  static readonly layer: Layer.Layer<Carriers, never, Storage | Seal | Ids | Workspaces | CarrierAdapters> =
    Layer.effect(
      Carriers,
      Effect.gen(function* () {
        const storage = yield* Storage
        const seal = yield* Seal
        const means: Means = {
          storage,
          sources: { storage, seal, adapters: yield* CarrierAdapters, lines: yield* Lines },
          naming: { ids: yield* Ids, seal, base_url: yield* PublicUrl },
          workspaces: yield* Workspaces,
          asking: yield* Asking.make
        }
        return Carriers.of({
          callback: (carrier_id, sent) =>
            callback(means, carrier_id, sent).pipe(Effect.catchTag("LeaseLost", (error) => Effect.die(error))),
          jobs: {
            collect: (job, at) => collect(means, job, at),
            ask_carrier: (job, at) => ask(means, job, at),
            poll_carrier: (job, at) => poll(means, job, at),
            carrier_callback: (job, at) => playCallback(means, job, at),
            refresh_quote: (job, at) => refresh(means, job, at)
          }
        })
      })
    )
}

/** What the functions below work with. */
interface Means {
  readonly storage: Storage["Service"]
  readonly sources: Sources
  readonly naming: Naming
  readonly workspaces: Workspaces["Service"]
  readonly asking: Asking.Asking
}

const finish = ({ storage }: Means, job: ClaimedJob, part: Partial<Part> = {}) =>
  storage.commit(Change.make(job.workspace_id, { ...part, finishes: [job] }))

/** The moment of an answer: the job's, or now where real time has passed since. */
const answeredAt = ({ workspaces }: Means, awaited: PendingAsk, at: number) =>
  awaited.ordered ? Effect.succeed(at) : Effect.map(workspaces.moment(awaited.workspace_id), ({ now }) => now)

/** Weighs a reply and commits what it comes to; after a conflict again, without asking again. */
const settle = Effect.fnUntraced(function* (
  { sources, naming, storage }: Means,
  awaited: PendingAsk,
  reply: CarrierReply,
  at: number,
  job: ClaimedJob | null,
  repeat_pause_ms: number | null = null
) {
  const checked = yield* logged(awaited, checkReply(awaited, reply, at))
  let known: QuoteRequest | null = awaited.request
  const once = Effect.gen(function* () {
    const request = known ?? (yield* loadRequest(sources, awaited.workspace_id, awaited.request.id))
    known = null
    // Nothing is left to answer where the request has been erased meanwhile.
    const part: Partial<Part> =
      request === null ? {} : yield* applyReply(naming, { ...awaited, request }, checked, at, repeat_pause_ms)
    yield* storage.commit(Change.make(awaited.workspace_id, { ...part, finishes: job === null ? [] : [job] }))
  })
  // Decided here to the end: the handler would ask the carrier again.
  yield* retryOnConflict(once)
})

const collect = Effect.fnUntraced(function* (means: Means, job: ClaimedJob, at: number) {
  const {
    sources,
    asking,
    naming: { ids }
  } = means
  const { quote_request_id } = JobPayload.read(job, "collect")
  const request = yield* loadRequest(sources, job.workspace_id, quote_request_id)
  if (request === null || request.status_details.reason !== "queued") return yield* finish(means, job)
  const opened = scenarioOf(request) === "cannot_start" ? null : yield* openRequest(sources, job.workspace_id, request)
  if (opened === null) return yield* finish(means, job, couldNotStart(ids, request, at))
  const real_now = yield* Clock.currentTimeMillis
  const isOpen = (carrier_id: string) => asking.isOpen(carrier_id, request.line, real_now)
  yield* finish(means, job, yield* collection(sources, ids, opened, isOpen, at))
})

/** The ask of a job, if its answer is still waited for; otherwise the job is over. */
const awaitedBy = Effect.fnUntraced(function* (
  means: Means,
  job: ClaimedJob,
  { quote_request_id, carrier_id, attempt }: JobPayload.Payloads["ask_carrier"],
  at: number
) {
  const { sources } = means
  const request = yield* loadRequest(sources, job.workspace_id, quote_request_id)
  if (request !== null && isAwaited(request, carrier_id)) {
    const awaited = yield* loadAsk(sources, job.workspace_id, request, { carrier_id, attempt, now: at })
    if (awaited !== null) return awaited
  }
  yield* noteLate(carrier_id, quote_request_id)
  yield* finish(means, job)
  return null
})

const ask = Effect.fnUntraced(function* (means: Means, job: ClaimedJob, at: number) {
  const payload = JobPayload.read(job, "ask_carrier")
  const awaited = yield* awaitedBy(means, job, payload, at)
  if (awaited === null) return
  const { candidate } = awaited
  if (isTooLate(awaited)) return yield* settle(means, awaited, silence, at, job)
  const asked = yield* logged(awaited, means.asking.ask(candidate, awaited.ask, begin(means, awaited, at)))
  if (asked._tag === "in_doubt") return yield* settle(means, awaited, silence, at, job)
  if (asked._tag === "no_room") {
    const due = { due_at: at + asked.again_after_ms, ordered: job.ordered }
    return yield* finish(means, job, { jobs: [JobPayload.make("ask_carrier", payload, due)] })
  }
  const now = yield* answeredAt(means, awaited, at)
  const pause_ms = mayRepeat(awaited, asked.reply, now) ? yield* Asking.repeatPause : null
  yield* settle(means, awaited, asked.reply, now, job, pause_ms)
})

const poll = Effect.fnUntraced(function* (means: Means, job: ClaimedJob, at: number) {
  const { ref, ...payload } = JobPayload.read(job, "poll_carrier")
  const awaited = yield* awaitedBy(means, job, payload, at)
  if (awaited === null) return
  const { adapter } = awaited.candidate
  const polled = means.asking.guarded(
    () => adapter.poll?.(awaited.ask, ref) ?? Effect.as(BrokenRule.log([noPoll]), silence),
    awaited.candidate,
    awaited.ask
  )
  const reply = yield* logged(awaited, polled)
  // The ask is accepted: a poll that fails is no answer, and the next one may succeed.
  const again: CarrierReply = { kind: "pending", ref, poll_after_ms: failed_poll_after_ms }
  const now = yield* answeredAt(means, awaited, at)
  yield* settle(means, awaited, reply.kind === "unavailable" ? again : reply, now, job)
})

/** The reply in a callback and the request that it is for; null where it is not genuine. */
const readCallback = Effect.fnUntraced(
  function* ({ sources: { adapters, seal } }: Means, carrier_id: string, callback: CarrierCallback) {
    const adapter = adapters.find(({ carrier }) => carrier.id === carrier_id)
    if (adapter?.callback === undefined) return null
    const read = yield* Effect.suspend(() => adapter.callback?.(callback) ?? Effect.succeed(null)).pipe(
      Asking.unlessBroken(null)
    )
    if (!Predicate.isObject(read)) return null
    const named = typeof read.ref === "string" ? yield* askTokens(carrier_id).read(seal, read.ref) : null
    const broken = [...(named === null ? [noRef] : []), ...(read.reply?.kind === "pending" ? [noAnswer] : [])]
    if (named === null || broken.length > 0) return yield* Effect.as(BrokenRule.log(broken), null)
    const reply = yield* Effect.annotateLogs(Asking.readable(read.reply), { quote_request_id: named.id })
    return { ...named, reply }
  },
  (read, _means, carrier_id) => Effect.annotateLogs(read, { carrier_id })
)

const noRef = { path: "ref", message: "Must be the idempotency_key of an ask to this carrier." }
const noAnswer = { path: "reply.kind", message: "Must not be pending: a callback brings the answer." }

/** Plays a simulated carrier's side of its callback; from there on it is a callback like any other. */
const playCallback = Effect.fnUntraced(function* (means: Means, job: ClaimedJob, at: number) {
  const { ref, ...payload } = JobPayload.read(job, "carrier_callback")
  const awaited = yield* awaitedBy(means, job, payload, at)
  if (awaited === null) return
  const { adapter } = awaited.candidate
  const sent = yield* logged(
    awaited,
    Effect.suspend(() => adapter.simulation?.callback(awaited.ask, ref) ?? Effect.succeed(null)).pipe(
      Asking.unlessBroken(null)
    )
  )
  const read = sent === null ? null : yield* readCallback(means, adapter.carrier.id, sent)
  const unreadable: CarrierReply = { kind: "unavailable", reason: "unreadable_answer" }
  yield* settle(means, awaited, read?.reply ?? unreadable, at, job)
})

const callback = Effect.fnUntraced(function* (means: Means, carrier_id: string, sent: CarrierCallback) {
  const { sources, workspaces } = means
  const read = yield* readCallback(means, carrier_id, sent)
  if (read === null) return false
  const { now } = yield* workspaces.moment(read.workspace_id)
  const request = yield* loadRequest(sources, read.workspace_id, read.id)
  const awaited =
    request !== null && isAwaited(request, carrier_id)
      ? yield* loadAsk(sources, read.workspace_id, request, { carrier_id, attempt: 1, now })
      : null
  if (awaited === null) yield* noteLate(carrier_id, read.id)
  else yield* settle(means, awaited, read.reply, now, null)
  return true
})

const refresh = Effect.fnUntraced(function* (means: Means, job: ClaimedJob, at: number) {
  const { storage, sources, asking, naming } = means
  const { quote_id } = JobPayload.read(job, "refresh_quote")
  const key = { workspace_id: job.workspace_id, id: quote_id }
  const stored = yield* storage.get({ ...key, kind: quotes.name })
  const offer = yield* storage.get({ ...key, kind: offers.name })
  if (Option.isNone(stored) || Option.isNone(offer)) return yield* finish(means, job)
  const quote = quotes.value(stored.value)
  const { carrier_id, offer_ref } = offers.value(offer.value)
  const request = yield* loadRequest(sources, job.workspace_id, quote.quote_request_id)
  const awaited =
    request === null || quote.status === "inactive" || Quote.hasExpired(quote, at)
      ? null
      : yield* loadAsk(sources, job.workspace_id, request, { carrier_id, attempt: 1, now: at })
  if (awaited === null) return yield* finish(means, job)
  const found = yield* logged(awaited, asking.look(awaited.candidate, awaited.ask, offer_ref))
  if (found.kind === "unavailable") return yield* finish(means, job)
  if (found.kind === "withdrawn") {
    return yield* finish(means, job, deactivation(naming.ids, awaited.line, stored.value, "withdrawn_by_carrier", at))
  }
  const refreshed = { ...found.offer, reason: found.reason }
  const checked = yield* logged(awaited, checkRefreshed(awaited, refreshed, at))
  if (checked === null) return yield* finish(means, job)
  const origin = yield* originOf(naming, awaited, quote.id, checked, at)
  const made = {
    quote: Quote.fromOffer(checked, origin, quote.version + 1),
    offer: checked,
    carrier_id,
    line: awaited.line,
    created_at: stored.value.created_at,
    at,
    ordered: awaited.ordered
  }
  yield* finish(means, job, offered(naming.ids, made))
})

/** Everything that is logged of a call to an adapter, its own lines too, names the carrier and the quote request. */
const logged = <A, E, R>({ candidate, request }: PendingAsk, call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.annotateLogs(call, { carrier_id: candidate.adapter.carrier.id, quote_request_id: request.id })

const failed_poll_after_ms = 10_000

const noPoll = { path: "poll_after_ms", message: "Must be null, because the adapter has no poll." }

/** An answer that nobody waits for any more is noted and dropped: it names no person. */
const noteLate = (carrier_id: string, quote_request_id: string) =>
  Effect.logInfo("A late answer was dropped").pipe(Effect.annotateLogs({ carrier_id, quote_request_id }))

/** What an ask comes to that cannot be made, or may have been made before. */
const silence: CarrierReply = { kind: "unavailable", reason: "timeout" }

/** Whether there is too little time left to ask. */
const isTooLate = ({ candidate: { adapter, line }, ask }: PendingAsk): boolean =>
  adapter.simulation === undefined && ask.deadline - ask.now < line.typical_ms

/**
 * Puts on record that an ask begins, where the carrier cannot tell a repeat; answers whether it may be made.
 *
 * Who has begun it before may have made it, and nobody knows what has come of it: it is never made twice.
 */
const begin = ({ storage }: Means, { workspace_id, request, candidate }: PendingAsk, at: number) => {
  if (candidate.line.idempotent) return Effect.succeed(true)
  const writes = [storedBeginning(request.id, candidate.adapter.carrier.id, at)]
  return storage.commit(Change.make(workspace_id, { writes })).pipe(
    Effect.as(true),
    Effect.catchTags({
      VersionConflict: () => Effect.succeed(false),
      LeaseLost: (lost) => Effect.die(lost)
    })
  )
}

/** An ask is repeated once, after an error or a time-out, where the carrier can tell the repeat and time is left. */
const mayRepeat = (awaited: PendingAsk, reply: CarrierReply, now: number): boolean => {
  const { adapter, line } = awaited.candidate
  return (
    reply.kind === "unavailable" &&
    (reply.reason === "carrier_error" || reply.reason === "timeout") &&
    awaited.ask.attempt === 1 &&
    line.idempotent &&
    (adapter.simulation !== undefined || awaited.ask.deadline - now >= line.typical_ms)
  )
}

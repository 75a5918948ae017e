import { Effect, Result } from "effect"
import type { Seal } from "../access/Seal.ts"
import { goTokens } from "../access/Token.ts"
import * as BrokenRule from "../carriers/BrokenRule.ts"
import type { CarrierAsk, CarrierOffer, CarrierReply } from "../carriers/Carrier.ts"
import type { Candidate } from "../carriers/Eligibility.ts"
import * as Offer from "../carriers/Offer.ts"
import type { Assumed } from "../lines/Application.ts"
import type { Line } from "../lines/Line.ts"
import type { LineName } from "../lines/standard.ts"
import * as JobPayload from "../runner/JobPayload.ts"
import type { JobKind, NewJob } from "../storage/Job.ts"
import type { Ids, QuoteId, WorkspaceId } from "../wire/Ids.ts"
import { day_ms, second_ms } from "../wire/Timestamp.ts"
import * as Quote from "./Quote.ts"
import { offered, type Part, requestEvent } from "./QuoteChange.ts"
import * as QuoteRequest from "./QuoteRequest.ts"
import { storedRequest } from "./StoredRecords.ts"

/** An ask whose answer is awaited: everything that a reply is weighed against. */
export interface PendingAsk {
  readonly workspace_id: WorkspaceId
  readonly request: QuoteRequest.QuoteRequest
  readonly line: Line<LineName>
  readonly candidate: Candidate
  readonly assumed: Assumed
  readonly ask: CarrierAsk
  /** Whether this carrier's work is told in the order of the workspace's timers. */
  readonly ordered: boolean
}

/** How quotes are named and linked. */
export interface Naming {
  readonly ids: Ids["Service"]
  readonly seal: Seal["Service"]
  /** The address in front of `/go/…`. */
  readonly base_url: Effect.Effect<string>
}

/** A poll comes no sooner and no later than this after the one before. */
const poll_between_ms = { least: 2 * second_ms, most: 10 * second_ms } as const
/** A question that nobody answers for so long ends the request. */
const action_ms = day_ms
/** No carrier makes more offers than this for one request; the rest is dropped. */
const max_offers = 10

/**
 * Checks the offers of a reply and cleans them. Where one cannot be trusted, or there is none, the whole reply is
 * unreadable, and the log says which rule was broken.
 */
export const checkReply = (awaited: PendingAsk, reply: CarrierReply, now: number): Effect.Effect<CarrierReply> => {
  if (reply.kind !== "offers") return Effect.succeed(reply)
  const checked = reply.offers.slice(0, max_offers).map((offer) => checkOffer(awaited, offer, now))
  const broken = [
    ...(reply.offers.length === 0 ? [{ path: "offers", message: "Must hold at least one offer." }] : []),
    ...checked.flatMap((offer, index) => (Result.isFailure(offer) ? under(`offers.${index}`, offer.failure) : []))
  ]
  if (broken.length > 0) return Effect.as(BrokenRule.log(broken), unreadable)
  const offers = checked.flatMap((offer) => (Result.isSuccess(offer) ? [offer.success] : []))
  const taken: CarrierReply = { kind: "offers", offers }
  return reply.offers.length <= max_offers
    ? Effect.succeed(taken)
    : Effect.as(Effect.logWarning(`A carrier made too many offers: only the first ${max_offers} are used`), taken)
}

/** Checks the offer that a carrier gives when it is looked at again; null where it cannot be trusted, which is logged. */
export const checkRefreshed = (
  awaited: PendingAsk,
  offer: CarrierOffer,
  now: number
): Effect.Effect<CarrierOffer | null> => {
  const checked = checkOffer(awaited, offer, now)
  return Result.isSuccess(checked)
    ? Effect.succeed(checked.success)
    : Effect.as(BrokenRule.log(under("offer", checked.failure)), null)
}

const under = (place: string, rules: ReadonlyArray<BrokenRule.BrokenRule>): ReadonlyArray<BrokenRule.BrokenRule> =>
  rules.map(({ path, message }) => ({ path: `${place}.${path}`, message }))

const unreadable: CarrierReply = { kind: "unavailable", reason: "unreadable_answer" }

const checkOffer = (awaited: PendingAsk, offer: CarrierOffer, now: number) =>
  Offer.check(offer, {
    line: awaited.line,
    state: awaited.assumed.state,
    subject_ids: new Set(awaited.assumed.subjects.map((subject) => subject.subject_id)),
    handoff_hosts: awaited.candidate.adapter.handoff_hosts,
    now
  })

/**
 * Weighs a carrier's reply, whose offers are checked: what it adds to a change, at `now`, in milliseconds of workspace time.
 *
 * `repeat_pause_ms` is the pause before the only repeat of this ask; null where it may not be repeated.
 */
export const applyReply = (
  naming: Naming,
  awaited: PendingAsk,
  reply: CarrierReply,
  now: number,
  repeat_pause_ms: number | null
): Effect.Effect<Part> => {
  switch (reply.kind) {
    case "offers":
      return quoted(naming, awaited, reply.offers, now)
    case "declined":
      return Effect.succeed(answered(naming, awaited, { outcome: "declined", reason: reply.reason }, now))
    case "question":
      return Effect.succeed(questioned(naming, awaited, reply.questions, now))
    case "pending":
      return Effect.succeed({ ...nothing, jobs: followUps(awaited, reply, now) })
    case "unavailable":
      if (repeat_pause_ms !== null) {
        const again = { ...askOf(awaited), attempt: awaited.ask.attempt + 1 }
        const due_at = now + Math.max(0, reply.retry_after_ms ?? repeat_pause_ms)
        return Effect.succeed({ ...nothing, jobs: [job(awaited, "ask_carrier", again, due_at)] })
      }
      return Effect.succeed(answered(naming, awaited, { outcome: "no_answer", reason: reply.reason }, now))
  }
}

const nothing: Part = { writes: [], events: [], jobs: [] }

/** The step that an outcome makes, and what comes with it; nothing where the answer is not awaited any more. */
const answered = (
  naming: Naming,
  awaited: PendingAsk,
  outcome: QuoteRequest.Outcome,
  now: number,
  before: ReadonlyArray<Part> = []
): Part => {
  const { candidate, request } = awaited
  const step =
    now > awaited.ask.deadline ? null : QuoteRequest.answer(request, candidate.adapter.carrier.id, outcome, now)
  if (step === null) return nothing
  const last: Part = { writes: [storedRequest(step.request)], events: [requestEvent(naming.ids, step, now)], jobs: [] }
  return joined([...before, last])
}

const questioned = (
  naming: Naming,
  awaited: PendingAsk,
  questions: Extract<CarrierReply, { kind: "question" }>["questions"],
  now: number
): Part => {
  const message = questions.map((question) => Offer.clean(question.label)).join(" ")
  const missing_facts = questions.map((question) => Offer.clean(question.path))
  const ending: Part = {
    ...nothing,
    jobs: [job(awaited, "end_action", { quote_request_id: awaited.request.id }, now + action_ms)]
  }
  return answered(naming, awaited, { outcome: "needs_information", message, missing_facts }, now, [ending])
}

const quoted = Effect.fnUntraced(function* (
  naming: Naming,
  awaited: PendingAsk,
  offers: ReadonlyArray<CarrierOffer>,
  now: number
) {
  const made = yield* Effect.forEach(offers, (offer) =>
    Effect.map(originOf(naming, awaited, naming.ids.quote(), offer, now), (origin) => ({
      offer,
      quote: Quote.fromOffer(offer, origin)
    }))
  )
  const quote_ids = made.map(({ quote }) => quote.id)
  const parts = made.map(({ offer, quote }) =>
    offered(naming.ids, {
      quote,
      offer,
      carrier_id: awaited.candidate.adapter.carrier.id,
      line: awaited.line,
      created_at: now,
      at: now,
      ordered: awaited.ordered
    })
  )
  // The quotes first: a reader of the feed learns of a quote before it learns that the request has it.
  return answered(naming, awaited, { outcome: "quoted", quote_ids }, now, parts)
})

const joined = (parts: ReadonlyArray<Part>): Part => ({
  writes: parts.flatMap((part) => part.writes),
  events: parts.flatMap((part) => part.events),
  jobs: parts.flatMap((part) => part.jobs)
})

/** What an offer of this ask needs to become a quote with the given id. */
export const originOf = Effect.fnUntraced(function* (
  naming: Naming,
  awaited: PendingAsk,
  id: QuoteId,
  offer: CarrierOffer,
  answered_at: number
): Effect.fn.Return<Quote.Origin> {
  const base_url = yield* naming.base_url
  const token = offer.handoff_url === null ? null : yield* goTokens.write(naming.seal, awaited.workspace_id, id)
  return {
    id,
    environment: awaited.request.environment,
    line: awaited.line,
    quote_request_id: awaited.request.id,
    application_id: awaited.request.application_id,
    carrier: awaited.candidate.adapter.carrier,
    answered_at,
    redirect_path: token === null ? null : `/go/${token}`,
    base_url
  }
})

/** An accepted ask is polled, or the carrier calls back; a simulated one has its callback played by a job. */
const followUps = (
  awaited: PendingAsk,
  reply: Extract<CarrierReply, { kind: "pending" }>,
  now: number
): ReadonlyArray<NewJob> => {
  const accepted = { ...askOf(awaited), ref: reply.ref }
  if (reply.poll_after_ms !== null) {
    const { least, most } = poll_between_ms
    return [job(awaited, "poll_carrier", accepted, now + Math.min(most, Math.max(least, reply.poll_after_ms)))]
  }
  return reply.callback_after_ms === undefined || awaited.candidate.adapter.simulation === undefined
    ? []
    : [job(awaited, "carrier_callback", accepted, now + Math.max(0, reply.callback_after_ms))]
}

const askOf = (awaited: PendingAsk): JobPayload.Payloads["ask_carrier"] => ({
  quote_request_id: awaited.request.id,
  carrier_id: awaited.candidate.adapter.carrier.id,
  attempt: awaited.ask.attempt
})

const job = <K extends JobKind>(
  awaited: PendingAsk,
  kind: K,
  payload: JobPayload.Payloads[K],
  due_at: number
): NewJob => JobPayload.make(kind, payload, { due_at, ordered: awaited.ordered })

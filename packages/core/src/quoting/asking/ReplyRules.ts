import { Effect, Result } from "effect"
import { Seal } from "../../access/Seal.ts"
import { goTokens } from "../../access/Token.ts"
import * as AnswerRules from "../../carriers/AnswerRules.ts"
import type { CarrierOffer, CarrierReply, Decline } from "../../carriers/Carrier.ts"
import * as Offer from "../../carriers/Offer.ts"
import * as Reply from "../../carriers/Reply.ts"
import type { NewJob } from "../../storage/Job.ts"
import type { BrokenRule } from "../../wire/BrokenRule.ts"
import { Ids, type QuoteId } from "../../wire/Ids.ts"
import { PublicUrl } from "../../wire/PublicUrl.ts"
import { day_ms, second_ms } from "../../wire/Timestamp.ts"
import * as Quote from "../Quote.ts"
import { type Part, quoteVersionChange } from "../QuoteChange.ts"
import * as QuoteRequest from "../QuoteRequest.ts"
import { job, type PendingAsk, payloadOf } from "./AskLoading.ts"

/** The shortest and the longest wait between two polls. */
const poll_between_ms = { least: 2 * second_ms, most: 10 * second_ms } as const
/** A question that stays unanswered for this long ends the request. */
const action_ms = day_ms
/** At most this many offers of a carrier are used for one request; the rest is dropped. */
const max_offers = 10

/**
 * Checks and normalizes the offers of a reply. If one breaks a rule, or there is none, the whole reply counts as
 * unreadable, and the broken rule is logged.
 */
export const checkReply = (pending: PendingAsk, reply: CarrierReply, now: number): Effect.Effect<CarrierReply> => {
  if (reply.kind !== "offers") return Effect.succeed(reply)
  const checked = reply.offers.slice(0, max_offers).map((offer) => checkOffer(pending, offer, now))
  const broken = [
    ...(reply.offers.length === 0 ? [{ path: "offers", message: "Must hold at least one offer." }] : []),
    ...checked.flatMap((offer, index) => (Result.isFailure(offer) ? under(`offers.${index}`, offer.failure) : []))
  ]
  if (broken.length > 0) return Effect.as(AnswerRules.log(broken), Reply.unavailable("unreadable_answer"))
  const offers = checked.flatMap((offer) => (Result.isSuccess(offer) ? [offer.success] : []))
  const taken: CarrierReply = { kind: "offers", offers }
  return reply.offers.length <= max_offers
    ? Effect.succeed(taken)
    : Effect.as(Effect.logWarning(`A carrier made too many offers: only the first ${max_offers} are used`), taken)
}

/** Checks a refreshed offer. Returns null if it breaks a rule, which is logged. */
export const checkRefreshed = (
  pending: PendingAsk,
  offer: CarrierOffer,
  now: number
): Effect.Effect<CarrierOffer | null> => {
  const checked = checkOffer(pending, offer, now)
  return Result.isSuccess(checked)
    ? Effect.succeed(checked.success)
    : Effect.as(AnswerRules.log(under("offer", checked.failure)), null)
}

const under = (place: string, rules: ReadonlyArray<BrokenRule>): ReadonlyArray<BrokenRule> =>
  rules.map(({ path, message }) => ({ path: `${place}.${path}`, message }))

const checkOffer = (pending: PendingAsk, offer: CarrierOffer, now: number) =>
  Offer.check(offer, {
    line: pending.line,
    state: pending.assumed.state,
    subject_ids: new Set(pending.assumed.subjects.map((subject) => subject.subject_id)),
    handoff_hosts: pending.candidate.adapter.handoff_hosts,
    now
  })

/**
 * Applies carriers' replies, whose offers were checked before: returns what a reply adds to a change at `now`, in
 * milliseconds of workspace time.
 *
 * `again_after_ms` is when the carrier is asked again that is unavailable, or polled again; null if it is not asked again, or
 * polled when it says.
 */
export const make = Effect.gen(function* () {
  const ids = yield* Ids
  const loadOrigin = yield* makeOriginLoader

  const quotesPart = Effect.fnUntraced(function* (
    pending: PendingAsk,
    offers: ReadonlyArray<CarrierOffer>,
    now: number
  ) {
    const made = yield* Effect.forEach(offers, (offer) =>
      Effect.map(loadOrigin(pending, ids.quote(), offer, now), (origin) => ({
        offer,
        quote: Quote.fromOffer(offer, origin)
      }))
    )
    const quote_ids = made.map(({ quote }) => quote.id)
    const parts = made.map(({ offer, quote }) =>
      quoteVersionChange(ids, {
        quote,
        offer,
        carrier_id: pending.candidate.adapter.carrier.id,
        line: pending.line,
        created_at: now,
        at: now,
        ordered: pending.ordered
      })
    )
    // Events of quotes come first, so that a reader of the feed knows a quote before the request refers to it.
    return stepPart(ids, pending, { outcome: "quoted", quote_ids }, now, parts)
  })

  return (
    pending: PendingAsk,
    reply: CarrierReply,
    now: number,
    again_after_ms: number | null
  ): Effect.Effect<Part> => {
    switch (reply.kind) {
      case "offers":
        return quotesPart(pending, reply.offers, now)
      case "declined":
        return Effect.succeed(
          stepPart(ids, pending, { outcome: "declined", reason: reply.reason, message: wordsOf(reply) }, now)
        )
      case "question":
        return Effect.succeed(questionPart(ids, pending, reply.questions, now))
      case "pending":
        return Effect.succeed({ ...nothing, jobs: followUps(pending, reply, now, again_after_ms) })
      case "unavailable":
        return Effect.succeed(
          again_after_ms === null
            ? stepPart(ids, pending, { outcome: "no_answer", reason: reply.reason }, now)
            : { ...nothing, jobs: [repeat(pending, now + again_after_ms)] }
        )
    }
  }
})

/** Loads what an offer needs to become a quote with a given id. */
export const makeOriginLoader = Effect.gen(function* () {
  const seal = yield* Seal
  const baseUrl = yield* PublicUrl

  return Effect.fnUntraced(function* (
    pending: PendingAsk,
    id: QuoteId,
    offer: CarrierOffer,
    answered_at: number
  ): Effect.fn.Return<Quote.Origin> {
    const base_url = yield* baseUrl
    const { adapter } = pending.candidate
    const hasLink = offer.handoff_url !== null || adapter.handoff !== undefined
    const token = hasLink ? yield* goTokens.write(seal, pending.workspace_id, id) : null
    return {
      id,
      environment: pending.request.environment,
      line: pending.line,
      quote_request_id: pending.request.id,
      application_id: pending.request.application_id,
      carrier: adapter.carrier,
      answered_at,
      redirect_path: token === null ? null : `/go/${token}`,
      base_url
    }
  })
})

const repeat = (pending: PendingAsk, due_at: number): NewJob =>
  job(pending, "ask_carrier", { ...payloadOf(pending), attempt: pending.ask.attempt + 1 }, due_at)

const nothing: Part = { writes: [], events: [], jobs: [] }

/** The step that an outcome makes, with its parts. Empty if the request no longer waits for this answer. */
const stepPart = (
  ids: Ids["Service"],
  pending: PendingAsk,
  outcome: QuoteRequest.AskOutcome,
  now: number,
  before: ReadonlyArray<Part> = []
): Part => {
  const { candidate, request } = pending
  const step =
    now > pending.ask.deadline ? null : QuoteRequest.answer(request, candidate.adapter.carrier.id, outcome, now)
  if (step === null) return nothing
  const last: Part = {
    writes: [QuoteRequest.toStored(step.request)],
    events: [QuoteRequest.requestEvent(ids, step, now)],
    jobs: []
  }
  return joined([...before, last])
}

const questionPart = (
  ids: Ids["Service"],
  pending: PendingAsk,
  questions: Extract<CarrierReply, { kind: "question" }>["questions"],
  now: number
): Part => {
  const message = questions.map((question) => Offer.clean(question.label)).join(" ")
  const missing_facts = questions.map((question) => Offer.clean(question.path))
  const ending: Part = {
    ...nothing,
    jobs: [job(pending, "end_action", { quote_request_id: pending.request.id }, now + action_ms)]
  }
  return stepPart(ids, pending, { outcome: "needs_information", message, missing_facts }, now, [ending])
}

/** What a carrier says about its decline, fit to be shown; null if it says nothing. */
const wordsOf = ({ message = "" }: Decline): string | null => {
  const words = Offer.clean(message).trim()
  return words === "" ? null : words
}

const joined = (parts: ReadonlyArray<Part>): Part => ({
  writes: parts.flatMap((part) => part.writes),
  events: parts.flatMap((part) => part.events),
  jobs: parts.flatMap((part) => part.jobs)
})

/** The job that follows an accepted ask: a poll, or nothing if the carrier calls back. Simulated callbacks are jobs too. */
const followUps = (
  pending: PendingAsk,
  reply: Extract<CarrierReply, { kind: "pending" }>,
  now: number,
  again_after_ms: number | null
): ReadonlyArray<NewJob> => {
  const accepted = { ...payloadOf(pending), ref: reply.ref }
  if (reply.poll_after_ms !== null) {
    const { least, most } = poll_between_ms
    const wait_ms = again_after_ms ?? Math.min(most, Math.max(least, reply.poll_after_ms))
    return [job(pending, "poll_carrier", accepted, now + wait_ms)]
  }
  return reply.callback_after_ms === undefined || pending.candidate.adapter.simulation === undefined
    ? []
    : [job(pending, "carrier_callback", accepted, now + Math.max(0, reply.callback_after_ms))]
}

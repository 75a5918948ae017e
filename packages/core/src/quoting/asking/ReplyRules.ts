import { Effect, Result } from "effect"
import { goTokens } from "../../access/SignedId.ts"
import { Seal } from "../../access/sealing/Seal.ts"
import * as AnswerRules from "../../carriers/AnswerRules.ts"
import type { CarrierOffer, CarrierReply, Decline } from "../../carriers/Carrier.ts"
import { attemptMs } from "../../carriers/CarrierClient.ts"
import * as Offer from "../../carriers/Offer.ts"
import { withScenarioChanges } from "../../carriers/OwnCarrierScenarios.ts"
import * as Reply from "../../carriers/Reply.ts"
import type { SecretFinder } from "../../carriers/secrets/SecretFinder.ts"
import * as ClockHold from "../../runner/ClockHold.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import type { NewJob } from "../../storage/Job.ts"
import type { BrokenRule } from "../../wire/BrokenRule.ts"
import { Ids, type QuoteId } from "../../wire/Ids.ts"
import { PublicUrl } from "../../wire/PublicUrl.ts"
import { dayMs, secondMs } from "../../wire/Timestamp.ts"
import * as Quote from "../Quote.ts"
import * as QuoteChange from "../QuoteChange.ts"
import * as QuoteRequest from "../QuoteRequest.ts"
import * as CarrierReferences from "./CarrierReferences.ts"
import { askJob, type PendingAsk, payloadOf } from "./PendingAsks.ts"

/** The shortest and the longest wait between two polls. */
const pollBetweenMs = { least: 2 * secondMs, most: 10 * secondMs } as const
/** How long a question may stay unanswered before the request ends. */
const actionMs = dayMs
/** The maximum number of offers from one carrier that a request uses. Further offers are dropped. */
const maxOffers = 10

/** The maximum number of questions from one carrier that a request uses. Further questions are dropped. */
const maxQuestions = 20

/**
 * Checks a reply, normalizes its offers, and removes markup and the secrets that were sent to the carrier from its
 * text. The whole reply is treated as unreadable in three cases: an offer breaks a rule, the list of offers is empty,
 * or the adapter has no function that could obtain the answer to a `pending` reply. The broken rule is then logged.
 */
export const checkReply = (
  pendingAsk: PendingAsk,
  reply: CarrierReply,
  secrets: SecretFinder,
  now: number
): Effect.Effect<CarrierReply> => {
  if (reply.kind === "pending") {
    const brokenRules = AnswerRules.ofPending(pendingAsk.candidate.adapter, reply)
    return brokenRules.length === 0 ? Effect.succeed(reply) : Effect.as(AnswerRules.log(brokenRules), unreadable)
  }
  const clean = Offer.cleanOf(secrets)
  if (reply.kind === "question") {
    const questions = reply.questions
      .slice(0, maxQuestions)
      .map(({ label, path }) => ({ label: clean(label), path: clean(path) }))
    const taken: CarrierReply = { kind: "question", questions }
    return reply.questions.length <= maxQuestions
      ? Effect.succeed(taken)
      : Effect.as(Effect.logWarning(`A carrier asked too many questions; using the first ${maxQuestions}`), taken)
  }
  if (reply.kind === "declined" && reply.message !== undefined) {
    return Effect.succeed({ ...reply, message: clean(reply.message) })
  }
  if (reply.kind !== "offers") return Effect.succeed(reply)
  const checked = reply.offers.slice(0, maxOffers).map((offer) => checkOffer(pendingAsk, offer, secrets, now))
  const broken = [
    ...(reply.offers.length === 0 ? [{ path: "offers", message: "Must have at least one offer." }] : []),
    ...checked.flatMap((offer, index) => (Result.isFailure(offer) ? under(`offers.${index}`, offer.failure) : []))
  ]
  if (broken.length > 0) return Effect.as(AnswerRules.log(broken), unreadable)
  const { role } = pendingAsk.candidate
  const offers = checked.flatMap((offer) => {
    if (Result.isFailure(offer)) return []
    return [role === undefined ? offer.success : withScenarioChanges(role, pendingAsk.ask, offer.success, now)]
  })
  const taken: CarrierReply = { kind: "offers", offers }
  return reply.offers.length <= maxOffers
    ? Effect.succeed(taken)
    : Effect.as(Effect.logWarning(`A carrier made too many offers; using the first ${maxOffers}`), taken)
}

const unreadable = Reply.failed("unreadable_answer")

/** Checks a refreshed offer. If the offer breaks a rule, logs the rule and returns null. */
export const checkRefreshed = (
  pendingAsk: PendingAsk,
  offer: CarrierOffer,
  secrets: SecretFinder,
  now: number
): Effect.Effect<CarrierOffer | null> => {
  const checked = checkOffer(pendingAsk, offer, secrets, now)
  return Result.isSuccess(checked)
    ? Effect.succeed(checked.success)
    : Effect.as(AnswerRules.log(under("offer", checked.failure)), null)
}

const under = (place: string, rules: ReadonlyArray<BrokenRule>): ReadonlyArray<BrokenRule> =>
  rules.map(({ path, message }) => ({ path: `${place}.${path}`, message }))

const checkOffer = (pendingAsk: PendingAsk, offer: CarrierOffer, secrets: SecretFinder, now: number) =>
  Offer.check(offer, {
    line: pendingAsk.line,
    state: pendingAsk.assumed.state,
    subject_ids: new Set(pendingAsk.assumed.subjects.map((subject) => subject.subject_id)),
    handoff_hosts: pendingAsk.candidate.adapter.handoff_hosts,
    secrets,
    now,
    is_simulated: pendingAsk.candidate.adapter.simulation !== undefined
  })

/** A carrier's reply, and when it arrived. */
export interface ArrivedReply<R extends CarrierReply = CarrierReply> {
  readonly reply: R
  /** When the reply arrived, in milliseconds of workspace time. */
  readonly at: number
  /**
   * How long to wait before asking or polling an unavailable carrier again. Null if this must not happen, or if the
   * carrier itself says when to poll.
   */
  readonly again_after_ms?: number | null
}

/**
 * Makes a function that turns a carrier's reply into the parts that the reply adds to a change. Check any offers in the
 * reply first.
 */
export const make = Effect.gen(function* () {
  const ids = yield* Ids
  const seal = yield* Seal
  const loadOrigin = yield* makeOriginLoader
  const stepPart = makeStepPart(ids)

  const quotesPart = Effect.fnUntraced(function* (
    pendingAsk: PendingAsk,
    offers: ReadonlyArray<CarrierOffer>,
    now: number
  ) {
    const newQuotes = yield* Effect.forEach(offers, (offer) =>
      Effect.map(loadOrigin(pendingAsk, ids.quote(), offer, now), (origin) => ({
        offer,
        quote: Quote.fromOffer(offer, origin)
      }))
    )
    const quote_ids = newQuotes.map(({ quote }) => quote.id)
    const parts = newQuotes.map(({ offer, quote }) =>
      QuoteChange.versionChange(ids, {
        quote,
        offer,
        carrier_id: pendingAsk.candidate.adapter.carrier.id,
        line: pendingAsk.line,
        created_at: now,
        at: now,
        queue: pendingAsk.queue
      })
    )
    // Quote events come first, so that a reader of the feed knows a quote before the request refers to it.
    return stepPart(pendingAsk, { outcome: "quoted", quote_ids }, now, parts)
  })

  return (
    pendingAsk: PendingAsk,
    { again_after_ms = null, at: now, reply }: ArrivedReply
  ): Effect.Effect<QuoteChange.ChangePart> => {
    switch (reply.kind) {
      case "offers":
        return quotesPart(pendingAsk, reply.offers, now)
      case "declined":
        return Effect.succeed(
          stepPart(pendingAsk, { outcome: "declined", reason: reply.reason, message: wordsOf(reply) }, now)
        )
      case "question":
        return Effect.succeed(questionPart(stepPart, pendingAsk, reply.questions, now))
      case "pending":
        return Effect.map(
          CarrierReferences.sealAccepted(seal, pendingAsk.workspace_id, payloadOf(pendingAsk), reply.ref),
          (sealedRef) => ({
            ...QuoteChange.emptyPart,
            jobs: followUpJobs(pendingAsk, sealedRef, { reply, at: now, again_after_ms })
          })
        )
      case "unavailable":
        return Effect.succeed(
          again_after_ms === null
            ? stepPart(
                pendingAsk,
                { outcome: "no_answer", reason: reply.reason, never_asked: pendingAsk.never_asked === true },
                now
              )
            : { ...QuoteChange.emptyPart, jobs: [repeatJob(pendingAsk, now + again_after_ms)] }
        )
    }
  }
})

/** Makes a function that loads the `Origin` with which an offer becomes a quote with a given ID. */
export const makeOriginLoader = Effect.gen(function* () {
  const seal = yield* Seal
  const baseUrl = yield* PublicUrl

  return Effect.fnUntraced(function* (
    pendingAsk: PendingAsk,
    id: QuoteId,
    offer: CarrierOffer,
    answered_at: number
  ): Effect.fn.Return<Quote.Origin> {
    const base_url = yield* baseUrl
    const { adapter } = pendingAsk.candidate
    // In the `price_unknown` scenario, an offer without a price has no link, even if the adapter could make a link when
    // the person clicks.
    const isHidden = pendingAsk.ask.scenario === "price_unknown" && offer.premium === null
    const hasLink = !isHidden && (offer.handoff_url !== null || adapter.handoff !== undefined)
    const token = hasLink ? yield* goTokens.write(seal, pendingAsk.workspace_id, id) : null
    return {
      id,
      environment: pendingAsk.request.environment,
      line: pendingAsk.line,
      quote_request_id: pendingAsk.request.id,
      application_id: pendingAsk.request.application_id,
      carrier: adapter.carrier,
      answered_at,
      redirect_path: token === null ? null : `/go/${token}`,
      base_url
    }
  })
})

const repeatJob = (pendingAsk: PendingAsk, dueAt: number): NewJob =>
  askJob(pendingAsk, "ask_carrier", { ...payloadOf(pendingAsk), attempt: pendingAsk.ask.attempt + 1 }, dueAt)

/** Makes the parts of a change for an outcome. The parts are empty if the request no longer waits for this answer. */
type StepPart = (
  pendingAsk: PendingAsk,
  outcome: QuoteRequest.AskOutcome,
  now: number,
  earlierParts?: ReadonlyArray<QuoteChange.ChangePart>
) => QuoteChange.ChangePart

const makeStepPart =
  (ids: Ids["Service"]): StepPart =>
  (pendingAsk, outcome, now, earlierParts = []) => {
    const { ask, candidate, request } = pendingAsk
    // A late answer is ignored, but a report that a carrier was never asked is not: hosts that were down discover this
    // only after the deadline.
    const isLate = now > ask.deadline && !(outcome.outcome === "no_answer" && outcome.never_asked === true)
    const step = isLate ? null : QuoteRequest.answer(request, candidate.adapter.carrier.id, outcome, now)
    if (step === null) return QuoteChange.emptyPart
    const last: QuoteChange.ChangePart = {
      writes: [QuoteRequest.toStored(step.request)],
      events: [QuoteRequest.requestEvent(ids, step, now)],
      jobs: []
    }
    return joined([...earlierParts, last])
  }

const questionPart = (
  stepPart: StepPart,
  pendingAsk: PendingAsk,
  questions: Extract<CarrierReply, { kind: "question" }>["questions"],
  now: number
): QuoteChange.ChangePart => {
  const message = questions.map(({ label }) => label).join(" ")
  const missing_facts = questions.map(({ path }) => path)
  const ending: QuoteChange.ChangePart = {
    ...QuoteChange.emptyPart,
    jobs: [
      JobPayload.make(
        "end_action",
        { quote_request_id: pendingAsk.request.id },
        { due_at: now + actionMs, ordered: pendingAsk.request.environment === "sandbox" }
      )
    ]
  }
  return stepPart(pendingAsk, { outcome: "needs_information", message, missing_facts }, now, [ending])
}

/** The carrier's own words about its decline; null if the carrier gave no words. */
const wordsOf = ({ message = "" }: Decline): string | null => {
  const words = message.trim()
  return words === "" ? null : words
}

const joined = (parts: ReadonlyArray<QuoteChange.ChangePart>): QuoteChange.ChangePart => ({
  writes: parts.flatMap((part) => part.writes),
  events: parts.flatMap((part) => part.events),
  jobs: parts.flatMap((part) => part.jobs)
})

/**
 * The job that follows an accepted ask: a poll, or a simulated carrier's callback. If a real carrier may call back, the
 * job holds the sandbox's clock for the carrier's typical time or the longest attempt, whichever is longer.
 */
const followUpJobs = (
  pendingAsk: PendingAsk,
  sealed_ref: string,
  { again_after_ms, at: now, reply }: ArrivedReply<Extract<CarrierReply, { kind: "pending" }>>
): ReadonlyArray<NewJob> => {
  const accepted = { ...payloadOf(pendingAsk), sealed_ref }
  if (reply.poll_after_ms !== null) {
    const { least, most } = pollBetweenMs
    const waitMs = again_after_ms ?? Math.min(most, Math.max(least, reply.poll_after_ms))
    return [askJob(pendingAsk, "poll_carrier", accepted, now + waitMs)]
  }
  const { adapter, line } = pendingAsk.candidate
  if (ClockHold.holds(pendingAsk.queue)) {
    return [askJob(pendingAsk, "carrier_callback", accepted, now + Math.max(line.typical_ms, attemptMs(line)))]
  }
  return reply.callback_after_ms === undefined || adapter.simulation === undefined
    ? []
    : [askJob(pendingAsk, "carrier_callback", accepted, now + Math.max(0, reply.callback_after_ms))]
}

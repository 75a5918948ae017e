import { Effect } from "effect"
import * as AnswerRules from "../../carriers/AnswerRules.ts"
import type { CarrierAdapter, CarrierAsk } from "../../carriers/Carrier.ts"
import { brokenHandoff } from "../../carriers/Offer.ts"
import { called, expectNone, expectRead } from "./carrierRule.ts"
import { reached } from "./reached.ts"
import * as Subject from "./subject.ts"
import { passing } from "./time.ts"

/** The reference of the first offer in an ask's final answer; null if there is no offer. */
const offered = (subject: Subject.Subject, ask: CarrierAsk) =>
  Effect.map(reached(Subject.polled(subject, ask)), (answer) =>
    answer.kind === "offers" ? (answer.offers[0]?.offer_ref ?? null) : null
  )

/** Makes a check that refreshes the first offer, if the carrier makes an offer. */
export const refreshesOffer = (refresh: NonNullable<CarrierAdapter["refresh"]>) =>
  Effect.fnUntraced(function* (subject: Subject.Subject) {
    const ask = Subject.askOf(subject, "refresh")
    const offerRef = yield* offered(subject, ask)
    if (offerRef === null) return
    const refreshed = yield* called("refresh", () => refresh(ask, offerRef), subject.terms.attempt_timeout_ms)
    const read = yield* expectRead(refused, AnswerRules.readRefresh(refreshed))
    if (read.kind === "offer") yield* expectNone(refused, Subject.brokenOffer(subject, read.offer, "offer"))
  }, passing)

const refused = "refresh returned an answer that breaks rules. Correct the value at each path."

/** Makes a check that gets the link of the first offer, if the carrier makes an offer. */
export const givesLink = (handoff: NonNullable<CarrierAdapter["handoff"]>) =>
  Effect.fnUntraced(function* (subject: Subject.Subject) {
    const ask = Subject.askOf(subject, "handoff")
    const offerRef = yield* offered(subject, ask)
    if (offerRef === null) return
    const url = yield* called("handoff", () => handoff(ask, offerRef), subject.terms.attempt_timeout_ms)
    yield* expectNone("handoff returned a link that breaks a rule.", brokenHandoff(url, subject.adapter.handoff_hosts))
  }, passing)

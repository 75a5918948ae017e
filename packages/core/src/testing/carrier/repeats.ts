import { Effect } from "effect"
import type { HttpClient } from "effect/http"
import type { CarrierAsk, CarrierReply } from "../../carriers/Carrier.ts"
import { CarrierTransport } from "../../carriers/CarrierTransport.ts"
import { canonical } from "../../wire/Json.ts"
import { broken, called } from "./carrierRule.ts"
import { reached } from "./reached.ts"
import * as Subject from "./subject.ts"
import { passing } from "./time.ts"
import { overheard, refusing } from "./transports.ts"

/** Asks twice with the same idempotency key. Both asks must send the key, and the carrier must give the same answer. */
export const answersRepeat = Effect.fnUntraced(function* (subject: Subject.Subject) {
  const carrier = overheard(yield* CarrierTransport)
  const askWith = (attempt: number) => {
    const ask = Subject.askOf(subject, "repeat", attempt)
    return Effect.provideService(passing(reached(Subject.reply(subject, ask))), CarrierTransport, carrier.transport)
  }
  const first = yield* askWith(1)
  const sentOnce = carrier.requests.length
  const second = yield* askWith(2)
  const { idempotency_key } = Subject.askOf(subject, "repeat")
  const asks = [carrier.requests.slice(0, sentOnce), carrier.requests.slice(sentOnce)]
  const hasKey = asks.every((requests) => requests.some((request) => request.includes(idempotency_key)))
  if (sentOnce > 0 && !hasKey && !(yield* derivesFromKey(subject))) {
    return yield* broken("No request carries the idempotency_key of its ask. Send it, or set idempotent to false.")
  }
  if (canonical(essence(first)) === canonical(essence(second))) return
  yield* broken(
    "Two asks with the same idempotency_key got different answers. Let the carrier recognize the key, or set idempotent to false."
  )
})

/** The part of a reply that must be the same for a repeated ask. Times and links may differ. */
const essence = (reply: CarrierReply): unknown => {
  switch (reply.kind) {
    case "offers":
      return reply.offers.map(({ offer_ref, premium, term_months }) => ({ offer_ref, premium, term_months }))
    case "pending":
      return { ref: reply.ref }
    default:
      return reply
  }
}

/**
 * Whether the requests depend on the key, and otherwise stay the same. The key need not appear literally, because a
 * carrier may need a shortened or hashed key.
 */
const derivesFromKey = Effect.fnUntraced(function* (subject: Subject.Subject) {
  const ask = Subject.askOf(subject, "repeat")
  const first = yield* requestsOf(subject, ask)
  const same = yield* requestsOf(subject, ask)
  const otherRequests = yield* requestsOf(subject, { ...ask, idempotency_key: `other-${ask.idempotency_key}` })
  return first === same && first !== otherRequests
})

const requestsOf = (subject: Subject.Subject, ask: CarrierAsk) =>
  Effect.suspend(() => {
    const { requests, transport }: { requests: ReadonlyArray<string>; transport: HttpClient.HttpClient } =
      overheard(refusing)
    return passing(called("ask", () => subject.adapter.ask(ask), subject.terms.attempt_timeout_ms)).pipe(
      Effect.provideService(CarrierTransport, transport),
      Effect.ignore,
      Effect.map(() => canonical(requests))
    )
  })

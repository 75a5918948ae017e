import { Clock, Effect, Fiber } from "effect"
import type { CarrierAsk, CarrierReply } from "../../src/carriers/Carrier.ts"
import { Asking } from "../../src/quoting/asking/Asking.ts"
import {
  type Character,
  callbackOf,
  carrier,
  declined,
  offer,
  offers,
  readCallback,
  unavailable
} from "../quoting/carriers.ts"
import { advance, pass } from "../support/world.ts"

/*
 * Carriers that are not simulated: they answer in real time, which here is the test clock.
 */

/** What a real carrier has seen. Moments are milliseconds of real time. */
export interface RealCarrier extends ReturnType<typeof carrier> {
  /** The number of asks that it has answered with an offer in time. */
  readonly offered: () => number
  /** How many milliseconds each call came before the requested wait was over. */
  readonly early: ReadonlyArray<number>
  /** Delivers its callbacks to the service. */
  readonly connect: (service: Asking["Service"]) => void
}

/** What a carrier does with an ask. `nth` counts the asks and polls for the same request, from 1. */
type Behavior = (
  nth: number,
  ask: CarrierAsk
) => {
  readonly after_ms: number
  readonly reply: CarrierReply
  /** When it calls back with an offer, after it has accepted the ask. */
  readonly calls_back_after_ms?: number
}

/** A scripted carrier. */
export const real = (id: string, behavior: Behavior, character: Character = {}): RealCarrier => {
  const calls = new Map<string, number>()
  const resting = new Map<string, number>()
  const early: Array<number> = []
  let offered = 0
  let service: Asking["Service"] | undefined
  const note = ({ idempotency_key }: CarrierAsk, reply: CarrierReply) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const waitMs =
        reply.kind === "pending" ? reply.poll_after_ms : "retry_after_ms" in reply ? reply.retry_after_ms : null
      resting.set(idempotency_key, now + (waitMs ?? 0))
      if (reply.kind === "offers") offered += 1
      return reply
    })
  const callBack = (ref: string, afterMs: number) =>
    Effect.forkDetach(
      Effect.delay(
        Effect.suspend(() => {
          offered += 1
          return service?.callback(id, callbackOf(ref, offers())) ?? Effect.void
        }),
        afterMs
      )
    )
  const called = Effect.fnUntraced(function* (ask: CarrierAsk) {
    const nth = (calls.get(ask.idempotency_key) ?? 0) + 1
    calls.set(ask.idempotency_key, nth)
    const tooEarlyMs = (resting.get(ask.idempotency_key) ?? 0) - (yield* Clock.currentTimeMillis)
    if (tooEarlyMs > 0) early.push(tooEarlyMs)
    const { after_ms, calls_back_after_ms, reply } = behavior(nth, ask)
    yield* Effect.sleep(after_ms)
    if (calls_back_after_ms !== undefined) yield* callBack(ask.idempotency_key, calls_back_after_ms)
    return yield* note(ask, reply)
  })
  const scripted = carrier(id, called, {
    idempotent: false,
    ...character,
    rest: {
      poll: called,
      callback: readCallback,
      ...character.rest
    }
  })
  return {
    ...scripted,
    early,
    offered: () => offered,
    connect: (given) => {
      service = given
    }
  }
}

const accepted = ({ idempotency_key }: CarrierAsk, poll_after_ms: number | null): CarrierReply => ({
  kind: "pending",
  ref: idempotency_key,
  poll_after_ms
})
const throttled = (retry_after_ms: number): CarrierReply => ({
  kind: "unavailable",
  reason: "rate_limited",
  retry_after_ms
})

/** Twelve kinds of carrier, each with a time in milliseconds that decides how long it takes. */
export const kinds: { readonly [name: string]: (id: string, ms: number) => RealCarrier } = {
  prompt: (id) => real(id, () => ({ after_ms: 0, reply: offers() })),
  slow: (id, ms) => real(id, () => ({ after_ms: ms, reply: offers() })),
  declines: (id, ms) => real(id, () => ({ after_ms: ms, reply: declined })),
  silent: (id) => real(id, () => ({ after_ms: 3_600_000, reply: offers() })),
  "fails once": (id, ms) =>
    real(id, (nth) => ({ after_ms: ms, reply: nth === 1 ? unavailable("carrier_error") : offers() }), {
      idempotent: true
    }),
  "rate-limited": (id, ms) => real(id, (nth) => ({ after_ms: 100, reply: nth <= 2 ? throttled(ms) : offers() })),
  polled: (id, ms) =>
    real(id, (nth, ask) => ({ after_ms: 200, reply: nth <= 3 ? accepted(ask, Math.max(2_000, ms)) : offers() }), {
      mode: "poll"
    }),
  "polled at last": (id, ms) =>
    real(id, (nth, ask) => ({ after_ms: ms, reply: nth <= 1 ? accepted(ask, 2_000) : offers() }), { mode: "poll" }),
  "calls back": (id, ms) =>
    real(id, (_, ask) => ({ after_ms: 100, reply: accepted(ask, null), calls_back_after_ms: ms }), {
      mode: "callback"
    }),
  "calls back late": (id, ms) =>
    real(
      id,
      (_, ask) => ({ after_ms: 10, reply: accepted(ask, null), calls_back_after_ms: 12_000 + Math.round(ms / 10) }),
      {
        mode: "callback",
        typical_ms: 20_000
      }
    ),
  hedged: (id, ms) =>
    real(id, (nth) => ({ after_ms: nth === 1 ? 9_000 : Math.round(ms / 4), reply: offers() }), {
      idempotent: true,
      hedge_after_ms: 3_000
    }),
  refreshes: (id, ms) =>
    real(id, () => ({ after_ms: ms, reply: offers(offer({ refresh_after_ms: 600_000 })) }), {
      rest: {
        refresh: () =>
          Effect.delay(
            Effect.succeed({
              kind: "offer",
              reason: "price_updated",
              offer: offer({ premium: { amount_minor: 13_000, currency: "USD" } })
            } as const),
            ms
          )
      }
    })
}

/** Connects the callbacks of carriers to the service of the world. */
export const connected = (carriers: ReadonlyArray<RealCarrier>) =>
  Effect.map(Asking, (service) => {
    for (const simulated of carriers) simulated.connect(service)
  })

/** Advances the clock while real time passes, and retries the call as long as the response is `wait`. */
export const advanceInRealTime = Effect.fnUntraced(function* (seconds: number) {
  const idempotency_key = `real-${++advances}`
  while (true) {
    const advancing = yield* Effect.forkChild(Effect.result(advance(seconds, { idempotency_key })))
    while (advancing.pollUnsafe() === undefined) yield* pass(250)
    const result = yield* Fiber.join(advancing)
    if (result._tag === "Success") return result.success
    if (result.failure.retry_action !== "wait") return yield* result.failure
  }
})
let advances = 0

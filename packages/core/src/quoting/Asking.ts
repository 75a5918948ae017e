import { Clock, Effect, Random } from "effect"
import type { CarrierAsk, CarrierReply } from "./Carrier.ts"
import * as CarrierHealth from "./CarrierHealth.ts"
import type { Candidate } from "./Eligibility.ts"
import type { Line } from "./Line.ts"

/** What came of a try to ask: the carrier's reply, or that it has no room now and may be tried later. */
export type Asked =
  | { readonly _tag: "replied"; readonly reply: CarrierReply }
  | { readonly _tag: "no_room"; readonly again_after_ms: number }

/** Asks carriers, each within its own limits: a slow one holds nobody else up. */
export interface Asking {
  readonly isOpen: (carrier_id: string, line: Line, now: number) => boolean
  /** Asks once, within the carrier's time-out and the deadline. It never fails and never waits for room. */
  readonly ask: (candidate: Candidate, ask: CarrierAsk) => Effect.Effect<Asked>
  /** Runs any other call to an adapter; a defect or a time-out of it counts as `unavailable`. */
  readonly guarded: (
    call: Effect.Effect<CarrierReply>,
    candidate: Candidate,
    ask: CarrierAsk
  ) => Effect.Effect<CarrierReply>
}

/** How long an ask without room waits before it is tried again. */
const no_room_ms = 250

/** The asks of one process, with their circuit breakers. */
export const make: Effect.Effect<Asking> = Effect.sync(() => {
  const healths = new Map<string, CarrierHealth.CarrierHealth>()
  const keyOf = (carrier_id: string, line: Line) => `${carrier_id} ${line}`
  const healthOf = (key: string) => healths.get(key) ?? CarrierHealth.unknown

  // The time that a simulated carrier takes is workspace time, and a job's due time, never a wait.
  const guarded: Asking["guarded"] = (call, { adapter, line }, ask) =>
    Effect.catchDefect(
      adapter.simulation === undefined
        ? Effect.timeoutOrElse(call, {
            duration: Math.min(line.attempt_timeout_ms, Math.max(0, ask.deadline - ask.now)),
            orElse: () => Effect.succeed<CarrierReply>({ kind: "unavailable", reason: "timeout" })
          })
        : call,
      (defect) =>
        Effect.logWarning("A carrier's adapter has died", errorName(defect)).pipe(
          Effect.annotateLogs({ carrier: adapter.carrier.id, line: ask.line }),
          Effect.as<CarrierReply>({ kind: "unavailable", reason: "carrier_error" })
        )
    )

  const askWithin: Asking["ask"] = Effect.fnUntraced(function* (candidate, ask) {
    const { adapter, line } = candidate
    const key = keyOf(adapter.carrier.id, ask.line)
    const now = yield* Clock.currentTimeMillis
    if (!CarrierHealth.hasRoom(healthOf(key), line, now)) {
      return { _tag: "no_room" as const, again_after_ms: no_room_ms }
    }
    healths.set(key, CarrierHealth.began(healthOf(key), now))
    const once = adapter.ask(ask)
    // A second, identical ask may only be sent to carriers that can tell it from a new one.
    const hedged =
      line.idempotent && line.hedge_after_ms !== null
        ? Effect.raceFirst(once, Effect.delay(adapter.ask(ask), line.hedge_after_ms))
        : once
    let failed = true
    const reply = yield* guarded(hedged, candidate, ask).pipe(
      Effect.tap((reply) =>
        Effect.sync(() => {
          failed = reply.kind === "unavailable"
        })
      ),
      Effect.ensuring(
        Effect.map(Clock.currentTimeMillis, (end) => {
          healths.set(key, CarrierHealth.ended(healthOf(key), failed, end))
        })
      )
    )
    return { _tag: "replied" as const, reply }
  })

  return {
    isOpen: (carrier_id, line, now) => CarrierHealth.isOpen(healthOf(keyOf(carrier_id, line)), now),
    // What a simulated carrier is told to do says nothing about its health.
    ask: (candidate, ask) =>
      candidate.adapter.simulation === undefined
        ? askWithin(candidate, ask)
        : Effect.map(guarded(candidate.adapter.ask(ask), candidate, ask), (reply) => ({ _tag: "replied", reply })),
    guarded
  }
})

/** Only the name of an error is logged: its message may repeat what was sent to the carrier. */
const errorName = (defect: unknown): string => (defect instanceof Error ? defect.name : typeof defect)

/** How long to wait before the only repeat of an ask: a second, half of it left to chance. */
export const repeatPause: Effect.Effect<number> = Random.nextIntBetween(500, 1_500)

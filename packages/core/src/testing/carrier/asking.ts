import { Clock, Effect, type Result } from "effect"
import type { CarrierAdapter, CarrierReply } from "../../carriers/Carrier.ts"
import { CarrierTransport } from "../../carriers/CarrierTransport.ts"
import type { HttpExchange } from "../../carriers/recorder/Exchange.ts"
import * as RecordedTransport from "../../carriers/recorder/RecordedTransport.ts"
import * as Redaction from "../../carriers/recorder/Redaction.ts"
import type { ContractBroken } from "./rule.ts"
import * as Subject from "./subject.ts"

/** What an adapter answered to one ask, and how. */
export interface Asked {
  /** The answer, or why there is none that the engine would use. */
  readonly answer: Result.Result<CarrierReply, ContractBroken>
  readonly duration_ms: number
  /** What was exchanged with the carrier, redacted as the flight recorder does it. */
  readonly http: ReadonlyArray<HttpExchange>
  /** How many more exchanges there were. */
  readonly http_left_out: number
}

const max_http = 50

/**
 * Asks a carrier once, in real time, as the engine does: its `appetite`, then the ask, then polls until the answer is there.
 *
 * `facts` is an application as a caller sends it; the line's example by default. Fails if the facts do not suit the carrier.
 *
 * @example
 * const { answer, http } = yield* CarrierContract.ask(acme, "renters", facts)
 */
export const ask = Effect.fnUntraced(function* (
  adapter: CarrierAdapter,
  line: string,
  facts?: unknown,
  options: Pick<Subject.Options, "connection" | "environment" | "key"> = {}
): Effect.fn.Return<Asked, ContractBroken> {
  const subject = yield* Subject.subjectOf(adapter, line, facts, options)
  const list = new RecordedTransport.HttpList(max_http)
  const transport = RecordedTransport.make(yield* CarrierTransport, list.add)
  const began = yield* Clock.currentTimeMillis
  const answer = yield* Effect.result(
    Effect.provideService(Subject.polled(subject, Subject.askOf(subject, "ask")), CarrierTransport, transport)
  )
  const duration_ms = (yield* Clock.currentTimeMillis) - began
  const redaction = Redaction.redactionOf(adapter, options.connection)
  const http = list.exchanges.map((http) => RecordedTransport.exchangeOf(http, redaction))
  return { answer, duration_ms, http, http_left_out: list.left_out }
})

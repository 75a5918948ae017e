import { Effect, Result, Schema } from "effect"
import { type CarrierAdapter, CarrierReply } from "../../carriers/Carrier.ts"
import { CarrierTransport } from "../../carriers/CarrierTransport.ts"
import { HttpList } from "../../carriers/recorder/ExchangeDraft.ts"
import * as HttpRecording from "../../carriers/recorder/HttpRecording.ts"
import type { HttpExchange } from "../../carriers/recorder/StoredExchange.ts"
import * as Redaction from "../../carriers/secrets/Redaction.ts"
import * as Monotonic from "../../concurrency/Monotonic.ts"
import { ContractBroken } from "./carrierRule.ts"
import * as Subject from "./subject.ts"

/** An adapter's answer to one ask, and the exchanges that led to it. */
export interface AskedSubject {
  /** The answer, or the reason why there is no usable answer. */
  readonly answer: Result.Result<CarrierReply, ContractBroken>
  readonly duration_ms: number
  /** The exchanges with the carrier, redacted as in the service's own recordings. */
  readonly http: ReadonlyArray<HttpExchange>
  /** How many exchanges are not in `http` because there were too many. */
  readonly http_left_out: number
}

const maxHttp = 50

/**
 * Asks a carrier once, in real time, as the service would: first its `appetite`, then the ask, then polls until the
 * answer has arrived.
 *
 * `facts` is an application as a caller sends it; by default the line's example. Fails if the carrier would not be
 * asked with these facts.
 *
 * @example
 * const { answer, http } = yield* CarrierContract.ask(acme, "renters", facts)
 */
export const ask = Effect.fnUntraced(function* (
  adapter: CarrierAdapter,
  line: string,
  facts?: unknown,
  options: Pick<Subject.Options, "connection" | "environment" | "key"> = {}
): Effect.fn.Return<AskedSubject, ContractBroken> {
  const subject = yield* Subject.subjectOf(adapter, line, facts, options)
  const list = new HttpList(maxHttp)
  const transport = list.recording(yield* CarrierTransport)
  const beganMs = yield* Monotonic.millis
  const answer = yield* Effect.result(
    Effect.provideService(Subject.polled(subject, Subject.askOf(subject, "ask")), CarrierTransport, transport)
  )
  const duration_ms = yield* Monotonic.since(beganMs)
  const redaction = Redaction.redactionAfter(adapter, options.connection, list.exchanges)
  const checkedAnswer = Result.flatMap(answer, (reply) => withoutSecrets(reply, redaction))
  const http = list.exchanges.map((exchange) => HttpRecording.exchangeOf(exchange, redaction))
  return { answer: checkedAnswer, duration_ms, http, http_left_out: list.left_out }
})

/** A reply without the secrets of the carrier's connection. */
const withoutSecrets = (
  reply: CarrierReply,
  redaction: Redaction.Redaction
): Result.Result<CarrierReply, ContractBroken> => {
  const json = JSON.stringify(reply)
  if (!redaction.secrets.isIn(json)) return Result.succeed(reply)
  const cleaned = Redaction.bodyOf(json, "application/json", { ...redaction, paths: [] }) ?? ""
  return Result.mapError(readReply(cleaned), () => new ContractBroken({ broken_rules: [], message: repeatsSecret }))
}

const readReply = Schema.decodeResult(Schema.fromJsonString(CarrierReply))
const repeatsSecret =
  "The answer repeats a secret of the connection. Take only what the offer needs from the carrier's answer."

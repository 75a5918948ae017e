import { Clock, Context, Effect } from "effect"
import { HttpClient } from "effect/http"
import * as Monotonic from "../../concurrency/Monotonic.ts"
import type { BrokenRule } from "../../wire/BrokenRule.ts"
import type { CarrierAdapter, CarrierAsk } from "../Carrier.ts"
import { CarrierConnections } from "../CarrierConnections.ts"
import { CarrierTransport } from "../CarrierTransport.ts"
import * as WholeAnswers from "../http/WholeAnswers.ts"
import * as Redaction from "../secrets/Redaction.ts"
import * as HttpRecording from "./HttpRecording.ts"
import type { ExchangeOutcome, ExchangeType } from "./StoredExchange.ts"

/** The maximum number of HTTP exchanges recorded in one exchange with an adapter. */
const maxHttp = 8
/** The maximum number of broken rules recorded for an answer. */
const maxRules = 20

/** The part of an adapter's answer that is recorded. */
interface RecordedAnswer {
  readonly kind: ExchangeOutcome
  readonly reason?: string
}

/**
 * A change to a circuit's state. `stays_open`: the ask that tested the carrier failed. Times are milliseconds of real
 * time.
 */
export interface CircuitChange {
  readonly to: "opened" | "stays_open" | "closed"
  /** When the circuit opened. */
  readonly since: number
  /** When the circuit stops blocking asks; null if the circuit is closed. */
  readonly until: number | null
  readonly why: string
}

type Connections = Context.Service.Shape<typeof CarrierConnections>

/** The transport and the connections through which a host sends requests to carriers. */
export interface OutgoingHttp {
  readonly transport: HttpClient.HttpClient
  readonly connections: Connections
}

/** The HTTP exchanges in one exchange with an adapter, in start order, up to a maximum. */
export class HttpList {
  /** How many HTTP exchanges exceeded the maximum. */
  left_out = 0
  private readonly max: number
  private readonly list: Array<HttpRecording.RawHttp> = []

  constructor(max: number) {
    this.max = max
  }

  get exchanges(): ReadonlyArray<HttpRecording.RawHttp> {
    return this.list
  }

  readonly add: HttpRecording.AddHttp = (exchange) => {
    if (this.list.length >= this.max) {
      this.left_out += 1
      return () => {}
    }
    const index = this.list.push(exchange) - 1
    return (details) => {
      this.list[index] = { ...(this.list[index] ?? exchange), ...details }
    }
  }

  /** Makes a client that sends requests through another client, and adds each HTTP exchange to this list. */
  recording(client: HttpClient.HttpClient): HttpClient.HttpClient {
    const recordingClient = HttpClient.transform(client, (call, request) =>
      HttpRecording.recorded(call, request, this.add)
    )
    const sendWhole = WholeAnswers.sendWholeOf(client)
    if (sendWhole === undefined) return recordingClient
    return WholeAnswers.offer(recordingClient, HttpRecording.recordedWhole(sendWhole, this.add))
  }
}

/**
 * Collects what is known about one exchange with a carrier's adapter.
 *
 * Each run of a job begins a new draft. The adapter's call, its HTTP exchanges and the checks of its answer add to the
 * draft.
 */
export class ExchangeDraft {
  readonly exchange: ExchangeType
  readonly adapter: CarrierAdapter
  /**
   * The client that the adapter receives. It sends requests through the host's transport, and adds each HTTP exchange
   * to this draft.
   */
  readonly transport: HttpClient.HttpClient
  /** Where the adapter's requests wait for free connections. */
  readonly connections: Connections
  /** When the adapter was called and how long it took, in milliseconds of real time; null if it was not called. */
  call: { readonly started_at: number; readonly duration_ms: number } | null = null
  outcome: ExchangeOutcome = "unavailable"
  reason: string | null = null
  fault: string | null = null
  /** How the exchange's outcome changed the carrier's circuit; null if the circuit did not change. */
  circuit_change: CircuitChange | null = null
  /** Whether the reason for a missing answer is already known. */
  private isDecided = false
  private readonly rules: Array<BrokenRule> = []
  private readonly secrets: Array<string> = []
  /** How many requests were already searched for credentials. */
  private read = 0
  private readonly list = new HttpList(maxHttp)

  constructor(exchange: ExchangeType, adapter: CarrierAdapter, { connections, transport }: OutgoingHttp) {
    this.exchange = exchange
    this.adapter = adapter
    this.connections = connections
    this.transport = this.list.recording(transport)
  }

  get broken_rules(): ReadonlyArray<BrokenRule> {
    return this.rules
  }

  get http(): ReadonlyArray<HttpRecording.RawHttp> {
    return this.list.exchanges
  }

  /** The credentials in all requests up to now. Each request is searched once, after it has ended. */
  secretsSent(): ReadonlyArray<string> {
    const { http } = this
    for (const request of http.slice(this.read)) this.secrets.push(...Redaction.secretsSent([request]))
    this.read = http.length
    return this.secrets
  }

  get http_left_out(): number {
    return this.list.left_out
  }

  /**
   * Notes that the call has ended. If the answer gives no reason, an error or broken rule that was noted earlier
   * remains the outcome.
   */
  answered(answer: RecordedAnswer, call: NonNullable<ExchangeDraft["call"]>): void {
    this.call = call
    if (this.isDecided && answer.kind === "unavailable" && answer.reason === undefined) return
    this.outcome = answer.kind
    this.reason = answer.reason ?? null
  }

  /** Notes a `CarrierHttpError` that the adapter did not catch. The reply made from the error decides the outcome. */
  failed(fault: string, rules: ReadonlyArray<BrokenRule>): void {
    this.fault = fault
    this.add(rules)
  }

  /** Notes that the adapter threw. Only the class of the error is kept. */
  threw(fault: string): void {
    this.fault = fault
    this.decide("carrier_error")
  }

  /**
   * Notes that an earlier run of the call died with its process. `now` is when this was discovered, in milliseconds of
   * real time.
   */
  cutOff(now: number): void {
    this.call = { started_at: now, duration_ms: 0 }
    this.threw("ProcessEnded")
  }

  /** Notes that the answer breaks rules and is not used. */
  broke(rules: ReadonlyArray<BrokenRule>): void {
    this.add(rules)
    this.decide("unreadable_answer")
  }

  /** Notes that the outcome changed the carrier's circuit. */
  changed(change: CircuitChange): void {
    this.circuit_change = change
  }

  private add(rules: ReadonlyArray<BrokenRule>): void {
    this.rules.push(...rules.slice(0, maxRules - this.rules.length))
  }

  private decide(reason: string): void {
    this.isDecided = true
    this.outcome = "unavailable"
    this.reason = reason
  }

  /** Adds an HTTP exchange, unless the maximum is reached. */
  addHttp(http: HttpRecording.RawHttp): void {
    this.list.add(http)
  }
}

/** The draft of the current exchange; null outside a recorded exchange. */
const CurrentDraft = Context.Reference<ExchangeDraft | null>("@quotewire/core/CurrentDraft", {
  defaultValue: () => null
})

/**
 * Runs a part of an exchange. Everything that happens in that part is added to the draft, and the adapter gets the
 * recording client.
 *
 * The client makes no spans, because URLs in a span could contain facts.
 */
export const during =
  (draft: ExchangeDraft | null) =>
  <A, E, R>(part: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    draft === null
      ? part
      : part.pipe(
          Effect.provideService(CurrentDraft, draft),
          Effect.provideService(CarrierTransport, draft.transport),
          Effect.provideService(CarrierConnections, draft.connections),
          Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
        )

/** Passes the draft of the current exchange to `add`. Does nothing outside a recorded exchange. */
export const note = (add: (draft: ExchangeDraft) => void): Effect.Effect<void> =>
  Effect.map(CurrentDraft, (draft) => {
    if (draft !== null) add(draft)
  })

/**
 * Times a call to an adapter, adds its answer to the draft, and wraps the call in a span that contains no facts. `ask`
 * is null if the call's ask is unknown.
 */
export const watched = <A, E, R>(
  ask: Pick<CarrierAsk, "line" | "attempt"> | null,
  answerOf: (result: A) => RecordedAnswer,
  call: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  CurrentDraft.use((draft) => {
    if (draft === null) return call
    const timed = Effect.gen(function* () {
      const started_at = yield* Clock.currentTimeMillis
      const beganMs = yield* Monotonic.millis
      const result = yield* call
      draft.answered(answerOf(result), { started_at, duration_ms: yield* Monotonic.since(beganMs) })
      yield* Effect.annotateCurrentSpan({ outcome: draft.outcome, reason: draft.reason ?? "" })
      return result
    })
    const { id } = draft.adapter.carrier
    const attributes = { carrier: id, ...(ask !== null && { line: ask.line, attempt: ask.attempt }) }
    return Effect.withSpan(timed, `carrier ${draft.exchange}`, {
      kind: "client",
      captureStackTrace: false,
      attributes
    })
  })

import { Cause, Clock, Context, Effect, Layer, Metric } from "effect"
import type { Environment } from "../../access/Caller.ts"
import * as Fault from "../../concurrency/Fault.ts"
import * as Change from "../../storage/Change.ts"
import { commit, Storage } from "../../storage/Storage.ts"
import { type ApplicationId, Ids, type QuoteRequestId, type WorkspaceId } from "../../wire/Ids.ts"
import { fromMillis, secondMs } from "../../wire/Timestamp.ts"
import type { CarrierAdapter, CarrierCallback, ConnectionValues } from "../Carrier.ts"
import { CarrierConnections } from "../CarrierConnections.ts"
import { CarrierTransport } from "../CarrierTransport.ts"
import * as Redaction from "../secrets/Redaction.ts"
import * as SecretFinder from "../secrets/SecretFinder.ts"
import {
  type CarrierExchange,
  ExchangeRecording,
  OnCarrierExchange,
  type RecordedExchanges
} from "./CarrierExchange.ts"
import { ExchangeDraft } from "./ExchangeDraft.ts"
import * as HttpRecording from "./HttpRecording.ts"
import * as StoredExchange from "./StoredExchange.ts"

/** The quote request to which an exchange belongs, and the time of the exchange. */
export interface ExchangeSubject {
  readonly workspace_id: WorkspaceId
  readonly quote_request_id: QuoteRequestId
  readonly application_id: ApplicationId
  readonly environment: Environment
  readonly line: string
  readonly attempt: number
  /** When the exchange took place, in milliseconds of workspace time. */
  readonly at: number
  readonly connection: ConnectionValues
}

const make = Effect.gen(function* () {
  const drafts = yield* makeDrafts
  const findSecrets = makeFindSecrets(yield* RecentSecrets)

  /**
   * The secrets that an answer could repeat. A fictional carrier has no secrets, because nothing is sent to fictional
   * carriers.
   */
  const secretsOf = (
    draft: ExchangeDraft | null,
    connection: ConnectionValues | undefined
  ): SecretFinder.SecretFinder => (draft === null ? SecretFinder.none : findSecrets(draft, connection))

  return { ...drafts, secretsOf, ...(yield* makeEnds(findSecrets)) }
})

/** Makes the functions that begin an exchange's draft. */
const makeDrafts = Effect.gen(function* () {
  // The fallback for jobs that run in a call's fiber, whose context may lack what the host provided at startup.
  const usual = { transport: yield* CarrierTransport, connections: yield* CarrierConnections }

  /**
   * Begins the draft of an exchange. Returns null for a fictional carrier, because nothing is sent to fictional
   * carriers.
   */
  const begin = (
    exchange: StoredExchange.ExchangeType,
    adapter: CarrierAdapter
  ): Effect.Effect<ExchangeDraft | null> =>
    adapter.simulation === undefined
      ? Effect.contextWith((context: Context.Context<never>) =>
          Effect.succeed(
            new ExchangeDraft(exchange, adapter, {
              transport: Context.getOrUndefined(context, CarrierTransport) ?? usual.transport,
              connections: Context.getOrUndefined(context, CarrierConnections) ?? usual.connections
            })
          )
        )
      : Effect.succeed(null)

  /** Begins the draft of a callback that a carrier has sent. */
  const beginCallback = (
    adapter: CarrierAdapter,
    carrierCallback: CarrierCallback
  ): Effect.Effect<ExchangeDraft | null> =>
    Effect.gen(function* () {
      const draft = yield* begin("callback", adapter)
      draft?.addHttp(HttpRecording.received(carrierCallback, yield* Clock.currentTimeMillis))
      return draft
    })

  return { begin, beginCallback }
})

type FindSecrets = (draft: ExchangeDraft, connection: ConnectionValues | undefined) => SecretFinder.SecretFinder

/** Makes a function that finds the secrets that an exchange must not keep or show, based on its current draft. */
const makeFindSecrets = (recent: RecentlySent): FindSecrets => {
  const finderOf = SecretFinder.cachingFinders(maxFinders)
  return (draft, connection) => {
    const sentSecrets = recent.remember(draft.adapter.carrier.id, draft.secretsSent())
    return SecretFinder.ofCarrier(draft.adapter, connection, sentSecrets, finderOf)
  }
}

const makeEnds = Effect.fnUntraced(function* (findSecrets: FindSecrets) {
  const storage = yield* Storage
  const ids = yield* Ids
  const recording = yield* ExchangeRecording
  const onExchange = yield* OnCarrierExchange

  const ended = Effect.fnUntraced(function* (
    draft: ExchangeDraft,
    call: NonNullable<ExchangeDraft["call"]>,
    subject: ExchangeSubject | null
  ) {
    const secrets = findSecrets(draft, subject?.connection)
    const summary = summaryOf(draft, call, subject, secrets)
    yield* measure(summary)
    yield* report(onExchange, summary)
    if (subject === null || !isWanted(recording[subject.environment], summary.outcome)) return none
    const number = draft.exchange === "ask" ? null : yield* nextNumber(storage, subject)
    if (number === null && draft.exchange !== "ask") return none
    const redaction = Redaction.redactionOf(draft.adapter, secrets)
    return [StoredExchange.toStored(exchangeOf(draft, summary, subject, { redaction, number }), ids.exchange())]
  })

  /**
   * Ends an exchange, and returns the exchange's record, or nothing, to store in the change that commits the carrier's
   * answer. This never fails: data that cannot be recorded is only logged. `subject` is null if the exchange's request
   * is unknown.
   */
  const end = (
    draft: ExchangeDraft | null,
    subject: ExchangeSubject | null
  ): Effect.Effect<ReadonlyArray<Change.StoredRecord>> =>
    draft === null || draft.call === null
      ? Effect.succeed(none)
      : Effect.catchCause(ended(draft, draft.call, subject), (cause) => Effect.as(logLost(cause), none))

  /**
   * Ends an exchange whose answer changes nothing, such as a late callback, and stores only the exchange's record.
   * Stores nothing if the expected record has changed.
   */
  const endAlone = (
    draft: ExchangeDraft | null,
    subject: ExchangeSubject,
    expects: Change.Expectation
  ): Effect.Effect<void> =>
    Effect.flatMap(end(draft, subject), (writes) =>
      writes.length === 0
        ? Effect.void
        : commit(storage, Change.make(subject.workspace_id, { writes, expects: [expects] })).pipe(
            Effect.catchTag("VersionConflict", () => Effect.void),
            Effect.catchCause(logLost)
          )
    )

  return { end, endAlone }
})

/**
 * Records what was sent and received in each exchange with a carrier's adapter.
 *
 * `begin` makes the draft of an exchange, and `Draft.during` fills it. `end` counts the exchange, reports it to
 * `OnCarrierExchange`, and returns its record. The change that commits the answer also writes this record, if there is
 * one, so both are stored together or not at all.
 */
export class Recorder extends Context.Service<Recorder, Effect.Success<typeof make>>()("@quotewire/core/Recorder") {
  static readonly layer: Layer.Layer<Recorder, never, Storage | Ids> = Layer.effect(Recorder, make)
}

/** How many credentials are remembered for each carrier. */
const maxRecent = 32
/** The maximum number of cached finders. Each set of credentials has its own finder. */
const maxFinders = 32

/**
 * The credentials that this process last sent to each carrier. A callback, or the response to a later request, can
 * repeat them.
 *
 * They are kept only in memory, in one list for each carrier.
 */
export interface RecentlySent {
  /** Adds credentials that were sent to a carrier, and returns all credentials that are remembered for the carrier. */
  readonly remember: (carrier_id: string, secrets: ReadonlyArray<string>) => ReadonlyArray<string>
}

const makeRecent = (): RecentlySent => {
  const byCarrier = new Map<string, ReadonlyArray<string>>()
  return {
    remember: (carrierId, secrets) => {
      const knownSecrets = [...new Set([...secrets, ...(byCarrier.get(carrierId) ?? [])])]
      byCarrier.set(carrierId, knownSecrets.slice(0, maxRecent))
      return knownSecrets
    }
  }
}

/** The credentials that were sent most recently. The whole process shares one store by default. */
export const RecentSecrets: Context.Reference<RecentlySent> = Context.Reference("@quotewire/core/RecentSecrets", {
  defaultValue: makeRecent
})

const none: ReadonlyArray<never> = []

const exchanges = Metric.counter("quotewire_carrier_exchanges_total", {
  description: "Exchanges with carriers, by purpose, carrier, line, environment, outcome and reason.",
  incremental: true
})

const durations = Metric.histogram("quotewire_carrier_exchange_duration_seconds", {
  description: "How long carriers took, by purpose of the exchange, carrier and line.",
  boundaries: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120]
})

/** Updates the metrics for a finished exchange: their counts and durations. */
const measure = ({
  carrier_id: carrier,
  duration_ms,
  environment,
  exchange,
  line,
  outcome,
  reason
}: CarrierExchange): Effect.Effect<void> => {
  const labels = { exchange, carrier, line: line ?? "" }
  const counted = { ...labels, environment: environment ?? "", outcome, reason: reason ?? "" }
  return Effect.andThen(
    Metric.update(Metric.withAttributes(exchanges, counted), 1),
    Metric.update(Metric.withAttributes(durations, labels), duration_ms / secondMs)
  )
}

/** Reports an exchange to the program's `OnCarrierExchange`. If the hook throws, logs the error. */
const report = (onExchange: (exchange: CarrierExchange) => void, summary: CarrierExchange): Effect.Effect<void> =>
  Fault.callHook(
    () => onExchange(summary),
    (thrown) => {
      const { carrier_id, quote_request_id } = summary
      const log = Fault.log("OnCarrierExchange failed", Cause.die(thrown))
      return Effect.annotateLogs(log, { carrier_id, quote_request_id })
    }
  )

/** The number for a request's next exchange that is not an ask; null if it exceeds the maximum. */
const nextNumber = (storage: Storage["Service"], { application_id, workspace_id }: ExchangeSubject) =>
  Effect.map(
    storage.page({
      workspace_id,
      kind: StoredExchange.kind.name,
      parent: application_id,
      status: StoredExchange.repeated,
      order: "newest",
      after: null,
      limit: 1
    }),
    ({ records: [record] }) => {
      const number = record === undefined ? 1 : (StoredExchange.kind.value(record).number ?? 0) + 1
      return number > StoredExchange.maxRepeated ? null : number
    }
  )

const logLost = (cause: Cause.Cause<unknown>) => Fault.log("Could not record an exchange with a carrier", cause)

const isWanted = (recorded: RecordedExchanges, outcome: StoredExchange.ExchangeOutcome): boolean =>
  recorded === "all" || (recorded === "failures" && isFailure(outcome))

/** Whether an outcome is a failure: the carrier gave no usable answer. */
const isFailure = (outcome: StoredExchange.ExchangeOutcome): boolean =>
  outcome === "unavailable" || outcome === "refused"

const summaryOf = (
  draft: ExchangeDraft,
  { duration_ms, started_at }: NonNullable<ExchangeDraft["call"]>,
  subject: ExchangeSubject | null,
  secrets: SecretFinder.SecretFinder
): CarrierExchange => ({
  exchange: draft.exchange,
  carrier_id: draft.adapter.carrier.id,
  quote_request_id: subject?.quote_request_id ?? null,
  line: subject?.line ?? null,
  environment: subject?.environment ?? null,
  attempt: subject?.attempt ?? 1,
  started_at: fromMillis(started_at),
  duration_ms,
  outcome: draft.outcome,
  reason: draft.reason,
  broken_rules: draft.broken_rules.map(({ message, path }) => ({
    path: secrets.without(path),
    message: secrets.without(message)
  })),
  fault: draft.fault === null ? null : secrets.without(draft.fault),
  http: draft.http.map((http) => HttpRecording.summaryOf(http, secrets)),
  http_left_out: draft.http_left_out
})

const exchangeOf = (
  draft: ExchangeDraft,
  summary: CarrierExchange,
  { application_id, at, environment, line, quote_request_id }: ExchangeSubject,
  { number, redaction }: { readonly redaction: Redaction.Redaction; readonly number: number | null }
): StoredExchange.StoredExchange => ({
  ...summary,
  quote_request_id,
  application_id,
  line,
  environment,
  at: fromMillis(at),
  http: draft.http.map((http) => HttpRecording.exchangeOf(http, redaction)),
  number
})

import { Context, Effect, Layer, Option } from "effect"
import { askTokens } from "../../access/SignedId.ts"
import { Seal } from "../../access/sealing/Seal.ts"
import { CarrierAdapters, type CarrierAsk } from "../../carriers/Carrier.ts"
import { Connections } from "../../carriers/Connections.ts"
import { type Candidate, candidatesOfAll } from "../../carriers/Eligibility.ts"
import { candidatesInScenario } from "../../carriers/OwnCarrierScenarios.ts"
import * as ExchangeDraft from "../../carriers/recorder/ExchangeDraft.ts"
import * as Recorder from "../../carriers/recorder/Recorder.ts"
import type { ExchangeType } from "../../carriers/recorder/StoredExchange.ts"
import { type Assumed, disclosed } from "../../lines/Application.ts"
import type { Line } from "../../lines/Line.ts"
import { Lines } from "../../lines/Lines.ts"
import * as ClockHold from "../../runner/ClockHold.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import type { JobKind, JobQueue, NewJob } from "../../storage/Job.ts"
import { Storage } from "../../storage/Storage.ts"
import type { QuoteRequestId, WorkspaceId } from "../../wire/Ids.ts"
import { toMillis } from "../../wire/Timestamp.ts"
import * as ApplicationRecord from "../ApplicationRecord.ts"
import * as QuoteRequest from "../QuoteRequest.ts"

/** An ask without an answer yet, and everything that its reply is checked against. */
export interface PendingAsk {
  readonly workspace_id: WorkspaceId
  readonly request: QuoteRequest.QuoteRequest
  readonly line: Line
  readonly candidate: Candidate
  readonly assumed: Assumed
  readonly ask: CarrierAsk
  /** How the carrier's jobs are queued. */
  readonly queue: JobQueue
  /** Whether it is certain that the carrier was not asked and will not be asked; false by default. */
  readonly never_asked?: boolean
  /** The draft record of this exchange; null for a fictional carrier. */
  readonly draft: ExchangeDraft.ExchangeDraft | null
}

/** A request with its unsealed facts. */
export interface OpenedRequest {
  readonly workspace_id: WorkspaceId
  readonly request: QuoteRequest.QuoteRequest
  readonly line: Line
  readonly assumed: Assumed
  readonly credit_disclosed: boolean
}

const make = Effect.gen(function* () {
  const storage = yield* Storage
  const adapters = yield* CarrierAdapters
  const offering = candidatesOfAll(adapters)
  const { open, askFor, isAppointed } = yield* makeAsks
  const recorder = yield* Recorder.Recorder

  /** A request's carriers, fastest first. If the request has a scenario, each carrier plays a role in it. */
  const carriersOf = (request: QuoteRequest.QuoteRequest): ReadonlyArray<Candidate> => {
    const scenario = QuoteRequest.scenarioOf(request)
    return scenario === null
      ? (offering[request.environment].get(request.line) ?? [])
      : candidatesInScenario(adapters, request.line, scenario)
  }

  /** Reads a request; null if it has been erased. */
  const readRequest = (workspace_id: WorkspaceId, id: QuoteRequestId) =>
    Effect.map(storage.get({ workspace_id, kind: QuoteRequest.kind.name, id }), (stored) =>
      Option.isNone(stored) ? null : QuoteRequest.kind.value(stored.value)
    )

  /**
   * The ask to one of a request's carriers, even if the carrier already has an outcome; null if the ask cannot be
   * rebuilt.
   */
  const pending = Effect.fnUntraced(function* (
    workspace_id: WorkspaceId,
    request: QuoteRequest.QuoteRequest,
    ask: {
      readonly carrier_id: string
      readonly attempt: number
      readonly now: number
      /** The kind of call to the adapter for which the ask is loaded. */
      readonly exchange: ExchangeType
    }
  ) {
    const candidate = carriersOf(request).find(({ adapter }) => adapter.carrier.id === ask.carrier_id)
    const askedAt = request.carriers.find(({ carrier }) => carrier.id === ask.carrier_id)?.asked_at ?? null
    if (candidate === undefined || askedAt === null || request.deadline_at === null) return null
    const opened = yield* open(workspace_id, request)
    if (opened === null) return null
    const pendingAsk: PendingAsk = {
      workspace_id,
      request,
      line: opened.line,
      candidate,
      assumed: opened.assumed,
      ask: yield* askFor(opened, candidate, {
        attempt: ask.attempt,
        asked_at: toMillis(askedAt),
        now: ask.now,
        deadline: toMillis(request.deadline_at)
      }),
      queue: queueOf(candidate, request),
      draft: yield* recorder.begin(ask.exchange, candidate.adapter)
    }
    return pendingAsk
  })

  return { request: readRequest, carriersOf, open, askFor, isAppointed, pending }
})

/** Loads requests, and makes the asks to their carriers. */
export class PendingAsks extends Context.Service<PendingAsks, Effect.Success<typeof make>>()(
  "@quotewire/core/PendingAsks"
) {
  static readonly layer: Layer.Layer<
    PendingAsks,
    never,
    Storage | Seal | CarrierAdapters | Connections | Recorder.Recorder
  > = Layer.effect(PendingAsks, make)
}

/**
 * Makes a function that completes the facts of an application with assumptions. With storage in memory, all asks of a
 * request read the same application object, and share its completed facts (docs/decisions/tuning.md).
 */
const makeCompleteFacts = () => {
  const completed = new WeakMap<ApplicationRecord.ApplicationRecord, Assumed>()
  return (line: Line, application: ApplicationRecord.ApplicationRecord): Assumed | null => {
    const assumed = completed.get(application) ?? line.complete(application.facts, application.assumed_on)
    if (assumed !== null) completed.set(application, assumed)
    return assumed
  }
}

const makeAsks = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal
  const lines = yield* Lines
  const connections = yield* Connections
  const complete = makeCompleteFacts()

  /**
   * The organization's values for its connection to a carrier; null if the values are not set, or if the carrier needs
   * no connection.
   */
  const connectionTo = ({ workspace_id }: OpenedRequest, { adapter }: Candidate) =>
    adapter.connection === undefined ? Effect.succeed(null) : connections.of(workspace_id, adapter.carrier.id)

  /** Whether the request's organization has set the connection that a carrier needs. */
  const isAppointed = (openedRequest: OpenedRequest, candidate: Candidate) =>
    Effect.map(connectionTo(openedRequest, candidate), (values) => !isRequired(candidate) || values !== null)

  /** Opens a request's sealed facts. Returns null if they can no longer be read. */
  const open = Effect.fnUntraced(function* (workspace_id: WorkspaceId, request: QuoteRequest.QuoteRequest) {
    const line = lines.get(request.line)
    if (line === undefined) {
      return yield* Effect.logError("A quote request is for a line that this host does not offer").pipe(
        Effect.annotateLogs({ quote_request_id: request.id, line: request.line }),
        Effect.as(null)
      )
    }
    const stored = yield* storage.get({
      workspace_id,
      kind: ApplicationRecord.kind.name,
      id: request.application_id
    })
    if (Option.isNone(stored)) return null
    const record = ApplicationRecord.kind.value(stored.value)
    const assumed = complete(line, record)
    if (assumed === null) return null
    const opened: OpenedRequest = { workspace_id, request, line, assumed, credit_disclosed: record.credit_disclosed }
    return opened
  })

  /** Makes the content of one ask. Times are milliseconds of workspace time. */
  const askFor = Effect.fnUntraced(function* (
    openedRequest: OpenedRequest,
    candidate: Candidate,
    times: { readonly attempt: number; readonly asked_at: number; readonly now: number; readonly deadline: number }
  ) {
    const { request, assumed, workspace_id } = openedRequest
    const connection = yield* connectionTo(openedRequest, candidate)
    const ask: CarrierAsk = {
      line: request.line,
      environment: request.environment,
      facts: disclosed(openedRequest.line, assumed, [...candidate.line.needs, ...(candidate.line.wants ?? [])]),
      assumptions: assumed.assumptions,
      credit_disclosed: openedRequest.credit_disclosed,
      idempotency_key: yield* askTokens(candidate.adapter.carrier.id).write(seal, workspace_id, request.id),
      scenario: QuoteRequest.scenarioOf(request),
      requested_at: toMillis(request.created_at),
      ...(connection !== null && { connection }),
      ...times
    }
    return ask
  })

  return { open, askFor, isAppointed }
})

const isRequired = ({ adapter }: Candidate): boolean => adapter.connection !== undefined

/**
 * Whether an ask lacks its connection because the connection was removed after the collection began. The adapter must
 * then not be called.
 */
export const lacksConnection = ({ candidate, ask }: PendingAsk): boolean =>
  isRequired(candidate) && ask.connection === undefined

/**
 * How a carrier's jobs are queued. In a sandbox, a simulated carrier's jobs are ordered with the workspace's timers,
 * while a real carrier's jobs hold the clock.
 */
export const queueOf = (candidate: Candidate, { environment }: QuoteRequest.QuoteRequest): JobQueue => {
  if (environment === "live") return { ordered: false }
  return candidate.adapter.simulation === undefined ? { ordered: false, lane: ClockHold.lane } : { ordered: true }
}

/** The subject under which an ask's exchange is recorded. */
export const exchangeSubjectOf = ({ ask, request, workspace_id }: PendingAsk): Recorder.ExchangeSubject => ({
  workspace_id,
  quote_request_id: request.id,
  application_id: request.application_id,
  environment: request.environment,
  line: request.line,
  attempt: ask.attempt,
  at: ask.now,
  connection: ask.connection ?? {}
})

/** The payload of a job that retries the ask or polls for the answer. */
export const payloadOf = ({ request, candidate, ask }: PendingAsk): JobPayload.Payloads["ask_carrier"] => ({
  quote_request_id: request.id,
  carrier_id: candidate.adapter.carrier.id,
  attempt: ask.attempt
})

/** Makes a job that belongs to this ask. */
export const askJob = <K extends JobKind>(
  pendingAsk: PendingAsk,
  kind: K,
  payload: JobPayload.Payloads[K],
  due_at: number
): NewJob => JobPayload.make(kind, payload, { due_at, ...pendingAsk.queue })

/**
 * Runs a call to an adapter, or a check of its answer, and notes in the exchange's draft what happens. Every log entry,
 * including the adapter's own, names the carrier and the quote request.
 */
export const logged = <A, E, R>({ candidate, draft, request }: PendingAsk, call: Effect.Effect<A, E, R>) =>
  Effect.annotateLogs(ExchangeDraft.during(draft)(call), {
    carrier_id: candidate.adapter.carrier.id,
    quote_request_id: request.id
  })

/**
 * Logs that a carrier is not called, because the answer would no longer be used. The log entry does not identify the
 * person.
 */
export const logNotCalled = (exchange: JobExchangeType, carrier_id: string, quote_request_id: string) =>
  Effect.logInfo(notCalled[exchange]).pipe(Effect.annotateLogs({ carrier_id, quote_request_id }))

/** The exchanges with an adapter that a job makes. */
export type JobExchangeType = Extract<ExchangeType, "ask" | "poll" | "callback">

const notCalled: { readonly [Exchange in JobExchangeType]: string } = {
  ask: "Did not ask a carrier: its request has ended",
  poll: "Did not poll a carrier: it has answered, or its request has ended",
  callback: "A late answer was dropped"
}

/** Logs that an answer came too late and is dropped. The log entry does not identify the person. */
export const logLate = (carrier_id: string, quote_request_id: string) =>
  Effect.logInfo("A late answer was dropped").pipe(Effect.annotateLogs({ carrier_id, quote_request_id }))

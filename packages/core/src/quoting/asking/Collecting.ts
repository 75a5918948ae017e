import { Effect } from "effect"
import { CarrierClient } from "../../carriers/CarrierClient.ts"
import { type Candidate, reasonNotAsked } from "../../carriers/Eligibility.ts"
import type { OpenCircuit } from "../../carriers/health/CarrierHealth.ts"
import { delayOf } from "../../carriers/OwnCarrierScenarios.ts"
import * as Fault from "../../concurrency/Fault.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import type { ClaimedJob, NewJob } from "../../storage/Job.ts"
import type { StorageUnavailable } from "../../storage/Storage.ts"
import { Ids } from "../../wire/Ids.ts"
import type { ChangePart } from "../QuoteChange.ts"
import * as QuoteRequest from "../QuoteRequest.ts"
import { AskJobs } from "./AskJobs.ts"
import * as CircuitNote from "./CircuitNote.ts"
import * as PendingAsks from "./PendingAsks.ts"

/**
 * Makes the handler that starts the collection of a queued request. The handler decides which carriers to ask, and
 * stores all asks before the first ask is made.
 */
export const make = Effect.gen(function* () {
  const client = yield* CarrierClient
  const ids = yield* Ids
  const askRecords = yield* PendingAsks.PendingAsks
  const { finish } = yield* AskJobs
  const collection = yield* makeCollection

  return Effect.fnUntraced(function* (job: ClaimedJob, now: number) {
    const { quote_request_id } = JobPayload.read(job, "collect")
    const request = yield* askRecords.request(job.workspace_id, quote_request_id)
    if (request === null || request.status_details.reason !== "queued") return yield* finish(job)
    const cannotStart = QuoteRequest.scenarioOf(request) === "cannot_start"
    const opened = cannotStart ? null : yield* askRecords.open(job.workspace_id, request)
    if (opened === null) {
      if (!cannotStart) yield* Effect.annotateLogs(unreadable, { quote_request_id })
      return yield* finish(job, changePartOf(ids, QuoteRequest.fail(request, "could_not_start", now), now))
    }
    const openCircuit = (candidate: Candidate) =>
      client.openCircuit({ ...request, workspace_id: job.workspace_id, candidate })
    yield* finish(job, yield* collection(opened, openCircuit, now))
  })
})

const unreadable = Effect.logError(
  "A quote request could not start: its facts are missing, cannot be opened, or no longer match their line"
)

/**
 * Makes the job for a carrier's first ask. A simulated carrier's job is due when the carrier's answer arrives, in
 * workspace time. A scenario can delay the ask to a real carrier.
 */
const makeFirstAsk = Effect.gen(function* () {
  const { askFor } = yield* PendingAsks.PendingAsks

  return Effect.fnUntraced(function* (
    openedRequest: PendingAsks.OpenedRequest,
    candidate: Candidate,
    now: number,
    deadline: number
  ) {
    const { adapter } = candidate
    const ask = yield* askFor(openedRequest, candidate, { attempt: 1, asked_at: now, now, deadline })
    const latencyMs = Fault.redactThrown(() => adapter.simulation?.latency_ms(ask) ?? 0)
    const payload = { quote_request_id: openedRequest.request.id, carrier_id: adapter.carrier.id, attempt: 1 }
    const delayMs = delayOf(candidate, ask.scenario)
    return delayMs > 0
      ? JobPayload.make("ask_carrier", { ...payload, put_off: true }, { due_at: now + delayMs, ordered: true })
      : JobPayload.make("ask_carrier", payload, {
          due_at: now + latencyMs,
          ...PendingAsks.queueOf(candidate, openedRequest.request)
        })
  })
})

const makeCollection = Effect.gen(function* () {
  const ids = yield* Ids
  const { carriersOf, isAppointed } = yield* PendingAsks.PendingAsks
  const firstAsk = yield* makeFirstAsk

  return Effect.fnUntraced(function* (
    openedRequest: PendingAsks.OpenedRequest,
    openCircuit: (candidate: Candidate) => Effect.Effect<OpenCircuit | null, StorageUnavailable>,
    now: number
  ) {
    const { request, assumed } = openedRequest
    const deadline = now + QuoteRequest.collectMs[request.environment]
    const decide = Effect.fnUntraced(function* (candidate: Candidate) {
      const circuit = yield* openCircuit(candidate)
      const notAsked = reasonNotAsked(candidate, assumed, {
        appointed: yield* isAppointed(openedRequest, candidate),
        scenario: QuoteRequest.scenarioOf(request),
        credit_disclosed: openedRequest.credit_disclosed,
        circuit_open: circuit !== null
      })
      const { id: carrier_id } = candidate.adapter.carrier
      const subject = { quote_request_id: request.id, carrier_id, attempt: 0, at: now }
      const notes =
        circuit === null || notAsked?.reason !== "circuit_open"
          ? []
          : [CircuitNote.toStored(subject, "kept_out", circuit)]
      return { candidate, notAsked, notes }
    })
    const decisions = yield* Effect.forEach(carriersOf(request), decide)
    const results = decisions.map(({ candidate: { adapter }, notAsked }) =>
      notAsked === null
        ? QuoteRequest.asked(adapter.carrier, now)
        : QuoteRequest.notAsked(adapter.carrier, notAsked.reason, notAsked.missing_facts)
    )
    const step = QuoteRequest.collect(request, results, now, deadline)
    const ended = changePartOf(ids, step, now)
    const part = { ...ended, writes: [...ended.writes, ...decisions.flatMap(({ notes }) => notes)] }
    if (QuoteRequest.isFinal(step.request)) return part
    const asks = yield* Effect.forEach(
      decisions.filter(({ notAsked }) => notAsked === null),
      ({ candidate }) => firstAsk(openedRequest, candidate, now, deadline)
    )
    return { ...part, jobs: [...asks, closingJob(request, deadline)] }
  })
})

const changePartOf = (ids: Ids["Service"], step: QuoteRequest.Step, now: number): ChangePart => ({
  writes: [QuoteRequest.toStored(step.request)],
  events: [QuoteRequest.requestEvent(ids, step, now)],
  jobs: []
})

const closingJob = (request: QuoteRequest.QuoteRequest, deadline: number): NewJob =>
  JobPayload.make(
    "close_request",
    { quote_request_id: request.id },
    { due_at: deadline, ordered: request.environment === "sandbox" }
  )

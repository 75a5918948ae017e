import { Effect } from "effect"
import { type Candidate, candidates, whyNot } from "../carriers/Eligibility.ts"
import * as Fault from "../concurrency/Fault.ts"
import * as JobPayload from "../runner/JobPayload.ts"
import type { NewJob } from "../storage/Job.ts"
import type { Ids } from "../wire/Ids.ts"
import { askFor, isOrdered, type OpenedRequest, type Sources } from "./AskLoading.ts"
import { type Part, requestEvent } from "./QuoteChange.ts"
import * as QuoteRequest from "./QuoteRequest.ts"
import { storedRequest } from "./StoredRecords.ts"

/** The step that ends a request which cannot start. */
export const couldNotStart = (ids: Ids["Service"], request: QuoteRequest.QuoteRequest, at: number): Part =>
  stepPart(ids, QuoteRequest.fail(request, "could_not_start", at), at)

/** Starts the collection of an opened request: who is asked and who is not, all asks on record before any is made. */
export const collection = Effect.fnUntraced(function* (
  sources: Sources,
  ids: Ids["Service"],
  opened: OpenedRequest,
  isOpen: (carrier_id: string) => boolean,
  at: number
) {
  const { request, assumed } = opened
  const deadline = at + QuoteRequest.collect_ms[request.environment]
  const all = candidates(sources.adapters, request.environment, request.line).map((candidate) => ({
    candidate,
    unasked: whyNot(candidate, assumed, {
      scenario: QuoteRequest.scenarioOf(request),
      credit_disclosed: opened.credit_disclosed,
      circuit_open: isOpen(candidate.adapter.carrier.id)
    })
  }))
  const results = all.map(({ candidate: { adapter }, unasked }) =>
    unasked === null
      ? QuoteRequest.asked(adapter.carrier, at)
      : QuoteRequest.notAsked(adapter.carrier, unasked.reason, unasked.missing_facts)
  )
  const step = QuoteRequest.collect(request, results, at, deadline)
  const part = stepPart(ids, step, at)
  if (QuoteRequest.isFinal(step.request)) return part
  const asks = yield* Effect.forEach(
    all.filter(({ unasked }) => unasked === null),
    ({ candidate }) => firstAsk(sources, opened, candidate, at, deadline)
  )
  return { ...part, jobs: [...asks, closing(request, deadline)] }
})

const stepPart = (ids: Ids["Service"], step: QuoteRequest.Step, at: number): Part => ({
  writes: [storedRequest(step.request)],
  events: [requestEvent(ids, step, at)],
  jobs: []
})

/** The ask of one carrier. That of a simulated one is due when its answer arrives: its time is workspace time. */
const firstAsk = Effect.fnUntraced(function* (
  sources: Sources,
  opened: OpenedRequest,
  candidate: Candidate,
  at: number,
  deadline: number
) {
  const { adapter } = candidate
  const ask = yield* askFor(sources, opened, candidate, { attempt: 1, asked_at: at, now: at, deadline })
  const latency_ms = Fault.withoutMessage(() => adapter.simulation?.latency_ms(ask) ?? 0)
  return JobPayload.make(
    "ask_carrier",
    { quote_request_id: opened.request.id, carrier_id: adapter.carrier.id, attempt: 1 },
    { due_at: at + latency_ms, ordered: isOrdered(candidate, opened.request) }
  )
})

const closing = (request: QuoteRequest.QuoteRequest, deadline: number): NewJob =>
  JobPayload.make(
    "close_request",
    { quote_request_id: request.id },
    { due_at: deadline, ordered: request.environment === "sandbox" }
  )

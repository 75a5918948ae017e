import { Effect } from "effect"
import type { CarrierAsk } from "../../carriers/Carrier.ts"
import type { Candidate } from "../../carriers/Eligibility.ts"
import * as Draft from "../../carriers/recorder/Draft.ts"
import type { Subject } from "../../carriers/recorder/Recorder.ts"
import type { Assumed } from "../../lines/Application.ts"
import type { Line } from "../../lines/Line.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import type { JobKind, NewJob } from "../../storage/Job.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import type { QuoteRequest } from "../QuoteRequest.ts"

/** An ask without an answer yet, with everything that a reply is checked against. */
export interface PendingAsk {
  readonly workspace_id: WorkspaceId
  readonly request: QuoteRequest
  readonly line: Line
  readonly candidate: Candidate
  readonly assumed: Assumed
  readonly ask: CarrierAsk
  /** Whether this carrier's jobs are ordered with the workspace's timers. */
  readonly ordered: boolean
  /** What is on record of this exchange so far; null for a fictional carrier. */
  readonly draft: Draft.Draft | null
}

/** The subject of an ask's record. */
export const subjectOf = ({ ask, request, workspace_id }: PendingAsk): Subject => ({
  workspace_id,
  quote_request_id: request.id,
  application_id: request.application_id,
  environment: request.environment,
  line: request.line,
  attempt: ask.attempt,
  at: ask.now,
  connection: ask.connection ?? {}
})

/** The payload of a job that repeats the ask or polls for the answer. */
export const payloadOf = ({ request, candidate, ask }: PendingAsk): JobPayload.Payloads["ask_carrier"] => ({
  quote_request_id: request.id,
  carrier_id: candidate.adapter.carrier.id,
  attempt: ask.attempt
})

/** A job that belongs to this ask. */
export const job = <K extends JobKind>(
  pending: PendingAsk,
  kind: K,
  payload: JobPayload.Payloads[K],
  due_at: number
): NewJob => JobPayload.make(kind, payload, { due_at, ordered: pending.ordered })

/**
 * Runs a call to an adapter, or a check of its answer, on record. Adds the carrier and the quote request to every log line,
 * also the adapter's own.
 */
export const logged = <A, E, R>({ candidate, draft, request }: PendingAsk, call: Effect.Effect<A, E, R>) =>
  Effect.annotateLogs(Draft.during(draft)(call), {
    carrier_id: candidate.adapter.carrier.id,
    quote_request_id: request.id
  })

/** Logs that an answer came too late and is dropped. The line does not identify the person. */
export const logLate = (carrier_id: string, quote_request_id: string) =>
  Effect.logInfo("A late answer was dropped").pipe(Effect.annotateLogs({ carrier_id, quote_request_id }))

import { Effect } from "effect"
import type { CarrierAsk } from "../../carriers/Carrier.ts"
import type { Candidate } from "../../carriers/Eligibility.ts"
import type { Assumed } from "../../lines/Application.ts"
import type { Line } from "../../lines/Line.ts"
import type { LineName } from "../../lines/standard.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import type { JobKind, NewJob } from "../../storage/Job.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import type { QuoteRequest } from "../QuoteRequest.ts"

/** An ask that has no answer yet: everything that a reply is checked against. */
export interface PendingAsk {
  readonly workspace_id: WorkspaceId
  readonly request: QuoteRequest
  readonly line: Line<LineName>
  readonly candidate: Candidate
  readonly assumed: Assumed
  readonly ask: CarrierAsk
  /** Whether this carrier's jobs run in the order of the workspace's timers. */
  readonly ordered: boolean
}

/** The payload of a job that asks again, or asks for the answer. */
export const payloadOf = ({ request, candidate, ask }: PendingAsk): JobPayload.Payloads["ask_carrier"] => ({
  quote_request_id: request.id,
  carrier_id: candidate.adapter.carrier.id,
  attempt: ask.attempt
})

/** A job of this ask. */
export const job = <K extends JobKind>(
  pending: PendingAsk,
  kind: K,
  payload: JobPayload.Payloads[K],
  due_at: number
): NewJob => JobPayload.make(kind, payload, { due_at, ordered: pending.ordered })

/** Names the carrier and the quote request in everything that a call to an adapter logs, the adapter's own lines too. */
export const logged = <A, E, R>({ candidate, request }: PendingAsk, call: Effect.Effect<A, E, R>) =>
  Effect.annotateLogs(call, { carrier_id: candidate.adapter.carrier.id, quote_request_id: request.id })

/** Logs that an answer came too late and is dropped. The line names no person. */
export const logLate = (carrier_id: string, quote_request_id: string) =>
  Effect.logInfo("A late answer was dropped").pipe(Effect.annotateLogs({ carrier_id, quote_request_id }))

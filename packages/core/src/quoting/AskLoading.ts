import { Effect, Option } from "effect"
import type { Seal } from "../access/Seal.ts"
import { askTokens } from "../access/Token.ts"
import type { CarrierAdapter, CarrierAsk } from "../carriers/Carrier.ts"
import { type Candidate, candidates } from "../carriers/Eligibility.ts"
import type { Assumed } from "../lines/Application.ts"
import { disclosed, type Line } from "../lines/Line.ts"
import type { LineSet } from "../lines/Lines.ts"
import type { LineName } from "../lines/standard.ts"
import type { Storage } from "../storage/Storage.ts"
import type { QuoteRequestId, WorkspaceId } from "../wire/Ids.ts"
import { toMillis } from "../wire/Timestamp.ts"
import type { PendingAsk } from "./Answering.ts"
import * as ApplicationRecord from "./ApplicationRecord.ts"
import { isFinal, type QuoteRequest, scenarioOf } from "./QuoteRequest.ts"
import { quoteRequests } from "./StoredRecords.ts"

/** What asks are made from. */
export interface Sources {
  readonly storage: Storage["Service"]
  readonly seal: Seal["Service"]
  readonly adapters: ReadonlyArray<CarrierAdapter>
  readonly lines: LineSet
}

/** A request with its facts opened. */
export interface OpenedRequest {
  readonly workspace_id: WorkspaceId
  readonly request: QuoteRequest
  readonly line: Line<LineName>
  readonly assumed: Assumed
  readonly credit_disclosed: boolean
}

/** Reads a request; null where it is gone. */
export const loadRequest = (sources: Sources, workspace_id: WorkspaceId, id: QuoteRequestId) =>
  Effect.map(sources.storage.get({ workspace_id, kind: quoteRequests.name, id }), (stored): QuoteRequest | null =>
    Option.isNone(stored) ? null : quoteRequests.value(stored.value)
  )

/** Opens the facts of a request; null where they cannot be read (any more). */
export const openRequest = Effect.fnUntraced(function* (
  sources: Sources,
  workspace_id: WorkspaceId,
  request: QuoteRequest
) {
  const line = sources.lines.get(request.line)
  if (line === undefined) return null
  const stored = yield* sources.storage.get({
    workspace_id,
    kind: ApplicationRecord.kind.name,
    id: request.application_id
  })
  if (Option.isNone(stored)) return null
  const record = ApplicationRecord.kind.value(stored.value)
  const assumed = yield* ApplicationRecord.open(sources.seal, line, record)
  if (assumed === null) return null
  const opened: OpenedRequest = { workspace_id, request, line, assumed, credit_disclosed: record.credit_disclosed }
  return opened
})

/** One question to one carrier. Times in milliseconds of workspace time. */
export const askFor = Effect.fnUntraced(function* (
  sources: Sources,
  opened: OpenedRequest,
  candidate: Candidate,
  times: { readonly attempt: number; readonly asked_at: number; readonly now: number; readonly deadline: number }
) {
  const { request, assumed, workspace_id } = opened
  const ask: CarrierAsk = {
    line: request.line,
    environment: request.environment,
    facts: disclosed(opened.line, assumed, candidate.line.needs),
    assumptions: assumed.assumptions,
    credit_disclosed: opened.credit_disclosed,
    idempotency_key: yield* askTokens(candidate.adapter.carrier.id).write(sources.seal, workspace_id, request.id),
    scenario: scenarioOf(request),
    requested_at: toMillis(request.created_at),
    ...times
  }
  return ask
})

/** Whether a carrier's timers are told in order: those of simulated carriers are. */
export const isOrdered = (candidate: Candidate, request: QuoteRequest): boolean =>
  request.environment === "sandbox" && candidate.adapter.simulation !== undefined

/** The carrier of a request by its id, if it (still) offers the line. */
const candidateOf = (sources: Sources, request: QuoteRequest, carrier_id: string): Candidate | undefined =>
  candidates(sources.adapters, request.environment, request.line).find(
    ({ adapter }) => adapter.carrier.id === carrier_id
  )

/** An ask made to a carrier of this request, whatever has come of it; null where it cannot be made again. */
export const loadAsk = Effect.fnUntraced(function* (
  sources: Sources,
  workspace_id: WorkspaceId,
  request: QuoteRequest,
  of: { readonly carrier_id: string; readonly attempt: number; readonly now: number }
) {
  const candidate = candidateOf(sources, request, of.carrier_id)
  const asked_at = request.carriers.find(({ carrier }) => carrier.id === of.carrier_id)?.asked_at ?? null
  if (candidate === undefined || asked_at === null || request.deadline_at === null) return null
  const opened = yield* openRequest(sources, workspace_id, request)
  if (opened === null) return null
  const awaited: PendingAsk = {
    workspace_id,
    request,
    line: opened.line,
    candidate,
    assumed: opened.assumed,
    ask: yield* askFor(sources, opened, candidate, {
      attempt: of.attempt,
      asked_at: toMillis(asked_at),
      now: of.now,
      deadline: toMillis(request.deadline_at)
    }),
    ordered: isOrdered(candidate, request)
  }
  return awaited
})

/** Whether a carrier's answer is still waited for. */
export const isAwaited = (request: QuoteRequest, carrier_id: string): boolean =>
  !isFinal(request) &&
  request.carriers.some(({ carrier, outcome }) => carrier.id === carrier_id && outcome === "pending")

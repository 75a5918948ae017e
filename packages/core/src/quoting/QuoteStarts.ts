import { Context, Effect, Layer, Option, Result } from "effect"
import * as ReadHandle from "../access/ReadHandle.ts"
import { Seal } from "../access/sealing/Seal.ts"
import { expectationsOf, Workspaces } from "../access/Workspaces.ts"
import type { Call } from "../calls/Call.ts"
import * as Fingerprint from "../calls/Fingerprint.ts"
import { CarrierAdapters } from "../carriers/Carrier.ts"
import { needsOfAll } from "../carriers/Eligibility.ts"
import { scenariosOf } from "../carriers/OwnCarrierScenarios.ts"
import * as Scenario from "../carriers/Scenario.ts"
import { Lines, unknownLine } from "../lines/Lines.ts"
import * as JobPayload from "../runner/JobPayload.ts"
import * as Change from "../storage/Change.ts"
import {
  commit,
  readOne,
  retryOnConflict,
  Storage,
  type StorageUnavailable,
  VersionConflict
} from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import { maxListed } from "../wire/FieldError.ts"
import { Ids, type QuoteRequestId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { fromMillis } from "../wire/Timestamp.ts"
import * as ApplicationRecord from "./ApplicationRecord.ts"
import * as Consent from "./Consent.ts"
import * as ConsentRecord from "./ConsentRecord.ts"
import * as QuoteRequest from "./QuoteRequest.ts"
import * as RequestKey from "./RequestKey.ts"
import * as Start from "./Start.ts"

/** Starts quote requests (api.md, Start). */
export class QuoteStarts extends Context.Service<
  QuoteStarts,
  {
    /**
     * Accepts a quote request and queues it. If the `request_key` was used before with the same input, returns the same
     * request in its current state.
     *
     * Refuses with `invalid_input`, which lists every wrong field, or with `needs_information`, which lists every
     * missing fact before any carrier is asked. Refuses with `conflict` if the key was used with a different input.
     */
    readonly start: (
      call: Call,
      input: Start.StartInput
    ) => Effect.Effect<Json.Json<Start.StartedQuoteRequest>, ApiError.ApiError | StorageUnavailable>
    /** Checks the remaining fields of an input that has malformed fields. */
    readonly validateRest: (
      call: Call,
      input: unknown,
      refused: ReadonlyArray<ApiError.FieldError>
    ) => ApiError.WrongFields
  }
>()("@quotewire/core/QuoteStarts") {
  static readonly layer: Layer.Layer<QuoteStarts, never, Storage | Workspaces | Seal | Ids | CarrierAdapters> =
    Layer.effect(
      QuoteStarts,
      Effect.gen(function* () {
        const storage = yield* Storage
        const workspaces = yield* Workspaces
        const decide = yield* makeDecide
        const offered = yield* makeOffered

        /**
         * Decides the call again with the stored workspace and request key, instead of the cached workspace and an
         * assumed key.
         */
        const reloadAndDecide = Effect.fnUntraced(function* (previousCall: Call, input: Start.StartInput) {
          const workspace_id = previousCall.caller.workspace_id
          const call: Call = { ...previousCall, moment: yield* workspaces.moment(workspace_id) }
          const stored = yield* storage.get(RequestKey.keyOf(call, input))
          return yield* decide(call, input, Option.isNone(stored) ? unused : knownKeyOf(stored.value))
        })

        // Optimistic: most keys are new and most workspaces have not changed, so a start call is first decided with the
        // cached moment and an unused key. If either assumption is wrong, the commit conflicts. After an error, the
        // call is also decided again, because the error may rest on a wrong assumption.
        const start = (call: Call, input: Start.StartInput) =>
          Effect.catch(decide(call, input, unused), (error) =>
            error instanceof VersionConflict || (error instanceof ApiError.ApiError && !isTruncated(error))
              ? retryOnConflict(reloadAndDecide(call, input))
              : Effect.fail(error)
          )

        return QuoteStarts.of({
          start,
          validateRest: (call, input, refused) => Start.validateRest(input, refused, call, offered)
        })
      })
    )
}

/** The stored state of a request key, and the version that the next write must have. */
interface KnownKey {
  readonly request_key: RequestKey.RequestKey | null
  readonly next_version: number
}

const unused: KnownKey = { request_key: null, next_version: 1 }

const knownKeyOf = (stored: Change.StoredRecord): KnownKey => ({
  request_key: RequestKey.kind.value(stored),
  next_version: stored.version + 1
})

/**
 * Makes a function that decides a start call, given the call's moment and the state of its `request_key`. The change
 * expects both to be unchanged.
 */
const makeDecide = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal
  const check = yield* makeCheck
  const accept = yield* makeAccept
  const answers = yield* makeAnswers
  const storeKey = ({ caller, moment }: Call, key: Change.StoredRecord) =>
    commit(storage, Change.make(caller.workspace_id, { writes: [key], expects: expectationsOf(moment) }))

  return Effect.fnUntraced(function* (
    call: Call,
    input: Start.StartInput,
    { request_key: requestKey, next_version: version }: KnownKey
  ) {
    // Look for a decline before the inputs are compared, because a retry may omit the facts that the person gave in a
    // form.
    if (requestKey?.declined_at !== undefined) return yield* Consent.declined
    if (
      requestKey !== null &&
      !(yield* Fingerprint.matches(seal, RequestKey.keyOf(call, input), requestKey.fingerprint, call.sent))
    )
      return yield* otherInput
    if (requestKey !== null && requestKey.quote_request_id !== null) {
      return (yield* answers.repeat(call, requestKey.quote_request_id)) ?? (yield* otherInput)
    }
    const checked = yield* Effect.fromResult(check(call, input))
    if (call.person === "pending") return yield* Consent.pending
    const fingerprint =
      requestKey?.fingerprint ?? (yield* Fingerprint.of(seal, RequestKey.keyOf(call, input), call.sent))
    const { moment, person } = call
    if (person === "declined") {
      const declined = { fingerprint, quote_request_id: null, refused_at: null, declined_at: moment.now }
      yield* storeKey(call, RequestKey.toStored(call, input, version, declined))
      return yield* Consent.declined
    }
    if (checked.scenario === "internal_error") return yield* ApiError.make("internal_error")
    const refusal = firstRefusal(checked.scenario, requestKey, moment.now)
    if (refusal === null) {
      const { request, application } = yield* accept(call, checked, { version, fingerprint })
      return yield* answers.answer(call, request, application)
    }
    if (requestKey === null) {
      const refused = { fingerprint, quote_request_id: null, refused_at: moment.now }
      yield* storeKey(call, RequestKey.toStored(call, input, version, refused))
    }
    return yield* refusal
  })
})

/**
 * A host's lines, with the facts that its carriers need and the scenarios that they can play. These do not change while
 * the host runs.
 */
const makeOffered = Effect.gen(function* () {
  const lines = yield* Lines
  const adapters = yield* CarrierAdapters
  const needs = needsOfAll(adapters, lines.keys())
  return new Map(
    Array.from(lines, ([name, line]): [string, Start.OfferedLine] => [
      name,
      {
        line,
        needs: { sandbox: needs.sandbox.get(name) ?? [], live: needs.live.get(name) ?? [] },
        scenarios: scenariosOf(adapters, name)
      }
    ])
  )
})

/** Makes a function that checks consents, scenario and facts, including the facts that every carrier needs. */
const makeCheck = Effect.gen(function* () {
  const offered = yield* makeOffered
  const seal = yield* Seal
  const disclosure = Consent.quoteDisclosure(yield* seal.hash(Consent.quoteDisclosureText))

  return (call: Call, input: Start.StartInput) => {
    const terms = offered.get(input.line)
    return terms === undefined ? Result.fail(unknownLine(offered.keys())) : Start.check(input, terms, call, disclosure)
  }
})

/**
 * Whether an error has more wrong fields than it lists. An input with so many wrong fields was never accepted, so the
 * call cannot be a retry. The input's `request_key` need not be looked up, and a large body need not be hashed.
 */
const isTruncated = ({ field_errors }: ApiError.ApiError): boolean => (field_errors?.length ?? 0) > maxListed

const otherInput = Effect.fail(
  ApiError.make("conflict", {
    message: "This request_key was used with a different input.",
    retry_action: "use_new_request_key",
    field_errors: [{ path: "request_key", message: "Was used with a different input." }]
  })
)

/**
 * The error that a scenario plays for the first call with a `request_key`, and for retries until the stated wait is
 * over; otherwise null.
 */
const firstRefusal = (
  scenario: Scenario.ScenarioName | null,
  requestKey: RequestKey.RequestKey | null,
  now: number
) => {
  const code = Start.refusesFirst(scenario)
  const leftMs = (requestKey?.refused_at ?? now) + Scenario.refusedMs - now
  if (code === null || leftMs <= 0) return null
  const cause =
    code === "rate_limited"
      ? "The rate limit for start_quote_request was reached"
      : "The service is temporarily unavailable"
  return ApiError.make(code, {
    message: `${cause}. The scenario simulates this for the first call with each request_key.`,
    retry_after_seconds: Math.ceil(leftMs / 1_000)
  })
}

/**
 * Makes a function that accepts a checked start. The function stores the request, the application, the consents and the
 * `request_key`, and queues the collection.
 */
const makeAccept = Effect.gen(function* () {
  const storage = yield* Storage
  const ids = yield* Ids
  const records = yield* makeRecords

  return Effect.fnUntraced(function* (
    call: Call,
    checkedStart: Start.CheckedStart,
    { version, fingerprint }: { readonly version: number; readonly fingerprint: string }
  ) {
    const { caller, moment } = call
    const step = QuoteRequest.start({
      id: ids.quote_request(),
      application_id: ids.application(),
      environment: caller.environment,
      line: checkedStart.input.line,
      scenario: checkedStart.scenario,
      at: moment.now
    })
    const application = yield* records.application(call, checkedStart, step.request)
    const receipts = yield* records.receipts(call, checkedStart.input)
    const request = QuoteRequest.toStored(step.request)
    const key = { fingerprint, quote_request_id: step.request.id, refused_at: null }
    const due = {
      due_at: moment.now + queueMs(call, checkedStart.scenario),
      ordered: caller.environment === "sandbox"
    }
    yield* commit(
      storage,
      Change.make(caller.workspace_id, {
        writes: [
          request,
          ApplicationRecord.toStored(application, moment.now),
          ConsentRecord.toStored(application, receipts, moment.now),
          RequestKey.toStored(call, checkedStart.input, version, key)
        ],
        expects: expectationsOf(moment),
        events: [QuoteRequest.requestEvent(ids, step, moment.now)],
        jobs: [JobPayload.make("collect", { quote_request_id: step.request.id }, due)]
      })
    )
    return { request: QuoteRequest.kind.json(request), application }
  })
})

const makeRecords = Effect.gen(function* () {
  const seal = yield* Seal
  const ids = yield* Ids
  const disclosure = Consent.quoteDisclosure(yield* seal.hash(Consent.quoteDisclosureText))

  /** The consent that the service itself records for a caller without a key. */
  const consentOf = ({ moment, person }: Call, input: Start.StartInput): Consent.QuoteConsent => ({
    receipt_id: ids.receipt(),
    kind: "quote_disclosure",
    recorded_by: "service",
    line: input.line,
    disclosure_key: Consent.quoteDisclosureKey,
    disclosure_version: disclosure.version,
    text_sha256: disclosure.text_sha256,
    locale: disclosure.locale,
    accepted_at: fromMillis(moment.now),
    asked_by: person === "agreed" ? "elicitation" : "argument"
  })

  const applicationRecord = Effect.fnUntraced(function* (
    call: Call,
    { input, application }: Start.CheckedStart,
    request: QuoteRequest.QuoteRequest
  ) {
    const { caller, moment } = call
    const handleTarget = { workspace_id: caller.workspace_id, id: request.id }
    const handle = caller.kind === "server" ? null : yield* ReadHandle.derive(seal, handleTarget, null)
    const record: ApplicationRecord.ApplicationRecord = {
      id: request.application_id,
      quote_request_id: request.id,
      facts: application.facts,
      assumed_on: request.created_at.slice(0, 10),
      credit_disclosed: input.credit_disclosure_receipt_id !== undefined,
      quote_consent: caller.kind === "keyless" ? consentOf(call, input) : null,
      read_handle: handle === null ? null : yield* ReadHandle.toStoredHandle(seal, handleTarget, handle, moment.now)
    }
    return record
  })

  const receipts = ({ caller }: Call, input: Start.StartInput) =>
    Effect.forEach(Consent.receiptsOf(input), ({ kind, receipt, channels }) =>
      Effect.map(
        seal.mac(ConsentRecord.purposeOfReceipt(caller.workspace_id), receipt),
        (mac): ConsentRecord.StoredReceipt => ({ kind, channels, mac })
      )
    )

  return { application: applicationRecord, receipts }
})

const queueMs = ({ caller }: Call, scenario: Scenario.ScenarioName | null): number =>
  scenario === "waits_in_queue" ? Scenario.queueMs.waits_in_queue : Scenario.queueMs[caller.environment]

/** Makes the functions that handle `start_quote_request`: the first call with a `request_key`, and its retries. */
const makeAnswers = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal

  /** The request with the application's read handle and recorded consent, if the application has them. */
  const answer = (
    { caller: { workspace_id } }: Call,
    request: Json.Json<QuoteRequest.QuoteRequest>,
    { quote_request_id, read_handle, quote_consent }: ApplicationRecord.ApplicationRecord
  ): Effect.Effect<Json.Json<Start.StartedQuoteRequest>> => {
    const consent = quote_consent === null ? {} : { quote_consent }
    if (read_handle === null) return Effect.succeed(Json.extend(request, consent))
    const read_handle_expires_at = fromMillis(read_handle.expires_at)
    return Effect.map(ReadHandle.derive(seal, { workspace_id, id: quote_request_id }, read_handle.check), (handle) =>
      Json.extend(request, handle === null ? consent : { read_handle: handle, read_handle_expires_at, ...consent })
    )
  }

  /** The response to a retry: the request in its current state; null if retention or a reset has erased the request. */
  const repeat = Effect.fnUntraced(function* (call: Call, id: QuoteRequestId) {
    const workspace_id = call.caller.workspace_id
    const stored = yield* storage.get({ workspace_id, kind: QuoteRequest.kind.name, id })
    if (Option.isNone(stored)) return null
    const request = QuoteRequest.kind.json(stored.value)
    const { application_id } = QuoteRequest.kind.value(stored.value)
    const application = yield* readOne(storage, ApplicationRecord.kind, workspace_id, application_id)
    return application === null ? request : yield* answer(call, request, application)
  })

  return { answer, repeat }
})

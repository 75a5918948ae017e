import { Context, Effect, Layer, Option, Result } from "effect"
import * as ReadHandle from "../access/ReadHandle.ts"
import { Seal } from "../access/Seal.ts"
import { restsOn, Workspaces } from "../access/Workspaces.ts"
import type { Call } from "../calls/Call.ts"
import { fingerprintLike } from "../calls/Fingerprint.ts"
import { CarrierAdapters } from "../carriers/Carrier.ts"
import { type CommonNeeds, needsOfAll } from "../carriers/Eligibility.ts"
import * as Scenario from "../carriers/Scenario.ts"
import { type LineSet, Lines, named } from "../lines/Lines.ts"
import * as JobPayload from "../runner/JobPayload.ts"
import * as Change from "../storage/Change.ts"
import { commit, retryOnConflict } from "../storage/retryOnConflict.ts"
import { Storage, type StorageUnavailable } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import { max_named } from "../wire/FieldError.ts"
import { Ids, type QuoteRequestId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { fromMillis } from "../wire/Timestamp.ts"
import * as ApplicationRecord from "./ApplicationRecord.ts"
import { type QuoteConsent, receiptsOf } from "./Consent.ts"
import * as ConsentRecord from "./ConsentRecord.ts"
import * as Disclosure from "./Disclosure.ts"
import { requestEvent } from "./QuoteChange.ts"
import * as QuoteRequest from "./QuoteRequest.ts"
import * as RequestKey from "./RequestKey.ts"
import type { StartedQuoteRequest, StartInput } from "./StartInput.ts"
import * as Starting from "./Starting.ts"
import { quoteRequests, storedRequest } from "./StoredRecords.ts"

/** Starts quote requests (api.md, POST /v1/quote-requests). */
export class QuoteStarts extends Context.Service<
  QuoteStarts,
  {
    /**
     * Accepts a quote request and queues it; the same `request_key` and input give the same request as it is now.
     *
     * Refuses with `invalid_input` (every wrong field), `needs_information` (every missing fact, before any carrier is
     * asked) and `conflict` where the key came with another input.
     */
    readonly start: (
      call: Call,
      input: StartInput
    ) => Effect.Effect<Json.Json<StartedQuoteRequest>, ApiError.ApiError | StorageUnavailable>
  }
>()("@quotewire/core/QuoteStarts") {
  static readonly layer: Layer.Layer<QuoteStarts, never, Storage | Workspaces | Seal | Ids | CarrierAdapters> =
    Layer.effect(
      QuoteStarts,
      Effect.gen(function* () {
        const seal = yield* Seal
        const lines = yield* Lines
        const means: Means = {
          storage: yield* Storage,
          workspaces: yield* Workspaces,
          needs: needsOfAll(yield* CarrierAdapters, lines.keys()),
          seal,
          lines,
          ids: yield* Ids,
          disclosure: Disclosure.quoteDisclosure(yield* seal.hash(Disclosure.quote_disclosure_text))
        }
        return QuoteStarts.of({
          start: (call, input) => start(means, call, input)
        })
      })
    )
}

/** What the functions below work with. */
interface Means {
  /** The facts that every carrier of an environment needs for a line. */
  readonly needs: CommonNeeds
  readonly lines: LineSet
  readonly storage: Storage["Service"]
  readonly workspaces: Workspaces["Service"]
  readonly seal: Seal["Service"]
  readonly ids: Ids["Service"]
  readonly disclosure: Disclosure.QuoteDisclosure
}

/**
 * Most keys are new, and most workspaces as they were: where nothing speaks against a start it is stored without looking.
 * The key is one more record that may not be there yet, and the workspace one that may not have changed since the moment
 * that is remembered. Everybody else looks what is kept under the key first, and what time it is.
 */
const start = (means: Means, call: Call, input: StartInput) =>
  Effect.suspend(() => {
    const checked = check(means, call, input)
    // Whoever loses the race for a key finds the winner's request when it looks again.
    const looking = Effect.suspend(() => retryOnConflict(startLooking(means, call, input)))
    // It has never been right, so it repeats no request: the key need not be looked at, nor the body hashed.
    if (Result.isFailure(checked) && namesTooMany(checked.failure)) return Effect.fail(checked.failure)
    if (Result.isFailure(checked) || Starting.isRefused(checked.success.scenario)) return looking
    return Effect.catchTag(startNew(means, call, checked.success), "VersionConflict", () => looking)
  })

/** Whether more fields are wrong than a refusal names. */
const namesTooMany = ({ field_errors }: ApiError.ApiError): boolean => (field_errors?.length ?? 0) > max_named

const check = (means: Means, { caller, moment }: Call, input: StartInput) =>
  Result.flatMap(named(means.lines, input.line), (line) =>
    Starting.check(input, line, caller, moment, means.disclosure, means.needs[caller.environment].get(line.name) ?? [])
  )

const startNew = (means: Means, call: Call, checked: Starting.CheckedStart) =>
  Effect.flatMap(fingerprintLike(means.seal, null, Json.canonical(call.sent)), (fingerprint) =>
    accept(means, call, checked, { version: 1, fingerprint })
  )

const startLooking = Effect.fnUntraced(function* (means: Means, before: Call, input: StartInput) {
  const { storage, seal } = means
  const workspace_id = before.caller.workspace_id
  const call: Call = { ...before, moment: yield* means.workspaces.moment(workspace_id) }
  const stored = yield* storage.get({ workspace_id, kind: RequestKey.kind.name, id: RequestKey.idOf(call, input) })
  const kept = Option.isNone(stored) ? null : RequestKey.kind.value(stored.value)
  const version = Option.isNone(stored) ? 1 : stored.value.version + 1
  const fingerprinting = Effect.suspend(() =>
    fingerprintLike(seal, kept?.fingerprint ?? null, Json.canonical(call.sent))
  )
  if (kept !== null && kept.fingerprint !== (yield* fingerprinting)) return yield* usedOtherwise
  if (kept !== null && kept.quote_request_id !== null) return yield* repeat(means, call, kept.quote_request_id)

  const sound = yield* Effect.fromResult(check(means, call, input))
  const fingerprint = kept?.fingerprint ?? (yield* fingerprinting)
  if (sound.scenario === "internal_error") return yield* ApiError.make("internal_error")
  const refusal = firstRefusal(sound.scenario, kept, call.moment.now)
  if (refusal !== null) {
    if (kept === null) {
      const refused = { fingerprint, quote_request_id: null, refused_at: call.moment.now }
      const record = RequestKey.toStored(call, input, version, refused)
      yield* commit(storage, Change.make(workspace_id, { writes: [record], expects: restsOn(call.moment) }))
    }
    return yield* refusal
  }
  return yield* accept(means, call, sound, { version, fingerprint })
})

const accept = Effect.fnUntraced(function* (
  means: Means,
  call: Call,
  checked: Starting.CheckedStart,
  { version, fingerprint }: { readonly version: number; readonly fingerprint: string }
) {
  const { ids } = means
  const { caller, moment } = call
  const step = QuoteRequest.start({
    id: ids.quote_request(),
    application_id: ids.application(),
    environment: caller.environment,
    line: checked.input.line,
    scenario: checked.scenario,
    at: moment.now
  })
  const application = yield* applicationOf(means, call, checked, step.request)
  const receipts = yield* keptReceipts(means, checked.input)
  const started = storedRequest(step.request)
  yield* commit(
    means.storage,
    Change.make(caller.workspace_id, {
      writes: [
        started,
        ApplicationRecord.toStored(application, moment.now),
        ConsentRecord.toStored(application, receipts, moment.now),
        RequestKey.toStored(call, checked.input, version, {
          fingerprint,
          quote_request_id: step.request.id,
          refused_at: null
        })
      ],
      expects: restsOn(moment),
      events: [requestEvent(ids, step, moment.now)],
      jobs: [
        JobPayload.make(
          "collect",
          { quote_request_id: step.request.id },
          { due_at: moment.now + queueMs(call, checked.scenario), ordered: caller.environment === "sandbox" }
        )
      ]
    })
  )
  return yield* answer(means, quoteRequests.json(started), step.request.id, application)
})

const applicationOf = Effect.fnUntraced(function* (
  means: Means,
  call: Call,
  { input, application }: Starting.CheckedStart,
  request: QuoteRequest.QuoteRequest
) {
  const { seal } = means
  const { caller, moment } = call
  const handle = caller.kind === "server" ? null : yield* ReadHandle.derive(seal, request.id, null)
  const record: ApplicationRecord.ApplicationRecord = {
    id: request.application_id,
    quote_request_id: request.id,
    sealed: yield* ApplicationRecord.seal(seal, request.application_id, application),
    assumed_on: request.created_at.slice(0, 10),
    credit_disclosed: input.credit_disclosure_receipt_id !== undefined,
    quote_consent: caller.kind === "keyless" ? consentOf(means, input, moment.now) : null,
    read_handle: handle === null ? null : yield* ReadHandle.keep(seal, handle, moment.now)
  }
  return record
})

const keptReceipts = Effect.fnUntraced(function* ({ seal }: Means, input: StartInput) {
  const kept: Array<ConsentRecord.KeptReceipt> = []
  for (const { kind, receipt, channels } of receiptsOf(input)) {
    kept.push({ kind, channels, mac: yield* seal.mac("receipt", receipt) })
  }
  return kept
})

const consentOf = ({ ids, disclosure }: Means, input: StartInput, now: number): QuoteConsent => ({
  receipt_id: ids.receipt(),
  kind: "quote_disclosure",
  recorded_by: "service",
  line: input.line,
  disclosure_key: Disclosure.quote_disclosure_key,
  disclosure_version: disclosure.version,
  text_sha256: disclosure.text_sha256,
  locale: disclosure.locale,
  accepted_at: fromMillis(now)
})

const repeat = Effect.fnUntraced(function* (means: Means, call: Call, id: QuoteRequestId) {
  const { storage } = means
  const workspace_id = call.caller.workspace_id
  const stored = yield* storage.get({ workspace_id, kind: quoteRequests.name, id })
  // Retention has erased it, or a reset is erasing it now.
  if (Option.isNone(stored)) return yield* usedOtherwise
  const request = quoteRequests.json(stored.value)
  const application = yield* storage.get({
    workspace_id,
    kind: ApplicationRecord.kind.name,
    id: quoteRequests.value(stored.value).application_id
  })
  if (Option.isNone(application)) return request
  return yield* answer(means, request, id, ApplicationRecord.kind.value(application.value))
})

const answer = (
  { seal }: Means,
  request: Json.Json<QuoteRequest.QuoteRequest>,
  id: QuoteRequestId,
  { read_handle, quote_consent }: ApplicationRecord.ApplicationRecord
): Effect.Effect<Json.Json<StartedQuoteRequest>> => {
  const consent = quote_consent === null ? {} : { quote_consent }
  if (read_handle === null) return Effect.succeed(Json.extend(request, consent))
  const read_handle_expires_at = fromMillis(read_handle.expires_at)
  return Effect.map(ReadHandle.derive(seal, id, read_handle.check), (handle) =>
    Json.extend(request, handle === null ? consent : { read_handle: handle, read_handle_expires_at, ...consent })
  )
}

const queueMs = ({ caller }: Call, scenario: Scenario.ScenarioName | null): number =>
  scenario === "waits_in_queue" ? Scenario.queue_ms.waits_in_queue : Scenario.queue_ms[caller.environment]

const usedOtherwise = Effect.fail(
  ApiError.make("conflict", {
    message: "This request_key was used with another input.",
    retry_action: "use_new_request_key",
    field_errors: [{ path: "request_key", message: "Was used with another input." }]
  })
)

/** The refusal that a scenario plays for a key's first attempt, and for those that come before it is over. */
const firstRefusal = (scenario: Scenario.ScenarioName | null, kept: RequestKey.RequestKey | null, now: number) => {
  const code = Starting.refusesFirst(scenario)
  const left_ms = (kept?.refused_at ?? now) + Scenario.refused_ms - now
  if (code === null || left_ms <= 0) return null
  const what = code === "rate_limited" ? "The limit of starts was reached" : "The service is away for a moment"
  return ApiError.make(code, {
    message: `${what}: the scenario plays it for the first attempt of a request_key.`,
    retry_after_seconds: Math.ceil(left_ms / 1_000)
  })
}

import { Effect } from "effect"
import * as ReadHandle from "../access/ReadHandle.ts"
import { Seal } from "../access/Seal.ts"
import { expectationsOf } from "../access/Workspaces.ts"
import type { Call } from "../calls/Call.ts"
import * as Scenario from "../carriers/Scenario.ts"
import * as JobPayload from "../runner/JobPayload.ts"
import * as Change from "../storage/Change.ts"
import { commit, Storage } from "../storage/Storage.ts"
import { Ids } from "../wire/Ids.ts"
import { fromMillis } from "../wire/Timestamp.ts"
import * as ApplicationRecord from "./ApplicationRecord.ts"
import { type QuoteConsent, receiptsOf } from "./Consent.ts"
import * as ConsentRecord from "./ConsentRecord.ts"
import * as Disclosure from "./Disclosure.ts"
import { requestEvent } from "./QuoteChange.ts"
import * as QuoteRequest from "./QuoteRequest.ts"
import * as RequestKey from "./RequestKey.ts"
import type { StartInput } from "./StartInput.ts"
import type { CheckedStart } from "./StartRules.ts"

/** Accepts a checked start: stores its request, application and consents under its key, and queues the collection. */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const ids = yield* Ids
  const records = yield* makeRecords

  return Effect.fnUntraced(function* (
    call: Call,
    checked: CheckedStart,
    { version, fingerprint }: { readonly version: number; readonly fingerprint: string }
  ) {
    const { caller, moment } = call
    const step = QuoteRequest.start({
      id: ids.quote_request(),
      application_id: ids.application(),
      environment: caller.environment,
      line: checked.input.line,
      scenario: checked.scenario,
      at: moment.now
    })
    const application = yield* records.application(call, checked, step.request)
    const receipts = yield* records.receipts(checked.input)
    const request = QuoteRequest.toStored(step.request)
    const key = { fingerprint, quote_request_id: step.request.id, refused_at: null }
    const due = {
      due_at: moment.now + queueMs(call, checked.scenario),
      ordered: caller.environment === "sandbox"
    }
    yield* commit(
      storage,
      Change.make(caller.workspace_id, {
        writes: [
          request,
          ApplicationRecord.toStored(application, moment.now),
          ConsentRecord.toStored(application, receipts, moment.now),
          RequestKey.toStored(call, checked.input, version, key)
        ],
        expects: expectationsOf(moment),
        events: [requestEvent(ids, step, moment.now)],
        jobs: [JobPayload.make("collect", { quote_request_id: step.request.id }, due)]
      })
    )
    return { request: QuoteRequest.kind.json(request), application }
  })
})

/** Makes the records that are stored together with a request. */
const makeRecords = Effect.gen(function* () {
  const seal = yield* Seal
  const ids = yield* Ids
  const disclosure = Disclosure.quoteDisclosure(yield* seal.hash(Disclosure.quote_disclosure_text))

  /** The consent that the service itself records for a caller without a key. */
  const consentOf = (input: StartInput, now: number): QuoteConsent => ({
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

  const application = Effect.fnUntraced(function* (
    { caller, moment }: Call,
    { input, application }: CheckedStart,
    request: QuoteRequest.QuoteRequest
  ) {
    const handle = caller.kind === "server" ? null : yield* ReadHandle.derive(seal, request.id, null)
    const record: ApplicationRecord.ApplicationRecord = {
      id: request.application_id,
      quote_request_id: request.id,
      facts: application.facts,
      assumed_on: request.created_at.slice(0, 10),
      credit_disclosed: input.credit_disclosure_receipt_id !== undefined,
      quote_consent: caller.kind === "keyless" ? consentOf(input, moment.now) : null,
      read_handle: handle === null ? null : yield* ReadHandle.keep(seal, handle, moment.now)
    }
    return record
  })

  const receipts = (input: StartInput) =>
    Effect.forEach(receiptsOf(input), ({ kind, receipt, channels }) =>
      Effect.map(seal.mac("receipt", receipt), (mac): ConsentRecord.KeptReceipt => ({ kind, channels, mac }))
    )

  return { application, receipts }
})

const queueMs = ({ caller }: Call, scenario: Scenario.ScenarioName | null): number =>
  scenario === "waits_in_queue" ? Scenario.queue_ms.waits_in_queue : Scenario.queue_ms[caller.environment]

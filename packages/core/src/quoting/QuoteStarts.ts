import { Context, Effect, Layer, Option, Result } from "effect"
import { Seal } from "../access/Seal.ts"
import { expectationsOf, Workspaces } from "../access/Workspaces.ts"
import type { Call } from "../calls/Call.ts"
import * as Fingerprint from "../calls/Fingerprint.ts"
import { CarrierAdapters } from "../carriers/Carrier.ts"
import { needsOfAll } from "../carriers/Eligibility.ts"
import * as Scenario from "../carriers/Scenario.ts"
import { find, Lines } from "../lines/Lines.ts"
import * as Change from "../storage/Change.ts"
import { commit, retryOnConflict, Storage, type StorageUnavailable, VersionConflict } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import { max_listed } from "../wire/FieldError.ts"
import type { Ids } from "../wire/Ids.ts"
import type * as Json from "../wire/Json.ts"
import * as Disclosure from "./Disclosure.ts"
import * as RequestKey from "./RequestKey.ts"
import * as StartAcceptance from "./StartAcceptance.ts"
import * as StartAnswers from "./StartAnswers.ts"
import type { StartedQuoteRequest, StartInput } from "./StartInput.ts"
import * as StartRules from "./StartRules.ts"

/** Starts quote requests (api.md, POST /v1/quote-requests). */
export class QuoteStarts extends Context.Service<
  QuoteStarts,
  {
    /**
     * Accepts a quote request and queues it. The same `request_key` and input return the same request as it is now.
     *
     * Refuses with `invalid_input` (every wrong field), `needs_information` (every missing fact, before any carrier is
     * asked) and `conflict` if the key was used with another input.
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
        const storage = yield* Storage
        const workspaces = yield* Workspaces
        const decide = yield* makeDecide

        /** Decides with what is stored: the current workspace, and the record of the key. */
        const reloadAndDecide = Effect.fnUntraced(function* (before: Call, input: StartInput) {
          const workspace_id = before.caller.workspace_id
          const call: Call = { ...before, moment: yield* workspaces.moment(workspace_id) }
          const id = RequestKey.idOf(call, input)
          const stored = yield* storage.get({ workspace_id, kind: RequestKey.kind.name, id })
          return yield* decide(call, input, Option.isNone(stored) ? unused : knownKeyOf(stored.value))
        })

        // Optimistic: most keys are new and most workspaces have not changed, so a start is first decided with the cached
        // moment and an unused key. If either is wrong, the commit conflicts. A refusal may be wrong too, so it is checked.
        const start = (call: Call, input: StartInput) =>
          Effect.catch(decide(call, input, unused), (error) =>
            error instanceof VersionConflict || (error instanceof ApiError.ApiError && !isTruncated(error))
              ? retryOnConflict(reloadAndDecide(call, input))
              : Effect.fail(error)
          )

        return QuoteStarts.of({ start })
      })
    )
}

/** The stored state of a key, and the version that the next write has. */
interface KnownKey {
  readonly kept: RequestKey.RequestKey | null
  readonly next_version: number
}

const unused: KnownKey = { kept: null, next_version: 1 }

const knownKeyOf = (stored: Change.StoredRecord): KnownKey => ({
  kept: RequestKey.kind.value(stored),
  next_version: stored.version + 1
})

/** Decides a start, given the call's moment and the state of its key. The change expects both. */
const makeDecide = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal
  const check = yield* makeCheck
  const accept = yield* StartAcceptance.make
  const answers = yield* StartAnswers.make

  return Effect.fnUntraced(function* (call: Call, input: StartInput, { kept, next_version: version }: KnownKey) {
    if (kept !== null && !(yield* Fingerprint.matches(seal, kept.fingerprint, call.sent))) return yield* usedOtherwise
    if (kept !== null && kept.quote_request_id !== null) {
      return (yield* answers.repeat(call, kept.quote_request_id)) ?? (yield* usedOtherwise)
    }
    const checked = yield* Effect.fromResult(check(call, input))
    const fingerprint = kept?.fingerprint ?? (yield* Fingerprint.of(seal, call.sent))
    if (checked.scenario === "internal_error") return yield* ApiError.make("internal_error")
    const refusal = firstRefusal(checked.scenario, kept, call.moment.now)
    if (refusal === null) {
      const { request, application } = yield* accept(call, checked, { version, fingerprint })
      return yield* answers.answer(request, application)
    }
    if (kept === null) {
      const refused = { fingerprint, quote_request_id: null, refused_at: call.moment.now }
      const writes = [RequestKey.toStored(call, input, version, refused)]
      yield* commit(storage, Change.make(call.caller.workspace_id, { writes, expects: expectationsOf(call.moment) }))
    }
    return yield* refusal
  })
})

/** Checks consents, scenario and facts, also the facts that every carrier needs. */
const makeCheck = Effect.gen(function* () {
  const lines = yield* Lines
  const seal = yield* Seal
  // A host's carriers do not change while it runs.
  const needs = needsOfAll(yield* CarrierAdapters, lines.keys())
  const disclosure = Disclosure.quoteDisclosure(yield* seal.hash(Disclosure.quote_disclosure_text))

  return ({ caller, moment }: Call, input: StartInput) =>
    Result.flatMap(find(lines, input.line), (line) =>
      StartRules.check(input, line, caller, moment, disclosure, needs[caller.environment].get(line.name) ?? [])
    )
})

/**
 * Whether a refusal has more wrong fields than it lists. Such an input was never accepted, so it cannot be a repeat: the
 * key need not be read, and a large body need not be hashed.
 */
const isTruncated = ({ field_errors }: ApiError.ApiError): boolean => (field_errors?.length ?? 0) > max_listed

const usedOtherwise = Effect.fail(
  ApiError.make("conflict", {
    message: "This request_key was used with another input.",
    retry_action: "use_new_request_key",
    field_errors: [{ path: "request_key", message: "Was used with another input." }]
  })
)

/** The refusal that a scenario plays for the first attempt with a key, and for attempts before its time is over. */
const firstRefusal = (scenario: Scenario.ScenarioName | null, kept: RequestKey.RequestKey | null, now: number) => {
  const code = StartRules.refusesFirst(scenario)
  const left_ms = (kept?.refused_at ?? now) + Scenario.refused_ms - now
  if (code === null || left_ms <= 0) return null
  const what = code === "rate_limited" ? "The limit of starts was reached" : "The service is away for a moment"
  return ApiError.make(code, {
    message: `${what}: the scenario plays it for the first attempt of a request_key.`,
    retry_after_seconds: Math.ceil(left_ms / 1_000)
  })
}

import { Option, Predicate, Result, Schema } from "effect"
import type { Caller, Environment } from "../access/Caller.ts"
import type { Moment } from "../access/Workspaces.ts"
import type { Call } from "../calls/Call.ts"
import type { ScenarioName } from "../carriers/Scenario.ts"
import { type Application, missingOf, type Problems, type Refusal, refusalOf } from "../lines/Application.ts"
import { dependsOnLines } from "../lines/HostSchema.ts"
import type { Line } from "../lines/Line.ts"
import { LineName } from "../lines/LineName.ts"
import * as ApiError from "../wire/ApiError.ts"
import { dayOf } from "../wire/CalendarDay.ts"
import { countOf, joinWrongFields } from "../wire/FieldError.ts"
import { Timestamp } from "../wire/Timestamp.ts"
import * as Consent from "./Consent.ts"
import { QuoteRequest } from "./QuoteRequest.ts"

/*
 * A start call: what is sent, what is checked, and what is returned. Besides the request, it stores an application, the
 * consents and a request key. Each has its own record, because their retention periods differ.
 */

/** The schema of a line's facts, without the members that only a standalone schema document needs. */
const factsSchema = (line: Line) => {
  const { $schema: _dialect, $id: _id, ...schema } = line.facts_schema
  return { title: line.name, ...schema }
}

/** The facts in a start call. Documents such as OpenAPI show the schema `view` for them. */
const applicationShown = (view: object) =>
  Schema.Unknown.annotateKey({
    description: "The facts, shaped by required_facts_schema of the line's capabilities.",
    checked_later: true,
    ...view
  })

/** The input of a start call (api.md, Start). Its consents and facts are checked separately. */
export const StartInput = Schema.Struct({
  line: LineName.annotateKey({ description: "The insurance line" }),
  ...Consent.fields,
  scenario: Schema.optionalKey(Schema.String).annotateKey({ description: "Sandbox only: the named outcome to play." }),
  request_key: Schema.String.check(
    Schema.isPattern(/^[\x21-\x7e]{1,200}$/u, { expected: "1 to 200 visible ASCII characters" })
  ).annotateKey({
    description: "The caller's own ID for this call: the same key and input give the same request."
  }),
  application: dependsOnLines(applicationShown({}), (lines) =>
    applicationShown({ jsonSchema: { anyOf: Array.from(lines.values(), factsSchema) } })
  )
})
export type StartInput = typeof StartInput.Type

/**
 * A started request. It contains a read handle if the caller needs one, and the consent recorded for a keyless caller.
 */
export const StartedQuoteRequest = Schema.Struct({
  ...QuoteRequest.fields,
  read_handle: Schema.optionalKey(Schema.String).annotateKey({
    description: "Reads and cancels this request without a key; shown once"
  }),
  read_handle_expires_at: Schema.optionalKey(Timestamp).annotateKey({
    description: "When the read handle stops working"
  }),
  quote_consent: Schema.optionalKey(Consent.QuoteConsent).annotateKey({
    description: "The record of what the person agreed to; only for callers without a key"
  })
}).annotate({ identifier: "StartedQuoteRequest" })
export type StartedQuoteRequest = typeof StartedQuoteRequest.Type

/** A start call that has passed all checks. */
export interface CheckedStart {
  readonly input: StartInput
  readonly application: Application
  /** The scenario to play; null if the carriers' own rules decide. */
  readonly scenario: ScenarioName | null
}

/** A line, with the facts that its carriers need and the scenarios that they can play. */
export interface OfferedLine {
  readonly line: Line
  /** The facts that every carrier needs, by environment. */
  readonly needs: { readonly [E in Environment]: ReadonlyArray<string> }
  readonly scenarios: ReadonlyArray<ScenarioName>
}

/**
 * Checks a start call's consents, scenario and facts.
 *
 * Reports all wrong fields together. If no field is wrong, reports all missing facts, including the facts in `needs`,
 * which every carrier needs. If the scenario plays an error, returns that error for every input.
 */
export const check = (
  input: StartInput,
  offered: OfferedLine,
  { caller, moment }: Pick<Call, "caller" | "moment">,
  disclosure: Consent.Disclosure
): Result.Result<CheckedStart, Refusal> => {
  const { line, needs, scenarios } = offered
  const scenario = scenarioOf(input, caller, moment, scenarios)
  const scripted = scriptedRefusal(scenario, line)
  if (scripted !== null) return Result.fail(scripted)
  const application = line.read(input.application, dayOf(moment.now))
  const errors = errorsBesideFacts(input, offered, caller, disclosure)
  if (errors.length > 0 || Result.isFailure(application)) return Result.fail(refusal(errors, application))
  const missingFacts = missingOf(application.success, needs[caller.environment])
  return missingFacts.length > 0
    ? Result.fail(
        ApiError.needsInformation(missingFacts.map((path) => ({ path, message: "Every carrier needs this fact." })))
      )
    : Result.succeed({ input, application: application.success, scenario })
}

/** The error for a start call, with all wrong fields or, if no field is wrong, with all missing facts. */
const refusal = (errors: ReadonlyArray<ApiError.FieldError>, application: ReadApplication): Refusal => {
  const wrongFields = withWrongFacts(errors, application)
  return Result.isFailure(application) && countOf(wrongFields) === 0
    ? refusalOf(application.failure)
    : Consent.refuse(wrongFields)
}

/** A start call's facts, as its line has read them. */
type ReadApplication = Result.Result<Application, Problems>

const withWrongFacts = (
  errors: ReadonlyArray<ApiError.FieldError>,
  application: ReadApplication
): ApiError.WrongFields =>
  joinWrongFields(
    errors,
    Result.isFailure(application) ? { found: application.failure.wrong, more: application.failure.more } : []
  )

/** Finds the mistakes in a start call outside its facts. */
const errorsBesideFacts = (
  input: StartInput,
  { line, scenarios }: OfferedLine,
  caller: Caller,
  disclosure: Consent.Disclosure
): ReadonlyArray<ApiError.FieldError> => [
  ...Consent.check(input, caller.kind, line, disclosure),
  ...checkScenario(input, caller, scenarios),
  ...checkKey(input, caller)
]

/** Valid values that stand in for the malformed fields. Findings about those fields are dropped. */
const placeholders = (offered: ReadonlyMap<string, OfferedLine>) => ({
  line: [...offered.keys()][0],
  consent_receipt_id: "stand-in",
  request_key: "stand-in",
  application: {}
})

/** The fields that can be checked only if the line is valid. */
const lineDependent = ["application", "scenario", "credit_disclosure_receipt_id"]

const decodeInput = Schema.decodeUnknownOption(StartInput)

/** Checks the remaining fields of an input that has malformed fields. */
export const validateRest = (
  input: unknown,
  refused: ReadonlyArray<ApiError.FieldError>,
  { caller, moment }: Call,
  offered: ReadonlyMap<string, OfferedLine>
): ApiError.WrongFields => {
  const names = new Set(refused.map(({ path }) => fieldOf(path)))
  // The channels cannot be checked without the consent that covers them.
  if (names.has("contact_consent")) names.add("contact_channels")
  if (names.has("line")) for (const name of lineDependent) names.add(name)
  const fields: { readonly [name: string]: unknown } = Predicate.isReadonlyObject(input) ? input : {}
  // Only known fields are checked, because an input can have thousands of unknown fields.
  const knownFields = Object.keys(StartInput.fields).filter((name) => !names.has(name) && fields[name] !== undefined)
  const decoded = decodeInput({
    ...Object.fromEntries(knownFields.map((name) => [name, fields[name]])),
    ...Object.fromEntries(Object.entries(placeholders(offered)).filter(([name]) => names.has(name)))
  })
  const terms = Option.isNone(decoded) ? undefined : offered.get(decoded.value.line)
  if (Option.isNone(decoded) || terms === undefined) return joinWrongFields()
  const facts = terms.line.read(decoded.value.application, dayOf(moment.now))
  const disclosure = { version: Consent.disclosureVersion }
  const wrongFields = withWrongFacts(errorsBesideFacts(decoded.value, terms, caller, disclosure), facts)
  return { ...wrongFields, found: wrongFields.found.filter(({ path }) => !names.has(fieldOf(path))) }
}

const fieldOf = (path: string): string => path.split(".")[0] ?? ""

const checkScenario = (
  input: StartInput,
  caller: Caller,
  allowed_values: ReadonlyArray<ScenarioName>
): ReadonlyArray<ApiError.FieldError> => {
  if (input.scenario === undefined) return []
  if (caller.environment !== "sandbox") return [{ path: "scenario", message: "Allowed only in the sandbox." }]
  return playable(input.scenario, allowed_values) !== null
    ? []
    : [{ path: "scenario", message: "Must be a scenario of this line.", allowed_values }]
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

const checkKey = (input: StartInput, caller: Caller): ReadonlyArray<ApiError.FieldError> =>
  caller.kind === "keyless" && !uuid.test(input.request_key)
    ? [{ path: "request_key", message: "Must be a UUID if no API key is sent." }]
    : []

/** The scenario to play. The workspace's active scenario is ignored if it cannot be played on the line. */
const scenarioOf = (
  input: StartInput,
  caller: Caller,
  { workspace }: Moment,
  scenarios: ReadonlyArray<ScenarioName>
): ScenarioName | null =>
  caller.environment === "sandbox" ? playable(input.scenario ?? workspace.active_scenario, scenarios) : null

const playable = (scenario: string | null, scenarios: ReadonlyArray<ScenarioName>): ScenarioName | null =>
  scenarios.find((name) => name === scenario) ?? null

/** The errors that some scenarios play for every input. */
const scriptedRefusal = (scenario: ScenarioName | null, line: Line): Refusal | null => {
  if (scenario === "needs_information") {
    return ApiError.needsInformation(line.price_paths.map((path) => ({ path, message: "This fact is required." })))
  }
  if (scenario === "consent_refused") {
    return Consent.refused
  }
  return null
}

/**
 * The error code with which a scenario refuses the first call with a `request_key`; null if the scenario accepts the
 * call.
 */
export const refusesFirst = (scenario: ScenarioName | null): "rate_limited" | "service_unavailable" | null =>
  scenario === "rate_limited" || scenario === "service_unavailable" ? scenario : null

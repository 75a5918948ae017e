import { Option, Predicate, Result, Schema } from "effect"
import type { Caller } from "../access/Caller.ts"
import type { Moment } from "../access/Workspaces.ts"
import * as Scenario from "../carriers/Scenario.ts"
import { type Application, missingOf, type Refusal, refusalOf } from "../lines/Application.ts"
import type { Line } from "../lines/Line.ts"
import type { LineSet } from "../lines/Lines.ts"
import type { Problems } from "../lines/Rules.ts"
import * as ApiError from "../wire/ApiError.ts"
import { countOf, joinWrongFields } from "../wire/FieldError.ts"
import { fromMillis } from "../wire/Timestamp.ts"
import * as Consent from "./Consent.ts"
import * as Disclosure from "./Disclosure.ts"
import { StartInput } from "./StartInput.ts"

/** A start that has passed all checks. */
export interface CheckedStart {
  readonly input: StartInput
  readonly application: Application
  /** The scenario to play; null if the carriers' own rules decide. */
  readonly scenario: Scenario.ScenarioName | null
}

/**
 * Checks a start: consents, scenario, facts.
 *
 * All wrong fields are reported together. Only if there are none, missing facts are, including `needs`: the facts that
 * every carrier needs. A scenario that plays a refusal refuses every input.
 */
export const check = (
  input: StartInput,
  line: Line,
  caller: Caller,
  moment: Moment,
  disclosure: Consent.Disclosure,
  needs: ReadonlyArray<string>
): Result.Result<CheckedStart, Refusal> => {
  const scenario = scenarioOf(input, caller, moment)
  const scripted = scriptedRefusal(scenario, line)
  if (scripted !== null) return Result.fail(scripted)
  const application = line.read(input.application, fromMillis(moment.now).slice(0, 10))
  const wrong = wrongFields(input, line, application, caller, disclosure)
  if (countOf(wrong) > 0) return Result.fail(Consent.refuse(wrong))
  return Result.flatMap(Result.mapError(application, refusalOf), (facts) => {
    const missing = missingOf(facts, needs)
    return missing.length > 0
      ? Result.fail(
          ApiError.needsInformation(missing.map((path) => ({ path, message: "Every carrier needs this fact." })))
        )
      : Result.succeed({ input, application: facts, scenario })
  })
}

const wrongFields = (
  input: StartInput,
  line: Line,
  application: Result.Result<Application, Problems>,
  caller: Caller,
  disclosure: Consent.Disclosure
): ApiError.WrongFields =>
  joinWrongFields(
    Consent.check(input, caller.kind, line, disclosure),
    checkScenario(input, caller),
    checkKey(input, caller),
    Result.isFailure(application) ? { found: application.failure.wrong, more: application.failure.more } : []
  )

/** Valid values in place of the refused fields. What the checks then say about those fields is dropped. */
const placeholders = (lines: LineSet) => ({
  line: [...lines.keys()][0],
  consent_receipt_id: "stand-in",
  request_key: "stand-in",
  application: {}
})

/** Fields that can be checked only if the line is known. */
const line_dependent = ["application", "scenario", "credit_disclosure_receipt_id"]

const decodeInput = Schema.decodeUnknownOption(StartInput)

/** Checks the other fields of an input some of whose fields were refused for their form. */
export const validateRest = (
  input: unknown,
  refused: ReadonlyArray<ApiError.FieldError>,
  caller: Caller,
  moment: Moment,
  lines: LineSet
): ApiError.WrongFields => {
  const names = new Set(refused.map(({ path }) => fieldOf(path)))
  // The channels cannot be checked without the consent that covers them.
  if (names.has("contact_consent")) names.add("contact_channels")
  if (names.has("line")) for (const name of line_dependent) names.add(name)
  const sent: { readonly [name: string]: unknown } = Predicate.isReadonlyObject(input) ? input : {}
  // Only known fields are checked, because there may be thousands of others.
  const known = Object.keys(StartInput.fields).filter((name) => !names.has(name) && sent[name] !== undefined)
  const rest = decodeInput({
    ...Object.fromEntries(known.map((name) => [name, sent[name]])),
    ...Object.fromEntries(Object.entries(placeholders(lines)).filter(([name]) => names.has(name)))
  })
  const line = Option.isNone(rest) ? undefined : lines.get(rest.value.line)
  if (Option.isNone(rest) || line === undefined) return joinWrongFields()
  const facts = line.read(rest.value.application, fromMillis(moment.now).slice(0, 10))
  const wrong = wrongFields(rest.value, line, facts, caller, Disclosure)
  return { ...wrong, found: wrong.found.filter(({ path }) => !names.has(fieldOf(path))) }
}

const fieldOf = (path: string): string => path.split(".")[0] ?? ""

const checkScenario = (input: StartInput, caller: Caller): ReadonlyArray<ApiError.FieldError> => {
  if (input.scenario === undefined) return []
  if (caller.environment !== "sandbox") return [{ path: "scenario", message: "Is for the sandbox only." }]
  const allowed_values = Scenario.namesOf(input.line)
  return playable(input.scenario, input) !== null
    ? []
    : [{ path: "scenario", message: "Must be a scenario of this line.", allowed_values }]
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

const checkKey = (input: StartInput, caller: Caller): ReadonlyArray<ApiError.FieldError> =>
  caller.kind === "keyless" && !uuid.test(input.request_key)
    ? [{ path: "request_key", message: "Must be a UUID where no API key is sent." }]
    : []

/** The scenario to play. The workspace's active scenario is ignored on a line that cannot play it. */
const scenarioOf = (input: StartInput, caller: Caller, { workspace }: Moment): Scenario.ScenarioName | null =>
  caller.environment === "sandbox" ? playable(input.scenario ?? workspace.active_scenario, input) : null

const playable = (scenario: string | null, { line }: StartInput): Scenario.ScenarioName | null =>
  Scenario.namesOf(line).find((name) => name === scenario) ?? null

/** The refusals that scenarios play for every input. */
const scriptedRefusal = (scenario: Scenario.ScenarioName | null, line: Line): Refusal | null => {
  if (scenario === "needs_information") {
    return ApiError.needsInformation(line.price_paths.map((path) => ({ path, message: "This fact is required." })))
  }
  if (scenario === "consent_refused") {
    return Consent.refused
  }
  return null
}

/** Whether a scenario refuses the first attempt with a `request_key`, and with which code. */
export const refusesFirst = (scenario: Scenario.ScenarioName | null): "rate_limited" | "service_unavailable" | null =>
  scenario === "rate_limited" || scenario === "service_unavailable" ? scenario : null

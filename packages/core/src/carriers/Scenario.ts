import { Schema } from "effect"
import { LineName } from "../lines/LineName.ts"
import catalogueFile from "./data/scenarios.json" with { type: "json" }

/** A named outcome that a sandbox can play. */
export const Scenario = Schema.Struct({
  name: Schema.String.annotateKey({ description: "The name to send as `scenario`" }),
  description: Schema.String.annotateKey({ description: "What happens" }),
  lines: Schema.Array(LineName).annotateKey({ description: "The lines that it can be played on" })
}).annotate({ identifier: "Scenario" })
export type Scenario = typeof Scenario.Type

/**
 * The names of all scenarios. They are repeated here, because published type declarations cannot import the catalogue's
 * JSON.
 */
export type ScenarioName =
  | "quotes_ready"
  | "single_quote"
  | "zero_quotes"
  | "some_carriers_silent"
  | "incomplete_no_quotes"
  | "all_carriers_silent"
  | "all_carriers_error"
  | "cannot_start"
  | "waits_in_queue"
  | "slow_quotes"
  | "action_required"
  | "price_update"
  | "quote_withdrawn"
  | "quote_expires_soon"
  | "expiry_unknown"
  | "price_unknown"
  | "late_answer"
  | "unknown_values"
  | "needs_information"
  | "consent_refused"
  | "credit_disclosure"
  | "rate_limited"
  | "service_unavailable"
  | "internal_error"

// Keeps the type and the catalogue in sync: a name that is missing from either does not compile.
const isName = (name: string): name is keyof typeof catalogueFile.scenarios =>
  Object.hasOwn(catalogueFile.scenarios, name)

const allNames: ReadonlyArray<ScenarioName> = Object.keys(catalogueFile.scenarios).filter(isName)

/** Every scenario, and the catalogue's version, which changes whenever an outcome changes. */
export const catalogue = {
  scenario_catalog_version: catalogueFile.scenario_catalog_version,
  scenarios: Schema.decodeUnknownSync(Schema.Array(Scenario))(
    allNames.map((name) => ({ name, ...catalogueFile.scenarios[name] }))
  )
}

/** The scenarios that the service plays without carriers. They can be played on every line. */
const ofEveryLine: ReadonlyArray<ScenarioName> = [
  "cannot_start",
  "waits_in_queue",
  "needs_information",
  "consent_refused",
  "rate_limited",
  "service_unavailable",
  "internal_error"
]

// Built once, because every start of a quote request looks up names here.
const namesByLine = new Map(
  catalogue.scenarios
    .flatMap(({ lines }) => lines)
    .map((line): [string, ReadonlyArray<ScenarioName>] => [
      line,
      allNames.filter((name) => catalogueFile.scenarios[name].lines.includes(line))
    ])
)

/**
 * The names of the scenarios that can be played on a line without a host's own carriers. Without a line, the names for
 * all lines.
 */
export const namesOf = (line?: string): ReadonlyArray<ScenarioName> =>
  line === undefined ? allNames : (namesByLine.get(line) ?? ofEveryLine)

/** The scenario that a stored record names; null if the catalogue no longer has it. */
export const parse = (name: string): ScenarioName | null => (isName(name) ? name : null)

/** How long a request waits in its queue, in milliseconds of workspace time. */
export const queueMs = { sandbox: 1_000, waits_in_queue: 300_000, live: 0 } as const

/** In scenarios that refuse a `request_key`, how long the key stays refused after the first call with that key. */
export const refusedMs = 5_000

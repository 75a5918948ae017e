import { Schema } from "effect"
import catalogueFile from "../carriers/data/scenarios.json" with { type: "json" }
import { Line } from "../quoting/Line.ts"

/** A named outcome that a sandbox can play. */
export const Scenario = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  lines: Schema.Array(Line)
}).annotate({ identifier: "Scenario" })
export type Scenario = typeof Scenario.Type

/** Every scenario, and the version of the catalogue, which changes when an outcome changes. */
export const catalogue = Schema.decodeUnknownSync(
  Schema.Struct({ scenario_catalog_version: Schema.String, scenarios: Schema.Array(Scenario) })
)(catalogueFile)

const all_names = catalogue.scenarios.map(({ name }) => name)
const namesOfLine = (line: Line) =>
  catalogue.scenarios.filter(({ lines }) => lines.includes(line)).map(({ name }) => name)
const names: { readonly [L in Line]: ReadonlyArray<string> } = {
  personal_auto: namesOfLine("personal_auto"),
  renters: namesOfLine("renters"),
  pet: namesOfLine("pet")
}

/** The names of the scenarios that a line can play; of all lines where none is given. */
export const namesOf = (line?: Line): ReadonlyArray<string> => (line === undefined ? all_names : names[line])

/** How long a request waits in its queue, in milliseconds of workspace time. */
export const queue_ms = { sandbox: 1_000, waits_in_queue: 300_000, live: 0 } as const

/** How long a refused first attempt keeps a `request_key` refused, in the scenarios that refuse it. */
export const refused_ms = 5_000

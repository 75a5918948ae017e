import { Schema } from "effect"
import { Environment } from "../access/Caller.ts"
import type { CarrierAdapter } from "../carriers/Carrier.ts"
import { type Candidate, candidates, commonNeeds } from "../carriers/Eligibility.ts"
import * as Scenario from "../carriers/Scenario.ts"
import { requiring } from "../lines/FactSchema.ts"
import type { Line } from "../lines/Line.ts"
import { LineName } from "../lines/LineName.ts"
import * as State from "../lines/State.ts"
import { dollars, Money } from "../wire/Money.ts"
import * as Consent from "./Consent.ts"
import { collectMs } from "./QuoteRequest.ts"

/** Input of a read: the line, and the state if only one is of interest. */
export const CapabilitiesInput = Schema.Struct({
  line: LineName,
  state: Schema.optionalKey(Schema.Literals(State.servedStates)).annotateKey({
    description: "A USPS code, such as TX: `states` then has this state only"
  })
})
export type CapabilitiesInput = typeof CapabilitiesInput.Type

/** What a caller can do with a line (api.md, Capabilities). */
export const Capabilities = Schema.Struct({
  line: LineName,
  environment: Environment,
  revision: Schema.String,
  states: Schema.Array(
    Schema.Struct({
      code: Schema.String,
      available: Schema.Boolean,
      carriers: Schema.Int.annotate({ description: "How many carriers serve the state" }),
      liability_minimum: Schema.optionalKey(
        Schema.Struct({
          bodily_injury_per_person: Money,
          bodily_injury_per_accident: Money,
          property_damage: Money
        })
      ),
      credit_use: Schema.optionalKey(Schema.Literals(["prohibited", "restricted", "allowed"]))
    })
  ),
  required_facts: Schema.Array(
    Schema.Struct({ path: Schema.String, label: Schema.String, tier: Schema.String, pii: Schema.NullOr(Schema.String) })
  ),
  required_facts_schema: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "JSON Schema (2020-12) of `application`"
  }),
  actions: Schema.Array(Schema.String),
  consents: Schema.Array(
    Schema.Struct({
      field: Schema.String,
      required: Schema.Boolean,
      unlocks: Schema.optionalKey(Schema.Array(Schema.String))
    })
  ),
  disclosures: Schema.Array(Schema.Struct({ key: Schema.String, version: Schema.String })),
  coverage_codes: Schema.Array(Schema.String),
  subject_kinds: Schema.Array(Schema.String),
  billing_cycles: Schema.Array(Schema.String),
  fee_codes: Schema.Array(Schema.String),
  deadline_seconds: Schema.Int,
  scenarios: Schema.optionalKey(Schema.Array(Schema.String)).annotateKey({ description: "With sandbox keys only" })
}).annotate({ identifier: "Capabilities" })
export type Capabilities = typeof Capabilities.Type

/** The answer of `get_capabilities`. Without a key it also holds what a person must agree to. */
export const CapabilitiesAnswer = Schema.Struct({
  capabilities: Capabilities,
  quote_disclosure: Schema.optionalKey(Consent.QuoteDisclosure)
})
export type CapabilitiesAnswer = typeof CapabilitiesAnswer.Type

/**
 * The capabilities of a line in an environment with the carriers of this host, in the form of a revision. With a state,
 * `states` has only that one.
 */
export const of = (
  line: Line,
  environment: Environment,
  adapters: ReadonlyArray<CarrierAdapter>,
  revision: string,
  state?: State.StateCode
): typeof Capabilities.Encoded => {
  const offered = candidates(adapters, environment, line.name)
  const needs = commonNeeds(offered)
  return {
    line: line.name,
    environment,
    revision,
    states: (state === undefined ? State.servedStates : [state]).map((code) => stateOf(line, code, offered)),
    required_facts: [...line.required_facts, ...needs.map(line.neededFact)],
    required_facts_schema: requiring(line.facts_schema, needs),
    actions: ["continue_on_carrier_site", "request_assistance"],
    consents: consentsOf(line, offered),
    disclosures: Consent.disclosuresOf(line, environment),
    ...line.codes,
    // Counted from acceptance. A sandbox request waits a second in the queue first.
    deadline_seconds: (collectMs[environment] + Scenario.queueMs[environment]) / 1_000,
    ...(environment === "sandbox" && { scenarios: Scenario.namesOf(line.name) })
  }
}

const stateOf = (line: Line, code: State.StateCode, offered: ReadonlyArray<Candidate>) => {
  const carriers = offered.filter((candidate) => candidate.line.states.includes(code)).length
  const { liability_minimum: minimum, credit_use } = line.stateLaw(code)
  return {
    code,
    available: carriers > 0,
    carriers,
    ...(minimum !== undefined && {
      liability_minimum: {
        bodily_injury_per_person: dollars(minimum.bodily_injury_per_person_usd),
        bodily_injury_per_accident: dollars(minimum.bodily_injury_per_accident_usd),
        property_damage: dollars(minimum.property_damage_usd)
      }
    }),
    ...(credit_use !== undefined && { credit_use })
  }
}

const consentsOf = (line: Line, offered: ReadonlyArray<Candidate>) => [
  { field: "consent_receipt_id", required: true },
  ...(line.has_credit_disclosure
    ? [
        {
          field: "credit_disclosure_receipt_id",
          required: false,
          unlocks: offered.filter((candidate) => candidate.line.uses_credit).map(({ adapter }) => adapter.carrier.id)
        }
      ]
    : []),
  { field: "contact_consent", required: false }
]

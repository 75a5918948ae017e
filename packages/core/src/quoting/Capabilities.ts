import { Schema } from "effect"
import { Environment } from "../access/Caller.ts"
import type { CarrierAdapter } from "../carriers/Carrier.ts"
import { type Candidate, candidates, commonNeeds } from "../carriers/Eligibility.ts"
import * as OwnCarrierScenarios from "../carriers/OwnCarrierScenarios.ts"
import * as Scenario from "../carriers/Scenario.ts"
import { requiring } from "../lines/FactSchema.ts"
import type { Line } from "../lines/Line.ts"
import { LineName } from "../lines/LineName.ts"
import * as State from "../lines/State.ts"
import { dollars, Money } from "../wire/Money.ts"
import * as Consent from "./Consent.ts"
import { collectMs } from "./QuoteRequest.ts"

/** The input for reading capabilities: the line, and optionally the only state to include. */
export const CapabilitiesInput = Schema.Struct({
  line: LineName.annotateKey({ description: "The insurance line" }),
  state: Schema.optionalKey(Schema.Literals(State.servedStates)).annotateKey({
    description: "A USPS code, such as TX: then `states` has only this state"
  })
})
export type CapabilitiesInput = typeof CapabilitiesInput.Type

/** What a caller can do with a line (api.md, Capabilities). */
export const Capabilities = Schema.Struct({
  line: LineName.annotateKey({ description: "The insurance line" }),
  environment: Environment.annotateKey({ description: "The environment of the caller's key" }),
  revision: Schema.String.annotateKey({ description: "The newest revision of the API" }),
  states: Schema.Array(
    Schema.Struct({
      code: Schema.String.annotateKey({ description: "The USPS code, such as `TX`" }),
      available: Schema.Boolean.annotateKey({ description: "Whether quotes are available in the state" }),
      carriers: Schema.Int.annotate({ description: "How many carriers serve the state" }),
      liability_minimum: Schema.optionalKey(
        Schema.Struct({
          bodily_injury_per_person: Money.annotateKey({ description: "For injuries to one person" }),
          bodily_injury_per_accident: Money.annotateKey({ description: "For injuries to all people in one accident" }),
          property_damage: Money.annotateKey({ description: "For property damage" })
        })
      ).annotateKey({ description: "The state's minimum limits of car liability insurance" }),
      credit_use: Schema.optionalKey(Schema.Literals(["prohibited", "restricted", "allowed"])).annotateKey({
        description: "Whether carriers may use credit information in the state"
      })
    })
  ).annotateKey({ description: "The states, each with the rules that apply there" }),
  required_facts: Schema.Array(
    Schema.Struct({
      path: Schema.String.annotateKey({ description: "The path of the fact, such as `application.residence.zip`" }),
      label: Schema.String.annotateKey({ description: "How to ask a person for the fact" }),
      tier: Schema.String.annotateKey({ description: "What the fact is needed for: `price`, or `offer`" }),
      pii: Schema.NullOr(Schema.String).annotateKey({
        description: "Whether the fact identifies the person: `direct`, `indirect`, `sensitive`, or null"
      })
    })
  ).annotateKey({ description: "The facts that a start_quote_request call must have" }),
  required_facts_schema: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "JSON Schema (2020-12) of `application`"
  }),
  actions: Schema.Array(Schema.String).annotateKey({ description: "The operations that the caller can use" }),
  consents: Schema.Array(
    Schema.Struct({
      field: Schema.String.annotateKey({ description: "The field of the start_quote_request input" }),
      required: Schema.Boolean.annotateKey({
        description: "Whether a start_quote_request call is refused without this consent"
      }),
      unlocks: Schema.optionalKey(Schema.Array(Schema.String)).annotateKey({
        description: "The carriers that are asked only with this consent"
      })
    })
  ).annotateKey({ description: "The consents that a start_quote_request call can carry" }),
  disclosures: Schema.Array(
    Schema.Struct({
      key: Schema.String.annotateKey({ description: "The name of the text" }),
      version: Schema.String.annotateKey({ description: "Its version" })
    })
  ).annotateKey({ description: "The texts that the person must be shown" }),
  coverage_codes: Schema.Array(Schema.String).annotateKey({
    description: "The codes of the coverages that this line's quotes use"
  }),
  subject_kinds: Schema.Array(Schema.String).annotateKey({ description: "The kinds of insured subjects" }),
  billing_cycles: Schema.Array(Schema.String).annotateKey({ description: "The billing cycles that prices can have" }),
  fee_codes: Schema.Array(Schema.String).annotateKey({ description: "The codes of fees that prices can have" }),
  code_meanings: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)).annotateKey({
    description: "What the codes of coverages, subjects, billing cycles and fees mean, by code"
  }),
  deadline_seconds: Schema.Int.annotateKey({ description: "How long a request stays in progress at most, in seconds" }),
  scenarios: Schema.optionalKey(Schema.Array(Schema.String)).annotateKey({ description: "With sandbox keys only" })
}).annotate({ identifier: "Capabilities" })
export type Capabilities = typeof Capabilities.Type

/**
 * The response to `get_capabilities`. For a caller without a key, it also contains the text that a person must agree
 * to.
 */
export const CapabilitiesAnswer = Schema.Struct({
  capabilities: Capabilities.annotateKey({ description: "What a caller can do with the line" }),
  quote_disclosure: Schema.optionalKey(Consent.QuoteDisclosure).annotateKey({
    description: "The text that the person must agree to; only for callers without a key"
  })
})
export type CapabilitiesAnswer = typeof CapabilitiesAnswer.Type

/**
 * A line's capabilities in an environment with this host's carriers, in the form of a revision. If a state is given,
 * `states` contains only that state.
 */
export const of = (
  line: Line,
  { adapters, environment }: { readonly environment: Environment; readonly adapters: ReadonlyArray<CarrierAdapter> },
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
    ...(Object.keys(line.meanings).length > 0 && { code_meanings: line.meanings }),
    // The deadline counts from the request's acceptance. In a sandbox, the request first waits a second in the queue.
    deadline_seconds: (collectMs[environment] + Scenario.queueMs[environment]) / 1_000,
    ...(environment === "sandbox" && { scenarios: OwnCarrierScenarios.scenariosOf(adapters, line.name) })
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

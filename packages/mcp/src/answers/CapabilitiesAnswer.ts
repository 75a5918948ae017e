import { disclosureText, type Resource } from "@quotewire/core"
import { Predicate } from "effect"
import { mostTexts } from "../tools/ApplicationSchema.ts"
import * as Answer from "./Answer.ts"
import * as FactQuestions from "./FactQuestions.ts"
import { count, joinFirst } from "./phrases.ts"

type Capabilities = Resource.Capabilities

/**
 * An insurance line's capabilities: the states, what to ask the person, and what the person must agree to.
 *
 * If the call names a state, the response omits long and rarely needed parts: the scenarios, the lists of codes, and
 * the JSON Schema of the facts, which `start_quote_request` declares. Instead, the required facts include their allowed
 * values, because some client programs shorten the schema in that tool's declaration.
 */
export const present = Answer.make((answer: Resource.CapabilitiesAnswer, { input, kind, lines }) => {
  const { capabilities, quote_disclosure } = answer
  const unasked = kind === "keyless" ? creditCarriers(capabilities) : []
  return {
    summary: summaryOf(
      answer,
      FactQuestions.of(capabilities, lines.get(capabilities.line)),
      unasked,
      input.state !== undefined
    ),
    fields: {
      capabilities: {
        ...(input.state === undefined ? capabilities : short(capabilities)),
        disclosures: capabilities.disclosures.map((disclosure) => ({
          ...disclosure,
          text: disclosureText(disclosure.key)
        }))
      },
      ...(kind === "keyless" && { consents_to_send: agreement }),
      ...(unasked.length > 0 && {
        carriers_not_asked: unasked.map((carrier_id) => ({ carrier_id, reason: "credit_disclosure_missing" }))
      }),
      ...(quote_disclosure !== undefined && { quote_disclosure })
    }
  }
})

const short = ({
  billing_cycles: _billing,
  code_meanings: _meanings,
  coverage_codes: _coverage,
  fee_codes: _fees,
  required_facts,
  required_facts_schema,
  scenarios: _scenarios,
  subject_kinds: _subjects,
  ...rest
}: Capabilities) => ({
  ...rest,
  required_facts: required_facts.map((fact) => {
    const allowed_values = textsAt(required_facts_schema, fact.path.split("."))
    return allowed_values.length === 0 ? fact : { ...fact, allowed_values }
  })
})

/**
 * The strings that a schema allows at a path; empty if the schema also allows other values, or too many strings to
 * list.
 */
const textsAt = (schema: unknown, [name, ...names]: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (!Predicate.isObject(schema)) return []
  if (name === undefined) {
    const texts = Array.isArray(schema.enum) ? schema.enum.filter((value) => value !== null) : []
    return texts.length <= mostTexts && texts.every(Predicate.isString) ? texts : []
  }
  const { items, properties } = schema
  return textsAt(Predicate.isObject(properties) ? properties[name] : items, names)
}

/** What a caller without a key sends instead of consent receipts. Such a caller must not send receipts. */
const agreement: Capabilities["consents"] = [
  { field: "quote_disclosure_version", required: true },
  { field: "quote_disclosure_accepted", required: true }
]

/**
 * The carriers that are not asked without the credit disclosure. Empty if every listed state prohibits the use of
 * credit.
 */
const creditCarriers = ({ consents, states }: Capabilities): ReadonlyArray<string> =>
  states.every(({ credit_use }) => credit_use === "prohibited") ? [] : consents.flatMap(({ unlocks = [] }) => unlocks)

const summaryOf = (
  { capabilities, quote_disclosure }: Resource.CapabilitiesAnswer,
  { always, sometimes }: FactQuestions.FactQuestions,
  unasked: ReadonlyArray<string>,
  isOneState: boolean
): string => {
  const states = capabilities.states.filter(({ available }) => available).map(({ code }) => code)
  return [
    isOneState && states.length === 0
      ? `${capabilities.line} is not quoted in ${capabilities.states.map(({ code }) => code).join()}.`
      : `${capabilities.line} is quoted in ${count(states.length, "state")}: ${states.join(", ")}.`,
    `Ask the person ${count(always.length, "thing")}: ${always.join("; ")}.`,
    ...(sometimes.length === 0 ? [] : [`Also: ${sometimes.join("; ")}.`]),
    isOneState
      ? "Put the facts into application as start_quote_request declares it (for its JSON Schema, call get_capabilities without state). Leave out what the person does not know; never guess."
      : "Put the facts into application as required_facts_schema says. Leave out what the person does not know; never guess.",
    quote_disclosure === undefined
      ? "Before you start: the consents listed in consents, each with a receipt that your own system has recorded."
      : `Before you start: show the person quote_disclosure.text word for word. Only if they agree, send quote_disclosure_version ${quote_disclosure.version} and quote_disclosure_accepted true.`,
    ...(unasked.length === 0
      ? []
      : [
          `Without an API key, asked only in states that prohibit the use of credit information: ${joinFirst(unasked, ", ")}.`
        ])
  ].join("\n")
}

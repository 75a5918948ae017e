import { ApiError, type Line, type Pipeline, quoteDisclosure } from "@quotewire/core"
import { Option, Schema } from "effect"
import type { Fields } from "../JsonRpc.ts"
import * as FactForm from "./FactForm.ts"
import type { Form, Question, Round } from "./Form.ts"

/*
 * What a start asks the person, where the program can: first for missing facts, and last for the agreement, so that a person
 * agrees only to a start that can go on.
 */

/** How many forms one call puts before the person at most. */
const max_rounds = 4

const State = Schema.Struct({
  round: Schema.Int,
  /** The facts that the person has given in forms, by their paths. */
  facts: Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])),
  asked: Schema.Union([
    Schema.Struct({ about: Schema.Literal("agreement"), version: Schema.String }),
    Schema.Struct({ about: Schema.Literal("facts"), paths: Schema.Array(Schema.String) })
  ])
})
type State = typeof State.Type
const readState = Schema.decodeUnknownOption(State)

/** A round of a start: what it sends, and what the person has said so far. */
export interface Begun {
  readonly input: Fields
  readonly person?: Pipeline.PersonsAnswer
  readonly round: number
  readonly facts: State["facts"]
  /** The person closed or refused the last form, so nothing is asked again. */
  readonly isOver: boolean
}

/**
 * Begins a round: adds the facts that the person gave, and what the person said about the disclosure.
 *
 * What the arguments say about the agreement counts for nothing here: a program that can ask the person is always asked.
 */
export const begin = (input: Fields, round: Round, isKeyless: boolean, line: Line.Line | undefined): Begun => {
  const state = Option.getOrNull(readState(round.state))
  const answer = state === null ? null : round.answer
  const content = answer?.action === "accept" ? answer.content : null
  const given =
    state?.asked.about === "facts" && content !== null && line !== undefined
      ? FactForm.read(content, state.asked.paths, line)
      : {}
  const facts = { ...state?.facts, ...given }
  const agreement = { quote_disclosure_version: quoteDisclosure.version, quote_disclosure_accepted: true }
  return {
    input: {
      ...input,
      ...(Object.keys(facts).length > 0 && { application: FactForm.merged(input.application, facts) }),
      ...(isKeyless && agreement)
    },
    ...(isKeyless && { person: personIn(state, answer) }),
    round: state?.round ?? 0,
    facts,
    isOver: answer !== null && answer.action !== "accept"
  }
}

const personIn = (state: State | null, answer: Round["answer"]): Pipeline.PersonsAnswer => {
  if (state?.asked.about !== "agreement" || answer === null || answer.action === "cancel") return "pending"
  if (answer.action === "decline" || answer.content.agree === false) return "declined"
  // If the text has changed since, the person is asked again.
  return answer.content.agree === true && state.asked.version === quoteDisclosure.version ? "agreed" : "pending"
}

/** What follows from the refusal of a round: a question, or the refusal that the model reads. */
export const next = (
  error: ApiError.ApiError,
  begun: Begun,
  line: Line.Line | undefined
): Question | ApiError.ApiError => {
  const { facts, round } = begun
  if (error._tag === "needs_information") {
    if (begun.isOver) return notTold(error)
    const form = line === undefined ? null : FactForm.of(error.field_errors ?? [], line)
    if (form === null || round >= max_rounds) return error
    const paths = Object.keys(form.requestedSchema.properties)
    return { name: "facts", form, state: { round: round + 1, facts, asked: { about: "facts", paths } } satisfies State }
  }
  if (begun.person !== "pending" || !lacksAgreementOnly(error)) return error
  if (begun.isOver || round >= max_rounds) return notAnswered
  const { version } = quoteDisclosure
  return {
    name: "agreement",
    form: agreementForm,
    state: { round: round + 1, facts, asked: { about: "agreement", version } } satisfies State
  }
}

/** The arguments hold the agreement in these rounds, so this is the only refusal that names it alone. */
const lacksAgreementOnly = ({ field_errors }: ApiError.ApiError): boolean =>
  field_errors?.length === 1 && field_errors[0]?.path === "quote_disclosure_accepted"

/** The disclosure, word for word, with a box that the person must tick. */
const agreementForm: Form = {
  message: `Quote disclosure, version ${quoteDisclosure.version}\n\n${quoteDisclosure.text}`,
  requestedSchema: {
    type: "object",
    properties: { agree: { type: "boolean", title: "I have read this and I agree" } },
    required: ["agree"]
  }
}

const notAnswered = ApiError.make("invalid_input", {
  message:
    "The person was shown the disclosure and has not answered. Nothing was sent to a carrier. Ask what the person wants.",
  field_errors: [{ path: "quote_disclosure_accepted", message: "The person has not agreed." }],
  retry_action: "none"
})

/** The person would not give the facts in a form, so the model must not press for them. */
const notTold = ({ field_errors }: ApiError.ApiError): ApiError.ApiError =>
  ApiError.make("needs_information", {
    message:
      "The person was asked for these facts and has not given them. Without them there is no price. Never guess a fact.",
    field_errors: field_errors ?? [],
    retry_action: "none"
  })

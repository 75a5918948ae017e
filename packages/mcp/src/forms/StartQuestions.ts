import { ApiError, type Line, type Pipeline, quoteDisclosure } from "@quotewire/core"
import { Option, Schema } from "effect"
import type { Form, Question, Round } from "../protocol/Form.ts"
import type { Fields } from "../protocol/JsonRpc.ts"
import * as FactForm from "./FactForm.ts"

/*
 * The forms that `start_quote_request` shows to the person, if the client program can show forms. The first forms ask
 * for missing facts; the last one asks for agreement to the disclosure. It comes last, so that nobody agrees to a
 * request that is then refused for a different reason.
 */

/** The maximum number of forms that one call shows. */
const maxRounds = 4

const State = Schema.Struct({
  round: Schema.Int,
  /** The facts that the person gave in forms, by path. */
  facts: Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])),
  asked: Schema.Union([
    Schema.Struct({ about: Schema.Literal("agreement"), version: Schema.String }),
    Schema.Struct({ about: Schema.Literal("facts"), paths: Schema.Array(Schema.String) })
  ])
})
type State = typeof State.Type
const readState = Schema.decodeUnknownOption(State)

/** A round of the call: the input for the operation, and the person's answers so far. */
export interface StartedQuestions {
  readonly input: Fields
  /**
   * The person's answer about the disclosure. Absent if the caller has a key, because a consent receipt is sent
   * instead.
   */
  readonly person?: Pipeline.PersonsAnswer
  readonly round: number
  readonly facts: State["facts"]
  /** Whether the person declined or closed the last form, so that no other form follows. */
  readonly isDismissed: boolean
}

/**
 * Begins a round: adds the answers that the person gave in forms to the input.
 *
 * If the caller has no key, an agreement in the arguments is ignored. Only the person's own answer matters.
 */
export const begin = (
  input: Fields,
  round: Round,
  isKeyless: boolean,
  line: Line.Line | undefined
): StartedQuestions => {
  const state = Option.getOrNull(readState(round.state))
  const answer = state === null ? null : round.answer
  const content = answer?.action === "accept" ? answer.content : null
  const newFacts =
    state?.asked.about === "facts" && content !== null && line !== undefined
      ? FactForm.read(content, state.asked.paths, line)
      : {}
  const facts = { ...state?.facts, ...newFacts }
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
    isDismissed: answer !== null && answer.action !== "accept"
  }
}

const personIn = (state: State | null, answer: Round["answer"]): Pipeline.PersonsAnswer => {
  if (state?.asked.about !== "agreement" || answer === null || answer.action === "cancel") return "pending"
  if (answer.action === "decline" || answer.content.agree === false) return "declined"
  // If the disclosure has changed in the meantime, the person is asked again.
  return answer.content.agree === true && state.asked.version === quoteDisclosure.version ? "agreed" : "pending"
}

/** Decides what follows when the operation has refused a round: the next question, or a refusal for the model. */
export const next = (
  error: ApiError.ApiError,
  start: StartedQuestions,
  line: Line.Line | undefined
): Question | ApiError.ApiError => {
  const { facts, round } = start
  if (error._tag === "needs_information") {
    if (start.isDismissed) return factsNotGiven(error)
    const form = line === undefined ? null : FactForm.of(error.field_errors ?? [], line)
    if (form === null || round >= maxRounds) return error
    const paths = Object.keys(form.requestedSchema.properties)
    return { name: "facts", form, state: { round: round + 1, facts, asked: { about: "facts", paths } } satisfies State }
  }
  if (start.person !== "pending" || !lacksAgreementOnly(error)) return error
  if (start.isDismissed || round >= maxRounds) return agreementNotGiven
  const { version } = quoteDisclosure
  return {
    name: "agreement",
    form: agreementForm,
    state: { round: round + 1, facts, asked: { about: "agreement", version } } satisfies State
  }
}

/** Whether only the person's agreement is missing. `begin` has filled in the other fields about the agreement. */
const lacksAgreementOnly = ({ field_errors }: ApiError.ApiError): boolean =>
  field_errors?.length === 1 && field_errors[0]?.path === "quote_disclosure_accepted"

/** A form with the disclosure, word for word, and a box that the person must check. */
const agreementForm: Form = {
  message: `Quote disclosure, version ${quoteDisclosure.version}\n\n${quoteDisclosure.text}`,
  requestedSchema: {
    type: "object",
    properties: { agree: { type: "boolean", title: "I have read this and I agree" } },
    required: ["agree"]
  }
}

const agreementNotGiven = ApiError.make("invalid_input", {
  message:
    "The form with the disclosure was closed without an answer. Nothing was sent to a carrier. Ask what the person wants.",
  field_errors: [{ path: "quote_disclosure_accepted", message: "The person did not agree." }],
  retry_action: "none"
})

/** The refusal if the person did not give the facts in the form. The model must not ask for them again. */
const factsNotGiven = ({ field_errors }: ApiError.ApiError): ApiError.ApiError =>
  ApiError.make("needs_information", {
    message:
      "The person was asked for these facts and has not given them. Without them there is no price. Never guess a fact.",
    field_errors: field_errors ?? [],
    retry_action: "none"
  })

import { Effect, Option, Record, Schema } from "effect"

/** A field of a form: text, a choice, a number or a checkbox. The protocol allows no nested fields. */
export interface FormField {
  readonly type: "string" | "integer" | "number" | "boolean"
  readonly title: string
  readonly description?: string
  readonly enum?: ReadonlyArray<string>
  /** A display name for each value of `enum`. Client programs that do not support this field show the values. */
  readonly enumNames?: ReadonlyArray<string>
  readonly format?: "date"
  readonly minimum?: number
  readonly maximum?: number
}

/** A form that a client program shows to its user: the parameters of `elicitation/create` in form mode. */
export interface Form {
  readonly message: string
  readonly requestedSchema: {
    readonly type: "object"
    readonly properties: Readonly<Record<string, FormField>>
    readonly required: ReadonlyArray<string>
  }
}

/** The MCP method that shows a form. */
export const method = "elicitation/create"

/** A question that a tool asks the person, and the state with which the tool continues when it has the answer. */
export interface Question {
  /** The name of the question, unique within the call. */
  readonly name: string
  readonly form: Form
  /**
   * JSON that the next round of the call gets back unchanged. It can contain facts about a person, so it is sealed
   * before it leaves this service.
   */
  readonly state: object
}

/** A value that a person can enter in a form. */
export type Value = typeof Value.Type
const Value = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])
const isValue = Schema.is(Value)

/**
 * What the person did with a form. `cancel` means that the person closed it without answering, which is neither a yes
 * nor a no.
 */
export type Answer =
  | { readonly action: "accept"; readonly content: Readonly<Record<string, Value>> }
  | { readonly action: "decline" }
  | { readonly action: "cancel" }

/** How long a person has to answer, in milliseconds. */
export const answerMs = 10 * 60_000

/** Shows the person a form and waits for the answer. An unanswered form is treated as closed. */
export type Ask<out R = never> = (form: Form) => Effect.Effect<Answer, never, R>

/** The answer to a form that was closed. */
export const closed: Answer = { action: "cancel" }

/** Shows no forms. Every form is treated as closed. */
export const askNobody: Ask = () => Effect.succeed(closed)

const ElicitResult = Schema.Struct({
  action: Schema.Literals(["accept", "decline", "cancel"]),
  content: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)))
})
const decode = Schema.decodeUnknownOption(ElicitResult)

/**
 * Reads a client program's answer to a form. Anything that is not a valid answer is treated as a closed form. Fields
 * that contain a list or an object are dropped: no form asks for them, and they can be nested too deeply to be
 * serialized again.
 */
export const readAnswer = (result: unknown): Answer =>
  Option.match(decode(result), {
    onNone: () => closed,
    onSome: ({ action, content }) =>
      action === "accept" ? { action, content: Record.filter(content ?? {}, isValue) } : { action }
  })

/**
 * The input for one round of a call. If the client program can show forms, a call can have several rounds. Each round
 * runs the tool until it asks a question or returns a result.
 */
export interface Round {
  /** The state of the answered question; null in the first round. */
  readonly state: unknown
  /** The person's answer to the question; null in the first round. */
  readonly answer: Answer | null
}

/** The first round of a call, before any question. */
export const first: Round = { state: null, answer: null }

import { type Effect, Option, Schema } from "effect"
import type { Fields } from "../JsonRpc.ts"

/** A field of a form: text, a choice, a whole number or a tick. The protocol allows nothing nested. */
export interface FormField {
  readonly type: "string" | "integer" | "number" | "boolean"
  readonly title: string
  readonly description?: string
  readonly enum?: ReadonlyArray<string>
  readonly format?: "date"
  readonly minimum?: number
  readonly maximum?: number
}

/** What a program puts before the person who uses it: the parameters of `elicitation/create`, in form mode. */
export interface Form {
  readonly message: string
  readonly requestedSchema: {
    readonly type: "object"
    readonly properties: Readonly<Record<string, FormField>>
    readonly required: ReadonlyArray<string>
  }
}

/** The method that asks the person. */
export const method = "elicitation/create"

/** A question of a tool to the person, and what the tool needs to go on with the answer. */
export interface Question {
  /** The name of the question within the call. */
  readonly name: string
  readonly form: Form
  /** JSON that the next round gets back unchanged. It can hold facts, so it leaves this service sealed only. */
  readonly state: object
}

/** What the person did with a form. A form that was closed is neither a yes nor a no. */
export type Answer =
  | { readonly action: "accept"; readonly content: Fields }
  | { readonly action: "decline" }
  | { readonly action: "cancel" }

/** Puts a form before the person. A form that stays unanswered counts as closed. */
export type Ask = (form: Form) => Effect.Effect<Answer>

/** A form that was closed without an answer. */
export const closed: Answer = { action: "cancel" }

const Result = Schema.Struct({
  action: Schema.Literals(["accept", "decline", "cancel"]),
  content: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)))
})
const decode = Schema.decodeUnknownOption(Result)

/** Reads a program's answer to a form. Anything but an answer counts as a form that was closed. */
export const readAnswer = (result: unknown): Answer =>
  Option.match(decode(result), {
    onNone: () => closed,
    onSome: ({ action, content }) => (action === "accept" ? { action, content: content ?? {} } : { action })
  })

/** What a tool knows in one round of a call whose program can ask the person. */
export interface Round {
  /** The state of the question that was answered; null in the first round. */
  readonly state: unknown
  /** The answer to that question; null in the first round. */
  readonly answer: Answer | null
}

/** The first round of a call: nothing was asked yet. */
export const first: Round = { state: null, answer: null }

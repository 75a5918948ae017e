import type { Resource } from "@quotewire/core"
import type { CardExtras } from "../../answers/CardExtras.ts"
import type * as QuoteAnswer from "../../answers/QuoteAnswer.ts"
import { type Fields, isFields } from "./Host.ts"

export type Quote = ReturnType<typeof QuoteAnswer.shown>
export type QuoteRequest = Resource.QuoteRequest

/** A carrier's question to the person. */
export interface Question {
  readonly carrier_id: string
  readonly question: string
}

/** The part of a tool's result that the card shows. */
export type Result =
  | {
      readonly _tag: "quotes"
      /** Null if the tool read a single quote. */
      readonly request: QuoteRequest | null
      readonly quotes: ReadonlyArray<Quote>
      readonly questions: ReadonlyArray<Question>
      readonly extras: CardExtras
    }
  | { readonly _tag: "message"; readonly title: string; readonly text: string }

/**
 * Reads a tool's result. Anything other than quotes is shown as a message.
 *
 * Only the outer members are checked, because the result comes from the same service as the page.
 */
export const read = (result: unknown): Result => {
  const { _meta, content, isError, structuredContent: answer } = isFields(result) ? result : nothing
  if (isError === true) return { _tag: "message", title: "There are no quotes to show", text: errorIn(answer) }
  const card = isFields(_meta) ? _meta["quotewire/card"] : undefined
  const extras = isExtras(card) ? card : noExtras
  // If the model's response contains only changes, `_meta` contains the whole request for the card.
  const whole = isWhole(card) ? card : answer
  if (isWhole(whole)) {
    const questions = isFields(answer) && Array.isArray(answer.questions) ? answer.questions.filter(isQuestion) : []
    return { _tag: "quotes", request: whole.quote_request, quotes: whole.quotes, questions, extras }
  }
  if (isQuote(answer)) return { _tag: "quotes", request: null, quotes: [answer], questions: [], extras }
  return { _tag: "message", title: "This response has no quotes", text: textIn(content) }
}

const nothing: Fields = {}
const noExtras: CardExtras = { notices: [], premium_includes_fees: null }

/** A quote request with all its quotes. */
interface Whole {
  readonly quote_request: QuoteRequest
  readonly quotes: ReadonlyArray<Quote>
}

const isExtras = (value: unknown): value is CardExtras =>
  isFields(value) && Array.isArray(value.notices) && value.notices.every((notice) => typeof notice === "string")

const isWhole = (value: unknown): value is Whole =>
  isFields(value) &&
  isFields(value.quote_request) &&
  Array.isArray(value.quote_request.carriers) &&
  Array.isArray(value.quotes) &&
  value.quotes.every(isQuote)

const isQuote = (value: unknown): value is Quote =>
  isFields(value) && ["source", "price", "coverage", "availability", "evidence"].every((part) => isFields(value[part]))

const isQuestion = (value: unknown): value is Question => isFields(value) && typeof value.question === "string"

const errorIn = (answer: unknown): string => {
  const error = isFields(answer) ? answer.error : undefined
  return isFields(error) && typeof error.message === "string" ? error.message : "The service gave no reason."
}

/** A result's first text, which is the text that the model reads. */
const textIn = (content: unknown): string => {
  const first: unknown = Array.isArray(content) ? content[0] : undefined
  return isFields(first) && typeof first.text === "string" ? first.text : ""
}

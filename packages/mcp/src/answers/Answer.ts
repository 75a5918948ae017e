import { Json } from "@quotewire/core"
import type { Fields } from "../protocol/JsonRpc.ts"
import type { ToolAudience } from "../tools/Tool.ts"

/** Who reads a response, and the input of the call that produced it. */
export interface Reader extends ToolAudience {
  /** The arguments of the call, under the operation's field names. */
  readonly input: Fields
}

/** A response in the form that models receive. */
export interface Presented {
  /**
   * A few lines that say what the response contains and what to do next. They never contain facts that the person gave.
   */
  readonly summary: Json.Json<string>
  /**
   * The whole response. Its first field is the summary, because some client programs show models only this object and
   * truncate it.
   */
  readonly answer: Json.Json<object>
  /** Data for the quote card only, for client programs that can show the card. */
  readonly card?: object
}

/** Prepares an operation's response for a model. */
export type Present = (answer: Json.Json<unknown>, reader: Reader) => Presented

/** The parts of a response: the summary and additional fields. */
interface Parts {
  readonly summary: string
  readonly fields: object
  readonly card?: object
}

/**
 * Creates a `Present` for responses of one type. It does not validate their JSON, because the operation has just
 * encoded it.
 */
export const make =
  <A extends object>(parts: (answer: A, reader: Reader) => Parts): Present =>
  (answer, reader) => {
    const { fields, summary, ...card } = parts(Json.read(Json.typed<A>(answer)), reader)
    return { ...withSummary(summary, Json.encode(fields)), ...card }
  }

/** Creates a `Present` that only adds a summary. It does not encode the response's JSON again. */
export const summarized =
  <A extends object>(write: (answer: A) => string): Present =>
  (json) => {
    const answer = Json.typed<A>(json)
    return withSummary(write(Json.read(answer)), answer)
  }

const withSummary = (text: string, answer: Json.Json<object>): Presented => {
  const summary = Json.encode(text)
  return { summary, answer: Json.begin({ summary }, answer) }
}

import { Json } from "@quotewire/core"
import type { Fields } from "../protocol/JsonRpc.ts"
import type { ToolAudience } from "../tools/Tool.ts"

/** Who reads an answer, and the input of the call. */
export interface Reader extends ToolAudience {
  /** The arguments of the call, under the operation's names. */
  readonly input: Fields
}

/** An answer in the form that a model gets. */
export interface Presented {
  /** A few lines: what the answer contains and what to do next. Never contains facts that the person gave. */
  readonly summary: Json.Json<string>
  /**
   * The whole answer. The summary is its first field, because some programs show models only this object and truncate
   * it.
   */
  readonly answer: Json.Json<object>
  /** Data for the quote card only, for programs that show it. */
  readonly card?: object
}

/** Prepares the answer of an operation for a model. */
export type Present = (answer: Json.Json<unknown>, reader: Reader) => Presented

/** The parts of an answer: the summary and the fields. Some fields may be for models only. */
interface Parts {
  readonly summary: string
  readonly fields: object
  readonly card?: object
}

/** Prepares answers of one type. Does not check their JSON, because the operation has just encoded it. */
export const make =
  <A extends object>(parts: (answer: A, reader: Reader) => Parts): Present =>
  (answer, reader) => {
    const { fields, summary, ...card } = parts(Json.read(Json.typed<A>(answer)), reader)
    return { ...withSummary(summary, Json.encode(fields)), ...card }
  }

/** Prepares answers of one type that need only a summary. Does not encode their JSON again. */
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

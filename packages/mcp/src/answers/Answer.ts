import { Json } from "@quotewire/core"
import type { Fields } from "../JsonRpc.ts"
import type { ToolAudience } from "../Tool.ts"

/** Who reads an answer, and what it was called with. */
export interface Reader extends ToolAudience {
  /** The arguments of the call, by the names of the operation. */
  readonly input: Fields
}

/** An answer as a model gets it. */
export interface Presented {
  /** A few lines: what the answer holds, and what to do next. No facts that the person has given. */
  readonly summary: Json.Json<string>
  /** The whole answer. The summary is its first field: some programs show models only this object, and cut it at the end. */
  readonly answer: Json.Json<object>
  /** What only the quote card shows, for programs that show it. */
  readonly card?: object
}

/** Prepares the answer of an operation for a model. */
export type Present = (answer: Json.Json<unknown>, reader: Reader) => Presented

/** The parts of an answer: the summary and the fields. Some fields may exist for models only. */
interface Parts {
  readonly summary: string
  readonly fields: object
  readonly card?: object
}

/** Prepares answers of one type. Their JSON is not checked: the operation has just encoded it. */
export const make =
  <A extends object>(parts: (answer: A, reader: Reader) => Parts): Present =>
  (answer, reader) => {
    const { fields, summary, ...card } = parts(Json.read(Json.typed<A>(answer)), reader)
    return { ...withSummary(summary, Json.encode(fields)), ...card }
  }

/** Prepares answers of one type that need nothing but a summary. Their JSON is not encoded again. */
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

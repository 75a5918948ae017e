import { Json } from "@quotewire/core"
import type { Fields } from "../JsonRpc.ts"
import type { ToolAudience } from "../Tool.ts"

/** Who reads an answer, and what it was called with. */
export interface Reader extends ToolAudience {
  /** The arguments of the call, by the names of the operation. */
  readonly input: Fields
}

/** An answer as a model reads it. */
export interface Told {
  /** A few lines: what the answer holds, and what to do next. No facts that the person has given. */
  readonly summary: Json.Json<string>
  /** The whole answer. It begins with the summary, because some programs show models nothing else, and cut it short. */
  readonly answer: Json.Json<object>
  /** What only the quote card shows, for programs that show it. */
  readonly card?: object
}

/** Prepares the answer of an operation for a model. */
export type Tell = (answer: Json.Json<unknown>, reader: Reader) => Told

/** The parts of an answer: the summary and the fields. Some fields may exist for models only. */
interface Parts {
  readonly summary: string
  readonly fields: object
  readonly card?: object
}

/** Prepares answers of one type. It trusts their JSON, because the operation has encoded it. */
export const make =
  <A extends object>(parts: (answer: A, reader: Reader) => Parts): Tell =>
  (answer, reader) => {
    const { fields, summary, ...card } = parts(Json.read(Json.typed<A>(answer)), reader)
    return { ...begun(summary, Json.encode(fields)), ...card }
  }

/** Prepares answers of one type that need nothing but a summary. Their JSON is not encoded again. */
export const summarized =
  <A extends object>(write: (answer: A) => string): Tell =>
  (json) => {
    const answer = Json.typed<A>(json)
    return begun(write(Json.read(answer)), answer)
  }

const begun = (text: string, answer: Json.Json<object>): Told => {
  const summary = Json.encode(text)
  return { summary, answer: Json.begin({ summary }, answer) }
}

import { Json } from "@quotewire/core"
import { Clock, Effect, Option, Schema } from "effect"
import type { ToolCall } from "../Tool.ts"
import type { Question } from "./Form.ts"

/*
 * The `requestState` of a call that asks the person: what the next round needs, so that any host can run it. It passes
 * through the program, so it is sealed, because it can hold facts, and signed together with what it was made for.
 */

/** How a host seals and signs the state. */
export interface Crypto<R> {
  readonly sign: (text: string) => Effect.Effect<string, never, R>
  readonly isSigned: (text: string, signature: string) => Effect.Effect<boolean, never, R>
  /** Seals text, so that only `open` can read it. */
  readonly seal: (text: string) => Effect.Effect<string, never, R>
  /** The sealed text; null if this host cannot open it. */
  readonly open: (sealed: string) => Effect.Effect<string | null, never, R>
}

/** The call that a state belongs to. */
export interface Subject extends Pick<ToolCall, "args" | "caller"> {
  readonly tool: string
}

/** How long the person has to answer, in milliseconds. */
const lives_ms = 10 * 60_000

/** Longer states are not read: none is written that holds more facts than a form can ask for. */
const max_characters = 32 * 1024

const Sealed = Schema.fromJsonString(
  Schema.Struct({ expires_at: Schema.Int, name: Schema.String, state: Schema.Unknown })
)
const decode = Schema.decodeUnknownOption(Sealed)

/** Only the caller that was given a state can use it, and only for the same tool with the same arguments. */
const signed = ({ args, caller, tool }: Subject, sealed: string): string =>
  Json.canonical(["request_state", caller.workspace_id, caller.kind, caller.key_id, tool, args, sealed])

/** Writes the state of a call that asks this question. */
export const write = Effect.fnUntraced(function* <R>(
  { seal, sign }: Crypto<R>,
  subject: Subject,
  { name, state }: Question
) {
  const expires_at = (yield* Clock.currentTimeMillis) + lives_ms
  const sealed = yield* seal(JSON.stringify({ expires_at, name, state }))
  return `${yield* sign(signed(subject, sealed))}~${sealed}`
})

/** Reads the question of a call and its state; none if it is not of this call, was altered, or has expired. */
export const read = Effect.fnUntraced(function* <R>({ isSigned, open }: Crypto<R>, subject: Subject, text: string) {
  const mark = text.indexOf("~")
  const sealed = text.slice(mark + 1)
  if (mark < 0 || text.length > max_characters) return Option.none()
  // Checked first, because a host logs what it cannot open, and anybody could fill the log.
  if (!(yield* isSigned(signed(subject, sealed), text.slice(0, mark)))) return Option.none()
  const now = yield* Clock.currentTimeMillis
  return Option.filter(decode(yield* open(sealed)), ({ expires_at }) => now < expires_at)
})

import { Json } from "@quotewire/core"
import { Clock, Effect, Option, Schema } from "effect"
import { answerMs, type Question } from "../protocol/Form.ts"
import type { ToolCall } from "../tools/Tool.ts"

/*
 * The `requestState` of a call that asks the person (2026-07-28). It contains what the next round needs. The program
 * keeps it until then, so any host can run that round. It is sealed, because it can contain facts, and signed together
 * with its call.
 */

/** Signs and seals text with keys shared by all hosts. */
export interface Crypto<R> {
  readonly sign: (text: string) => Effect.Effect<string, never, R>
  readonly isSigned: (text: string, signature: string) => Effect.Effect<boolean, never, R>
  /** Seals text so that only `open` can read it. */
  readonly seal: (text: string) => Effect.Effect<string, never, R>
  /** Opens sealed text; null if this host cannot open it. */
  readonly open: (sealed: string) => Effect.Effect<string | null, never, R>
}

/** The call that a state belongs to. */
export interface Subject extends Pick<ToolCall, "args" | "caller"> {
  readonly tool: string
}

/** The longest state to read. This service writes shorter ones, because forms limit the facts in them. */
const maxCharacters = 32 * 1024

const Sealed = Schema.fromJsonString(
  Schema.Struct({ expires_at: Schema.Int, name: Schema.String, state: Schema.Unknown })
)
const decode = Schema.decodeUnknownOption(Sealed)

/** The text to sign. It makes a state valid only for one caller, one tool and the same arguments. */
const signedText = ({ args, caller, tool }: Subject, sealed: string): string =>
  Json.canonical(["request_state", caller.workspace_id, caller.kind, caller.key_id, tool, args, sealed])

/** Writes the `requestState` that accompanies a question. */
export const write = Effect.fnUntraced(function* <R>(
  { seal, sign }: Crypto<R>,
  subject: Subject,
  { name, state }: Question
) {
  const expires_at = (yield* Clock.currentTimeMillis) + answerMs
  const sealed = yield* seal(JSON.stringify({ expires_at, name, state }))
  return `${yield* sign(signedText(subject, sealed))}~${sealed}`
})

/**
 * Reads the name and the state of the question; `None` if the text belongs to a different call, was altered or has
 * expired.
 */
export const read = Effect.fnUntraced(function* <R>({ isSigned, open }: Crypto<R>, subject: Subject, text: string) {
  const separator = text.indexOf("~")
  const sealed = text.slice(separator + 1)
  if (separator < 0 || text.length > maxCharacters) return Option.none()
  // Checked first: a host logs a warning for text that it cannot open, and otherwise anyone could flood the log.
  if (!(yield* isSigned(signedText(subject, sealed), text.slice(0, separator)))) return Option.none()
  const now = yield* Clock.currentTimeMillis
  return Option.filter(decode(yield* open(sealed)), ({ expires_at }) => now < expires_at)
})

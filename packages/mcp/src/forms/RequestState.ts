import { Json } from "@quotewire/core"
import { Clock, Effect, Option, Schema } from "effect"
import { answerMs, type Question } from "../protocol/Form.ts"
import type { ToolCall } from "../tools/Tool.ts"

/*
 * The `requestState` of a call that asks the person a question (MCP revision 2026-07-28). It contains what the next
 * round of the call needs. The client program keeps it until then, so any host can run that round. It is encrypted
 * (sealed), because it can contain facts about a person, and signed together with its call.
 */

/** Signs and encrypts text with keys that all hosts share. */
export interface Crypto<R> {
  readonly sign: (text: string) => Effect.Effect<string, never, R>
  readonly isSigned: (text: string, signature: string) => Effect.Effect<boolean, never, R>
  /** Encrypts text so that only `open` can read it. */
  readonly seal: (text: string) => Effect.Effect<string, never, R>
  /** Decrypts sealed text; null if this host cannot decrypt it. */
  readonly open: (sealed: string) => Effect.Effect<string | null, never, R>
}

/** The call that a state belongs to. */
export interface Subject extends Pick<ToolCall, "args" | "caller"> {
  readonly tool: string
}

/**
 * The maximum length of a state that is read. This service's own states are shorter, because forms limit the facts in
 * them.
 */
const maxCharacters = 32 * 1024

const Sealed = Schema.fromJsonString(
  Schema.Struct({ expires_at: Schema.Int, name: Schema.String, state: Schema.Unknown })
)
const decode = Schema.decodeUnknownOption(Sealed)

/** The text to sign. It makes a state valid only for one caller, one tool and the same arguments. */
const signedText = ({ args, caller, tool }: Subject, sealed: string): string =>
  Json.canonical(["request_state", caller.workspace_id, caller.kind, caller.key_id, tool, args, sealed])

/** Creates the `requestState` to send with a question. */
export const write = Effect.fnUntraced(function* <R>(
  { seal, sign }: Crypto<R>,
  subject: Subject,
  { name, state }: Question
) {
  const expires_at = (yield* Clock.currentTimeMillis) + answerMs
  const sealed = yield* seal(JSON.stringify({ expires_at, name, state }))
  return `${yield* sign(signedText(subject, sealed))}~${sealed}`
})

/** Reads a question's name and state; `None` if the text belongs to a different call, was altered or has expired. */
export const read = Effect.fnUntraced(function* <R>({ isSigned, open }: Crypto<R>, subject: Subject, text: string) {
  const separator = text.indexOf("~")
  const sealed = text.slice(separator + 1)
  if (separator < 0 || text.length > maxCharacters) return Option.none()
  // The signature is checked before `open` runs, because a host logs a warning for text that it cannot decrypt.
  // Otherwise anyone could flood the log.
  if (!(yield* isSigned(signedText(subject, sealed), text.slice(0, separator)))) return Option.none()
  const now = yield* Clock.currentTimeMillis
  return Option.filter(decode(yield* open(sealed)), ({ expires_at }) => now < expires_at)
})

import { type ApiError, type Caller, Ids, Json, type Quotewire } from "@quotewire/core"
import { Clock, Effect, Result } from "effect"
import * as Form from "../protocol/Form.ts"
import * as JsonRpc from "../protocol/JsonRpc.ts"
import * as Peer from "./Peer.ts"
import type { Crypto } from "./RequestState.ts"

/*
 * Forms over HTTP in MCP revisions with a handshake. The host sends a form in the call's response stream. The client
 * program sends the person's answer in a separate request, perhaps to a different host. The form's signed ID says who
 * may answer it and until when, so any host can check an answer. A mailbox in storage passes the answer to the host
 * whose call is waiting.
 */

/** Mailboxes shared by all hosts. */
export interface Mailboxes<R> {
  /**
   * Sends a message to the host that waits for it. Returns whether the mailbox accepted the message. A mailbox accepts
   * only one message.
   */
  readonly send: (mailbox: Quotewire.Mailbox, text: string) => Effect.Effect<boolean, ApiError.ApiError, R>
  /** Waits for the message, but not longer than `wait_ms`; null on a timeout. */
  readonly receive: (mailbox: Quotewire.Mailbox, wait_ms: number) => Effect.Effect<string | null, never, R>
}

/** The keys and mailboxes that all hosts must share, so that any host can accept the answer to a form. */
export interface FormServices<R> {
  readonly crypto: Pick<Crypto<R>, "sign" | "isSigned">
  readonly mailboxes: Mailboxes<R>
}

/** Creates the function that shows forms in a call's response stream. `send` adds a message to the stream. */
export const askOver =
  <R>({ crypto, mailboxes }: FormServices<R>, caller: Caller.Caller, send: Peer.SendMessage): Form.Ask<R | Ids.Ids> =>
  (form) =>
    Effect.gen(function* () {
      const name = (yield* Ids.Ids).request()
      const expiresAt = (yield* Clock.currentTimeMillis) + Form.answerMs
      const id = `${name}~${expiresAt}~${yield* crypto.sign(signedText(caller, name, expiresAt))}`
      return yield* Peer.show(send, id, form, (atMostMs) =>
        Effect.map(mailboxes.receive({ workspace_id: caller.workspace_id, name }, atMostMs), (text) =>
          text === null ? null : Form.readAnswer(Result.getOrNull(JsonRpc.parseJson(text)))
        )
      )
    })

/**
 * Handles a response from a client program. If the response answers a form, passes the answer to the host whose call is
 * waiting. Drops any other response without storing it.
 *
 * The first answer to a form does not count toward the rate limit: the waiting call has already counted, and a person's
 * answer must not be lost to a rate limit. Every later answer runs `charge`, because a client can send the same ID any
 * number of times.
 */
export const takeAnswer = Effect.fnUntraced(function* <R, R2>(
  { crypto, mailboxes }: FormServices<R>,
  caller: Caller.Caller,
  { id, result }: JsonRpc.Response,
  charge: Effect.Effect<void, ApiError.ApiError, R2>
) {
  const [, name, expires, signature] = formId.exec(String(id)) ?? []
  if (name === undefined || expires === undefined || signature === undefined) return
  const expiresAt = Number(expires)
  if ((yield* Clock.currentTimeMillis) >= expiresAt) return
  if (!(yield* crypto.isSigned(signedText(caller, name, expiresAt), signature))) return
  const answer = JSON.stringify(Form.readAnswer(result))
  const isTaken = yield* mailboxes.send({ workspace_id: caller.workspace_id, name }, answer)
  if (!isTaken) yield* charge
})

/** The ID of a form: its mailbox's name, its expiry time, and a signature of both. */
const formId = /^([a-z0-9_]{1,40})~([1-9]\d{0,15})~([\w.-]{1,100})$/

/** The text to sign. It makes a form's ID valid only for one caller. */
const signedText = ({ key_id, kind, workspace_id }: Caller.Caller, name: string, expiresAt: number): string =>
  Json.canonical(["form", workspace_id, kind, key_id, name, expiresAt])

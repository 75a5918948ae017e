import { type ApiError, type Caller, Ids, Json, type Quotewire } from "@quotewire/core"
import { Clock, Effect, Result } from "effect"
import * as JsonRpc from "../JsonRpc.ts"
import * as Form from "./Form.ts"
import * as Peer from "./Peer.ts"
import type { Crypto } from "./RequestState.ts"

/*
 * Forms over HTTP with a handshake. A form goes out in the stream that answers the call, and its answer comes as a request of its
 * own, perhaps to another host. The id of the form says, signed, who may answer it and until when. So any host can check an
 * answer, and a mailbox in storage brings it to the host whose call waits.
 */

/** Mailboxes that all hosts share. */
export interface Mailboxes<R> {
  /** Sends a message to the host that waits for it. A mailbox takes one message. */
  readonly send: (mailbox: Quotewire.Mailbox, text: string) => Effect.Effect<void, ApiError.ApiError, R>
  /** Waits for the message, at most this many milliseconds; null if there is none by then. */
  readonly receive: (mailbox: Quotewire.Mailbox, wait_ms: number) => Effect.Effect<string | null, never, R>
}

/** What all hosts must share, so that one can take the answer to a form of another: keys, and mailboxes. */
export interface Shared<R> {
  readonly crypto: Pick<Crypto<R>, "sign" | "isSigned">
  readonly mailboxes: Mailboxes<R>
}

/** Shows the person forms in the stream that answers a call. `send` adds a message to it. */
export const askOver =
  <R>({ crypto, mailboxes }: Shared<R>, caller: Caller.Caller, send: Peer.Send): Form.Ask<R | Ids.Ids> =>
  (form) =>
    Effect.gen(function* () {
      const name = (yield* Ids.Ids).request()
      const expires_at = (yield* Clock.currentTimeMillis) + Form.answer_ms
      const id = `${name}~${expires_at}~${yield* crypto.sign(signedText(caller, name, expires_at))}`
      return yield* Peer.show(send, id, form, (at_most_ms) =>
        Effect.map(mailboxes.receive({ workspace_id: caller.workspace_id, name }, at_most_ms), (text) =>
          text === null ? null : Form.readAnswer(Result.getOrNull(JsonRpc.parseJson(text)))
        )
      )
    })

/**
 * Takes a response of a program. The answer to a form goes to the host whose call waits; any other response is dropped, and nothing
 * of it is stored.
 *
 * `charge` runs before storage is used, because an id can be sent any number of times.
 */
export const takeAnswer = Effect.fnUntraced(function* <R, R2>(
  { crypto, mailboxes }: Shared<R>,
  caller: Caller.Caller,
  { id, result }: JsonRpc.Response,
  charge: Effect.Effect<void, ApiError.ApiError, R2>
) {
  const [, name, expires, signature] = formId.exec(String(id)) ?? []
  if (name === undefined || expires === undefined || signature === undefined) return
  const expires_at = Number(expires)
  if ((yield* Clock.currentTimeMillis) >= expires_at) return
  if (!(yield* crypto.isSigned(signedText(caller, name, expires_at), signature))) return
  yield* charge
  yield* mailboxes.send({ workspace_id: caller.workspace_id, name }, JSON.stringify(Form.readAnswer(result)))
})

/** The id of a form: the name of its mailbox, the time until which it can be answered, and the signature of both. */
const formId = /^([a-z0-9_]{1,40})~([1-9]\d{0,15})~([\w.-]{1,100})$/

/** The text to sign. It makes an id valid for one caller only. */
const signedText = ({ key_id, kind, workspace_id }: Caller.Caller, name: string, expires_at: number): string =>
  Json.canonical(["form", workspace_id, kind, key_id, name, expires_at])

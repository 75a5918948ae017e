import { Deferred, Effect, Option } from "effect"
import type { Fields, Response } from "../JsonRpc.ts"
import * as Form from "./Form.ts"

/** The connected program, over a transport on which the server can send messages too, such as standard input and output. */
export interface Peer {
  /** Shows a form of this service or of a host to the person. It counts as closed if too many are open already. */
  readonly ask: (form: Form.Form | Fields) => Effect.Effect<Form.Answer>
  /** Sends the program a notification. */
  readonly notify: (method: string, params: object) => Effect.Effect<void>
}

/** A peer with what its transport calls: `take` for each response of the program, and `disconnect` at the end. */
export interface Connected extends Peer {
  /** Handles the response to a request of this service. A response to anything else is dropped. */
  readonly take: (response: Response) => void
  /** To run when the program has disconnected: open forms, and those of later calls, count as closed. */
  readonly disconnect: Effect.Effect<void>
}

/** Sends the program the text of one message. */
export type Send = (text: string) => Effect.Effect<unknown>

/** Notifies through a transport. */
export const notifyWith =
  (send: Send): Peer["notify"] =>
  (method, params) =>
    Effect.asVoid(send(JSON.stringify({ jsonrpc: "2.0", method, params })))

/** How the answer to a form arrives: within this many milliseconds, or null. */
export type Awaiting<R> = (at_most_ms: number) => Effect.Effect<Form.Answer | null, never, R>

/** Shows a form and waits for the answer. The form is withdrawn if nobody answers in time, or if the call ends before. */
export const show = <R>(
  send: Send,
  id: string,
  form: Form.Form | Fields,
  awaiting: Awaiting<R>
): Effect.Effect<Form.Answer, never, R> => {
  const withdraw = notifyWith(send)("notifications/cancelled", { requestId: id, reason: "The call has ended." })
  return send(JSON.stringify({ jsonrpc: "2.0", id, method: Form.method, params: form })).pipe(
    Effect.andThen(awaiting(Form.answer_ms)),
    Effect.flatMap((answer) => (answer === null ? Effect.as(withdraw, Form.closed) : Effect.succeed(answer))),
    Effect.onInterrupt(() => withdraw)
  )
}

/** The most forms that are open at once: calls that wait for forms must not take all slots. */
const max_open = 16

/** Makes the peer of a transport. */
export const make = (send: Send): Connected => {
  const pending = new Map<string, Deferred.Deferred<Form.Answer>>()
  let asked = 0
  let isDisconnected = false

  const ask: Peer["ask"] = (form) =>
    Effect.suspend(() => {
      if (isDisconnected || pending.size >= max_open) return Effect.succeed(Form.closed)
      const id = `ask-${++asked}`
      const answer = Deferred.makeUnsafe<Form.Answer>()
      pending.set(id, answer)
      return Effect.ensuring(
        show(send, id, form, (at_most_ms) =>
          Effect.map(Effect.timeoutOption(Deferred.await(answer), at_most_ms), Option.getOrNull)
        ),
        Effect.sync(() => pending.delete(id))
      )
    })

  const take: Connected["take"] = ({ id, result }) => {
    const answer = typeof id === "string" ? pending.get(id) : undefined
    // An answer that comes too late is dropped.
    if (answer !== undefined) Deferred.doneUnsafe(answer, Effect.succeed(Form.readAnswer(result)))
  }

  const disconnect = Effect.sync(() => {
    isDisconnected = true
    for (const answer of pending.values()) Deferred.doneUnsafe(answer, Effect.succeed(Form.closed))
  })
  return { ask, notify: notifyWith(send), take, disconnect }
}

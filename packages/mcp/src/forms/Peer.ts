import { Deferred, Effect, Option } from "effect"
import * as Form from "../protocol/Form.ts"
import type { Fields, Response } from "../protocol/JsonRpc.ts"

/** The connected client program, on a transport that lets this service send it messages at any time. */
export interface Peer {
  /** Shows the person a form. If too many forms are open, the form is immediately treated as closed. */
  readonly ask: (form: Form.Form | Fields) => Effect.Effect<Form.Answer>
  /** Sends a notification to the client program. */
  readonly notify: (method: string, params: object) => Effect.Effect<void>
}

/**
 * A peer as its transport uses it. The transport calls `take` with each response from the client program, and runs
 * `disconnect` at the end.
 */
export interface Connected extends Peer {
  /** Handles the response to a request from this service. Ignores any other response. */
  readonly take: (response: Response) => void
  /** Closes all open forms. Forms that are shown later are treated as closed. */
  readonly disconnect: Effect.Effect<void>
}

/** Sends the text of one message to the client program. */
export type SendMessage = (text: string) => Effect.Effect<unknown>

/** Creates the `notify` of a peer that sends its messages with `send`. */
export const notifyWith =
  (send: SendMessage): Peer["notify"] =>
  (method, params) =>
    Effect.asVoid(send(JSON.stringify({ jsonrpc: "2.0", method, params })))

/** Waits for the answer to a form, but not longer than `at_most_ms`; null on a timeout. */
export type AwaitAnswer<R> = (at_most_ms: number) => Effect.Effect<Form.Answer | null, never, R>

/** Shows a form and waits for the answer. Withdraws the form if nobody answers in time or the call ends first. */
export const show = <R>(
  send: SendMessage,
  id: string,
  form: Form.Form | Fields,
  awaitAnswer: AwaitAnswer<R>
): Effect.Effect<Form.Answer, never, R> => {
  const withdraw = notifyWith(send)("notifications/cancelled", { requestId: id, reason: "The call has ended." })
  return send(JSON.stringify({ jsonrpc: "2.0", id, method: Form.method, params: form })).pipe(
    Effect.andThen(awaitAnswer(Form.answerMs)),
    Effect.flatMap((answer) => (answer === null ? Effect.as(withdraw, Form.closed) : Effect.succeed(answer))),
    Effect.onInterrupt(() => withdraw)
  )
}

/** The maximum number of open forms. The calls that wait for a person must leave room for other calls. */
const maxOpen = 16

/** Creates the peer of a transport. */
export const make = (send: SendMessage): Connected => {
  const pending = new Map<string, Deferred.Deferred<Form.Answer>>()
  let requestCount = 0
  let isDisconnected = false

  const ask: Peer["ask"] = (form) =>
    Effect.suspend(() => {
      if (isDisconnected || pending.size >= maxOpen) return Effect.succeed(Form.closed)
      const id = `ask-${++requestCount}`
      const answer = Deferred.makeUnsafe<Form.Answer>()
      pending.set(id, answer)
      return Effect.ensuring(
        show(send, id, form, (atMostMs) =>
          Effect.map(Effect.timeoutOption(Deferred.await(answer), atMostMs), Option.getOrNull)
        ),
        Effect.sync(() => pending.delete(id))
      )
    })

  const take: Connected["take"] = ({ id, result }) => {
    const answer = typeof id === "string" ? pending.get(id) : undefined
    // Nothing waits for an answer that comes too late, so drop it.
    if (answer !== undefined) Deferred.doneUnsafe(answer, Effect.succeed(Form.readAnswer(result)))
  }

  const disconnect = Effect.sync(() => {
    isDisconnected = true
    for (const answer of pending.values()) Deferred.doneUnsafe(answer, Effect.succeed(Form.closed))
  })
  return { ask, notify: notifyWith(send), take, disconnect }
}

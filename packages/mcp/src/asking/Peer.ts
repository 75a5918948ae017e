import { Deferred, Effect, Option, Predicate } from "effect"
import * as Form from "./Form.ts"

/** The connected program, over a transport on which the server can send messages too, such as standard input and output. */
export interface Peer {
  /** Shows a form to the person who uses the program. It counts as closed if too many are open already. */
  readonly ask: Form.Ask
  /** Sends the program a notification. */
  readonly notify: (method: string, params: object) => Effect.Effect<void>
}

/** A peer with what its transport calls: `take` for each message of the program, and `disconnect` at the end. */
export interface Connected extends Peer {
  /** Handles a message that is a JSON-RPC response. Returns false for any other message. */
  readonly take: (message: unknown) => boolean
  /** To run when the program has disconnected: open forms, and those of later calls, count as closed. */
  readonly disconnect: Effect.Effect<void>
}

/** How long a person has to answer, in milliseconds. */
const answer_ms = 10 * 60_000

/** The most forms that are open at once: calls that wait for forms must not take all slots. */
const max_open = 16

/** Makes the peer of a transport. `send` sends the text of one message. */
export const make = (send: (text: string) => Effect.Effect<unknown>): Connected => {
  const pending = new Map<string, Deferred.Deferred<Form.Answer>>()
  let asked = 0
  let isDisconnected = false
  const notify: Peer["notify"] = (method, params) =>
    Effect.asVoid(send(JSON.stringify({ jsonrpc: "2.0", method, params })))

  const ask: Form.Ask = (form) =>
    Effect.suspend(() => {
      if (isDisconnected || pending.size >= max_open) return Effect.succeed(Form.closed)
      const id = `ask-${++asked}`
      const answer = Deferred.makeUnsafe<Form.Answer>()
      pending.set(id, answer)
      const cancel = notify("notifications/cancelled", { requestId: id, reason: "The call has ended." })
      return send(JSON.stringify({ jsonrpc: "2.0", id, method: Form.method, params: form })).pipe(
        Effect.andThen(Effect.timeoutOption(Deferred.await(answer), answer_ms)),
        Effect.flatMap((found) =>
          Option.match(found, {
            onNone: () => Effect.as(cancel, Form.closed),
            onSome: (given) => Effect.succeed(given)
          })
        ),
        Effect.onInterrupt(() => cancel),
        Effect.ensuring(Effect.sync(() => pending.delete(id)))
      )
    })

  const take: Connected["take"] = (message) => {
    if (!Predicate.isObject(message) || "method" in message || !("result" in message || "error" in message))
      return false
    const answer = typeof message.id === "string" ? pending.get(message.id) : undefined
    // An answer that comes too late is dropped.
    if (answer !== undefined) Deferred.doneUnsafe(answer, Effect.succeed(Form.readAnswer(message.result)))
    return true
  }

  const disconnect = Effect.sync(() => {
    isDisconnected = true
    for (const answer of pending.values()) Deferred.doneUnsafe(answer, Effect.succeed(Form.closed))
  })
  return { ask, notify, take, disconnect }
}

import { Deferred, Effect, Option, Predicate } from "effect"
import * as Form from "./Form.ts"

/** The program at the other end of a transport that carries messages both ways. */
export interface Peer {
  /** Puts a form before the person who uses the program. It counts as closed if too many are open already. */
  readonly ask: Form.Ask
  /** Tells the program something that needs no answer. */
  readonly notify: (method: string, params: object) => Effect.Effect<void>
}

/** A peer with what its transport tells it. */
export interface Connected extends Peer {
  /** Takes a message that answers a request of this service. False if it is no answer. */
  readonly take: (message: unknown) => boolean
  /** The program says nothing more: every open form counts as closed, now and from now on. */
  readonly hangUp: Effect.Effect<void>
}

/** How long a person has to answer, in milliseconds. */
const answer_ms = 10 * 60_000

/** The most forms that are open at once. A person reads one; and calls that wait for forms must not take all slots. */
const max_open = 16

/** Makes the peer of a transport, given how a message is sent to it. */
export const make = (send: (text: string) => Effect.Effect<unknown>): Connected => {
  const open = new Map<string, Deferred.Deferred<Form.Answer>>()
  let asked = 0
  let isGone = false
  const notify: Peer["notify"] = (method, params) =>
    Effect.asVoid(send(JSON.stringify({ jsonrpc: "2.0", method, params })))

  const ask: Form.Ask = (form) =>
    Effect.suspend(() => {
      if (isGone || open.size >= max_open) return Effect.succeed(Form.closed)
      const id = `ask-${++asked}`
      const answer = Deferred.makeUnsafe<Form.Answer>()
      open.set(id, answer)
      const withdraw = notify("notifications/cancelled", { requestId: id, reason: "The call has ended." })
      return send(JSON.stringify({ jsonrpc: "2.0", id, method: Form.method, params: form })).pipe(
        Effect.andThen(Effect.timeoutOption(Deferred.await(answer), answer_ms)),
        Effect.flatMap((found) =>
          Option.match(found, {
            onNone: () => Effect.as(withdraw, Form.closed),
            onSome: (given) => Effect.succeed(given)
          })
        ),
        Effect.onInterrupt(() => withdraw),
        Effect.ensuring(Effect.sync(() => open.delete(id)))
      )
    })

  const take: Connected["take"] = (message) => {
    if (!Predicate.isObject(message) || "method" in message || !("result" in message || "error" in message))
      return false
    const answer = typeof message.id === "string" ? open.get(message.id) : undefined
    // An answer that comes too late is dropped.
    if (answer !== undefined) Deferred.doneUnsafe(answer, Effect.succeed(Form.readAnswer(message.result)))
    return true
  }

  const hangUp = Effect.sync(() => {
    isGone = true
    for (const answer of open.values()) Deferred.doneUnsafe(answer, Effect.succeed(Form.closed))
  })
  return { ask, notify, take, hangUp }
}

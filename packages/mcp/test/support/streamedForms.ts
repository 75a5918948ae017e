import { Hints } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { DateTime, Effect, Fiber, type Layer } from "effect"
import { TestClock } from "effect/testing"
import { Agents, type AgentsOptions, type Got, layer, type Sent, toolsCall } from "./agents.ts"
import { call } from "./journey.ts"

export const forms = { elicitation: { form: {} } }
export const agreeing = { action: "accept", content: { agree: true } }
export const start = {
  line: "renters",
  request_key: "0d9c9b1e-7f51-4c2e-9d3e-0a4f5f1f7c11",
  application: ExampleApplications.smallest.renters
}
export const { dwelling } = start.application
export const told = { action: "accept", content: { "dwelling.type": dwelling.type } }
/** A start with a key, which lacks the type of home. */
export const withoutFact = {
  ...{ ...start, consent_receipt_id: "receipt-0001" },
  application: { dwelling: { address: dwelling.address } }
}
export const agreement = { quote_disclosure_version: "2026-09-26", quote_disclosure_accepted: true }

type Caller = Pick<Sent, "as" | "address">

/** A program that has completed the handshake. */
export const connected = Effect.fnUntraced(function* (
  capabilities: object = forms,
  { protocolVersion = "2025-06-18", ...caller }: Caller & { readonly protocolVersion?: string } = {}
) {
  const { send } = yield* Agents
  const params = { protocolVersion, capabilities, clientInfo: { name: "a-client", version: "9" } }
  const { headers } = yield* send({ ...caller, message: { jsonrpc: "2.0", id: 0, method: "initialize", params } })
  const own = {
    accept: "application/json, text/event-stream",
    "mcp-session-id": headers["mcp-session-id"] ?? "",
    "mcp-protocol-version": protocolVersion
  }
  /** Calls a tool, and does not wait for the call to end. */
  const begin = (args: object, changes: Readonly<Record<string, string>> = {}, _meta: object = {}) => {
    const events: Array<Got["body"]> = []
    const plain = toolsCall("start_quote_request", args)
    const message = { ...plain, params: { ...plain.params, _meta } }
    const calling = send({ ...caller, headers: { ...own, ...changes }, message, events })
    return Effect.map(Effect.forkChild(calling), (fiber) => ({ events, fiber }))
  }
  /** Answers a form, as this program or another. */
  const answer = (id: unknown, result: unknown, as: Caller = caller) =>
    send({ ...as, headers: own, message: { jsonrpc: "2.0", id, result } })
  return { answer, begin, headers: own }
})

/** Takes the next event of a call, and waits until there is one. */
export const next = Effect.fnUntraced(function* ({ events }: { readonly events: Array<Got["body"]> }) {
  const longPolls = yield* Hints.LongPolls
  while (events.length === 0) yield* Effect.yieldNow
  const event = events.shift()
  // Now the form is sent. Wait until its call waits for the answer.
  if (event.method === "elicitation/create") while ((yield* longPolls.count) === 0) yield* Effect.yieldNow
  return event
})

/** The result of a call that ends. */
export const resultOf = ({
  events,
  fiber
}: {
  readonly events: Array<Got["body"]>
  readonly fiber: Fiber.Fiber<Got>
}) => Effect.map(Fiber.join(fiber), () => events.at(-1).result)

export const started = Effect.map(
  call("list_quote_requests", {}),
  ({ structuredContent }) => structuredContent.quote_requests
)

export const inWorld = <A, E>(test: Effect.Effect<A, E, World>, options: AgentsOptions = {}) =>
  Effect.andThen(
    TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-11-20T12:00:00Z"))),
    Effect.provide(test, layer(options))
  )
type World = Layer.Success<ReturnType<typeof layer>>

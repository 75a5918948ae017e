import type { Line } from "../lines/Line.ts"
import type { StandardLine } from "../lines/standard.ts"
import type { AnyOperation, CallOptions, Client, OperationMethods } from "./Client.ts"
import { makeEvents } from "./events.ts"
import { type CheckRules, check } from "./InvalidArgument.ts"
import type { Sleep } from "./retryPause.ts"
import { makeWaitForQuotes } from "./waitForQuotes.ts"

/** How a client reaches the service, and how it waits. */
export interface Transport {
  /** The names of all operations. */
  readonly names: ReadonlyArray<keyof OperationMethods>
  /** Calls an operation with its input, and resolves with the operation's response. */
  readonly call: (name: AnyOperation["name"], input: unknown, options: CallOptions) => Promise<unknown>
  readonly sleep: Sleep
  /** Checks options, and throws if one breaks a rule; by default it throws the client's own `InvalidArgument`. */
  readonly check?: CheckRules
}

/**
 * Makes a client that calls through a transport. `embed` passes a transport that stays in the process, and `connect`
 * passes a transport that uses HTTP.
 */
export const makeClient = <OwnLine extends Line = StandardLine>({
  call,
  check: checkRules = check,
  names,
  sleep
}: Transport): Client<OwnLine> => {
  const methodOf =
    (name: AnyOperation["name"]) =>
    (input: unknown, options: CallOptions = {}) =>
      call(name, input, options)
  // The cast is safe: each operation's name is mapped to the method that calls this operation.
  const methods = Object.fromEntries(names.map((name) => [name, methodOf(name)])) as OperationMethods<OwnLine>
  return {
    ...methods,
    wait_for_quotes: makeWaitForQuotes(methods.get_quote_request, sleep, checkRules),
    events: makeEvents(methods.list_events, sleep, checkRules)
  }
}

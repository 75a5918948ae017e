import type { Effect } from "effect"
import type { Environment } from "../access/Caller.ts"
import type { LineName } from "../lines/LineName.ts"
import type { StateCode } from "../lines/State.ts"
import type { FactPath, FactsOf } from "../lines/standard.ts"
import type {
  CarrierAsk,
  CarrierCallback,
  CarrierLine,
  CarrierRefresh,
  CarrierReply,
  ConnectionFields,
  ConnectionTest,
  Decline
} from "./Carrier.ts"
import type { CarrierHttp } from "./http/CarrierHttp.ts"
import type { CarrierHttpOptions } from "./http/CarrierHttpOptions.ts"

/** What a carrier's function may return: a value, a promise, or an Effect. */
export type Answer<A> = A | Promise<A> | Effect.Effect<A, unknown>

/**
 * A carrier's terms for one line. Only `states` is required; `defineCarrier` documents the other defaults.
 *
 * If `Name` is a standard line, `needs` and `wants` are paths of its facts.
 */
export interface LineTerms<Name extends LineName = LineName, Mode extends CarrierLine["mode"] = CarrierLine["mode"]>
  extends Partial<Omit<CarrierLine, "states" | "needs" | "wants" | "mode">> {
  /** USPS codes of the states that the carrier serves. */
  readonly states: ReadonlyArray<StateCode>
  /**
   * Paths of facts that this carrier needs beyond the line's required facts. Without these facts, the carrier is not
   * asked.
   */
  readonly needs?: ReadonlyArray<FactPath<Name>>
  /** Paths of facts that this carrier receives if they are known. The carrier is asked even without these facts. */
  readonly wants?: ReadonlyArray<FactPath<Name>>
  /** How the answer arrives. `poll` and `callback` require the function of that name. */
  readonly mode?: Mode
}

/** A connection's values, by field name. */
export type ConnectionOf<Fields extends ConnectionFields> = { readonly [Name in keyof Fields]: string }

/** What every function that handles an ask receives: the line, its facts, the assumptions and the connection. */
interface AskOf<Name extends LineName, Fields extends ConnectionFields>
  extends Omit<CarrierAsk<FactsOf<Name>>, "line" | "connection"> {
  readonly line: Name
  /** The values that the organization set for this carrier. */
  readonly connection: ConnectionOf<Fields>
}

/** The HTTP client and the signal with which a function sends requests to the carrier. */
interface RequestContext<Http> {
  /** The carrier's HTTP client; undefined unless the definition has the `http` option. */
  readonly http: Http extends CarrierHttpOptions ? CarrierHttp : undefined
  /** Aborted when this call times out. */
  readonly signal: AbortSignal
}

interface CallOf<Name extends LineName, Fields extends ConnectionFields, Http>
  extends AskOf<Name, Fields>,
    RequestContext<Http> {}

/** The argument of `testConnection`: the values that an organization wants to set for this carrier. */
export interface ConnectionCall<Fields extends ConnectionFields, Http> extends RequestContext<Http> {
  readonly environment: Environment
  readonly connection: ConnectionOf<Fields>
}

interface ReviewOf<Name extends LineName, Fields extends ConnectionFields> extends AskOf<Name, Fields> {
  /** Today in UTC, `YYYY-MM-DD`, for rules that depend on the date. */
  readonly on: string
}

/** The argument of a carrier's function. If the carrier has several lines, `line` tells which type `facts` has. */
export type CarrierCall<Name extends LineName, Fields extends ConnectionFields, Http> = {
  [N in Name]: CallOf<N, Fields, Http>
}[Name]

/** The argument of a definition's `appetite` function. */
export type CarrierReview<Name extends LineName, Fields extends ConnectionFields> = {
  [N in Name]: ReviewOf<N, Fields>
}[Name]

/** A callback as received: the raw bytes, which a signature covers, and the same bytes as text. */
export interface ReceivedCallback {
  /** The headers. Their names are in lower case. */
  readonly headers: CarrierCallback["headers"]
  readonly raw: Uint8Array
  readonly text: string
}

/**
 * The functions that a definition needs for the modes of its lines. If a mode is not known at compile time,
 * `defineCarrier` checks this at run time.
 */
export type AnswersIn<
  Mode extends CarrierLine["mode"],
  Name extends LineName,
  Fields extends ConnectionFields,
  Http extends CarrierHttpOptions | undefined
> = {
  readonly lines: { readonly [N in Name]: { readonly mode?: Mode } }
} & ([CarrierLine["mode"]] extends [Mode]
  ? unknown
  : ("poll" extends Mode ? Required<Pick<CarrierDefinition<Name, Fields, Http>, "poll">> : unknown) &
      ("callback" extends Mode ? Required<Pick<CarrierDefinition<Name, Fields, Http>, "callback">> : unknown))

/** The definition of a carrier, for `defineCarrier`. */
export interface CarrierDefinition<
  Name extends LineName,
  Fields extends ConnectionFields,
  Http extends CarrierHttpOptions | undefined
> {
  /**
   * `naic:` and five digits. For a carrier without a NAIC code, use the name of another registry and the carrier's
   * identifier there, such as `mga:acme-general`.
   */
  readonly id: string
  /** The carrier's name, as people see it. */
  readonly name: string
  /** The carrier's entries in public registries; empty by default. */
  readonly registry_ids?: ReadonlyArray<string>
  /**
   * The environments in which the carrier is asked; by default both. In the sandbox, it is asked along with the
   * fictional carriers.
   */
  readonly environments?: ReadonlyArray<Environment>
  /** The insurance lines that the carrier quotes, each with its terms. */
  readonly lines: { readonly [N in Name]: LineTerms<N> }
  /** The hosts that links to the carrier may point to; empty by default. */
  readonly handoff_hosts?: ReadonlyArray<string>
  /**
   * The values that an organization must set for this carrier, by name: a `string` can be shown again, a `secret`
   * cannot.
   */
  readonly connection?: Fields
  /**
   * Tests a connection, for example by requesting a token. The function must not ask for a price, and `message` must
   * not repeat a value.
   */
  readonly testConnection?: (call: ConnectionCall<Fields, Http>) => Answer<ConnectionTest>
  /**
   * The carrier's API. If set, `testConnection`, `ask`, `poll`, `refresh` and `handoff` receive an HTTP client for it.
   */
  readonly http?: Http
  /** Declines a risk without a call, or returns null to ask the carrier. Must be pure. */
  readonly appetite?: (review: CarrierReview<Name, Fields>) => Decline | null
  /**
   * Asks the carrier for its offers. Return a reply made with `Reply`; if this function throws, the carrier makes no
   * offer.
   */
  readonly ask: (call: CarrierCall<Name, Fields, Http>) => Answer<CarrierReply>
  /** Fetches the answer to an ask that the carrier accepted. `ref` is the reference from the ask's `pending` reply. */
  readonly poll?: (call: CarrierCall<Name, Fields, Http> & { readonly ref: string }) => Answer<CarrierReply>
  /**
   * Verifies and reads a callback; null if the callback is not genuine. Return the `ref` of the ask's `pending` reply,
   * or the ask's `idempotency_key`.
   */
  readonly callback?: (
    received: ReceivedCallback
  ) => Answer<{ readonly ref: string; readonly reply: CarrierReply } | null>
  /** Asks whether an offer is still valid. The service calls this function when `refresh_after_ms` has passed. */
  readonly refresh?: (call: CarrierCall<Name, Fields, Http> & { readonly offer_ref: string }) => Answer<CarrierRefresh>
  /** Returns a fresh link when the person clicks an offer's link; null if the person cannot continue. */
  readonly handoff?: (call: CarrierCall<Name, Fields, Http> & { readonly offer_ref: string }) => Answer<string | null>
}

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

/** What a function of a carrier returns: a value, a promise of one, or an Effect. */
export type Answer<A> = A | Promise<A> | Effect.Effect<A, unknown>

/**
 * A carrier's terms for one line. Only `states` is required; `defineCarrier` says what the others are by default.
 *
 * With the name of a standard line, `needs` and `wants` are paths of its facts.
 */
export interface LineTerms<Name extends LineName = LineName, Mode extends CarrierLine["mode"] = CarrierLine["mode"]>
  extends Partial<Omit<CarrierLine, "states" | "needs" | "wants" | "mode">> {
  /** USPS codes of the states served. */
  readonly states: ReadonlyArray<StateCode>
  /** Paths of facts that this carrier needs beyond the required ones. Without them it is not asked. */
  readonly needs?: ReadonlyArray<FactPath<Name>>
  /** Paths of facts that this carrier gets if they are known. It is asked without them as well. */
  readonly wants?: ReadonlyArray<FactPath<Name>>
  /** How the answer comes. `poll` and `callback` require the function of that name. */
  readonly mode?: Mode
}

/** The values of a connection, by the names of its fields. */
export type ConnectionOf<Fields extends ConnectionFields> = { readonly [Name in keyof Fields]: string }

/** What every function about an ask is given: the line, its facts, what was assumed, and the connection. */
interface AskOf<Name extends LineName, Fields extends ConnectionFields>
  extends Omit<CarrierAsk<FactsOf<Name>>, "line" | "connection"> {
  readonly line: Name
  /** What the organization has given for this carrier. */
  readonly connection: ConnectionOf<Fields>
}

/** What a function sends requests to the carrier with. */
interface WayOut<Http> {
  /** The carrier's HTTP client; undefined without the option `http`. */
  readonly http: Http extends CarrierHttpOptions ? CarrierHttp : undefined
  /** Aborted when the time for this call is over. */
  readonly signal: AbortSignal
}

interface CallOf<Name extends LineName, Fields extends ConnectionFields, Http>
  extends AskOf<Name, Fields>,
    WayOut<Http> {}

/** The call of `testConnection`: what an organization wants to give for this carrier. */
export interface ConnectionCall<Fields extends ConnectionFields, Http> extends WayOut<Http> {
  readonly environment: Environment
  readonly connection: ConnectionOf<Fields>
}

interface ReviewOf<Name extends LineName, Fields extends ConnectionFields> extends AskOf<Name, Fields> {
  /** Today in UTC, `YYYY-MM-DD`, for rules with dates. */
  readonly on: string
}

/** One call of a carrier's function. If the carrier has several lines, `line` says which facts it holds. */
export type CarrierCall<Name extends LineName, Fields extends ConnectionFields, Http> = {
  [N in Name]: CallOf<N, Fields, Http>
}[Name]

/** What `appetite` is given to decide by. */
export type CarrierReview<Name extends LineName, Fields extends ConnectionFields> = {
  [N in Name]: ReviewOf<N, Fields>
}[Name]

/** A callback as received: the raw bytes, which a signature covers, and the same as text. */
export interface ReceivedCallback {
  /** Header names in lower case. */
  readonly headers: CarrierCallback["headers"]
  readonly raw: Uint8Array
  readonly text: string
}

/** The functions that a definition must have for the modes of its lines. If a mode is not known, `defineCarrier` checks it when it runs. */
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
  /** `naic:` and five digits. A carrier without a NAIC code has another register's name for it: `mga:acme-general`. */
  readonly id: string
  readonly name: string
  /** The carrier's entries in public registers; none by default. */
  readonly registry_ids?: ReadonlyArray<string>
  /** Both by default: in the sandbox, the carrier is asked beside the fictional ones. */
  readonly environments?: ReadonlyArray<Environment>
  readonly lines: { readonly [N in Name]: LineTerms<N> }
  /** The hosts to which links to the carrier may lead; none by default. */
  readonly handoff_hosts?: ReadonlyArray<string>
  /** What an organization has to give for this carrier, by name: a `string` is shown again, a `secret` never. */
  readonly connection?: Fields
  /** Tries a connection, such as by getting a token. It must not ask for a price; `message` must not repeat a value. */
  readonly testConnection?: (call: ConnectionCall<Fields, Http>) => Answer<ConnectionTest>
  readonly http?: Http
  /** Declines without a call, or returns null to ask. Must be pure. */
  readonly appetite?: (review: CarrierReview<Name, Fields>) => Decline | null
  readonly ask: (call: CarrierCall<Name, Fields, Http>) => Answer<CarrierReply>
  /** Asks for the answer to an accepted ask. `ref` is the number of the `pending` reply. */
  readonly poll?: (call: CarrierCall<Name, Fields, Http> & { readonly ref: string }) => Answer<CarrierReply>
  /**
   * Verifies and reads a callback; null if it is not genuine. `ref` is the number of the `pending` reply, or the ask's
   * `idempotency_key`.
   */
  readonly callback?: (
    received: ReceivedCallback
  ) => Answer<{ readonly ref: string; readonly reply: CarrierReply } | null>
  /** Asks whether an offer is still valid, after its `refresh_after_ms`. */
  readonly refresh?: (call: CarrierCall<Name, Fields, Http> & { readonly offer_ref: string }) => Answer<CarrierRefresh>
  /** A fresh link at the moment of the click; null if the person cannot continue. */
  readonly handoff?: (call: CarrierCall<Name, Fields, Http> & { readonly offer_ref: string }) => Answer<string | null>
}

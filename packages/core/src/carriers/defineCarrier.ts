import { Data, Effect, Predicate, Result } from "effect"
import type { LineName } from "../lines/LineName.ts"
import { type BrokenRule, ruleText } from "../wire/BrokenRule.ts"
import * as AdapterRules from "./AdapterRules.ts"
import * as AnswerRules from "./AnswerRules.ts"
import {
  type CarrierAdapter,
  type CarrierAsk,
  type CarrierLine,
  type CarrierRefresh,
  type CarrierReply,
  type ConnectionFields,
  maxAttemptMs
} from "./Carrier.ts"
import { logUnavailable } from "./CarrierClient.ts"
import type { Answer, AnswersIn, CarrierCall, CarrierDefinition, LineTerms } from "./CarrierDefinition.ts"
import { makeCallFunction, makeConnectionTester, reviewOf, settled, unavailableIfFailed } from "./definitionCalls.ts"
import { type CarrierHttpOptions, optionMistakes } from "./http/CarrierHttpOptions.ts"
import * as Reply from "./Reply.ts"

/**
 * A carrier's definition has mistakes. The message lists all mistakes by path, and repeats no value except the
 * carrier's ID.
 */
export class InvalidCarrier extends Data.TaggedError("InvalidCarrier")<{
  readonly carrier_id: string
  readonly mistakes: ReadonlyArray<BrokenRule>
  readonly message: string
}> {
  readonly code = "invalid_carrier"
}

/**
 * Defines a carrier in plain TypeScript: its functions return values, promises or Effects.
 *
 * A `CarrierHttpError` that escapes a function becomes the reply `unavailable` with the error's reason. Any other error
 * is reported as `carrier_error`, and is logged with its location but without its message. The ask's assumptions are
 * added to its offers.
 *
 * By default a line has no `needs` or `wants`, uses no credit information, answers in `sync` mode and is not
 * `idempotent`. An attempt times out after 15 s and typically takes 2 s. At most 4 calls run concurrently, and at most
 * 60 a minute.
 *
 * Throws one `InvalidCarrier` with every mistake.
 *
 * @example
 * const acme = defineCarrier({
 *   id: "naic:12345",
 *   name: "Acme Mutual",
 *   lines: { renters: { states: ["NY"] } },
 *   ask: ({ facts }) => Reply.offers([{ offer_ref: "1", premium: Money.dollars(facts.coverage.deductible_usd) }])
 * })
 */
export const defineCarrier = <
  const Name extends LineName,
  const Fields extends ConnectionFields = Record<never, never>,
  const Http extends CarrierHttpOptions | undefined = undefined,
  const Mode extends CarrierLine["mode"] = "sync"
>(
  definition: CarrierDefinition<Name, Fields, Http> & AnswersIn<Mode, Name, Fields, Http>
): CarrierAdapter => {
  if (!Predicate.isReadonlyObject(definition)) throw invalid("", [noDefinition])
  const { appetite, callback, handoff, poll, refresh, testConnection } = definition
  const call = makeCallFunction(definition, lineDefaults)
  const tester = makeConnectionTester(definition, lineDefaults)
  const reply = (ask: CarrierAsk, answerTo: (carrierCall: CarrierCall<Name, Fields, Http>) => Answer<CarrierReply>) =>
    Effect.map(unavailableIfFailed(Effect.tap(call(ask, answerTo), logUnavailable)), (answer) =>
      withAssumptions(answer, ask)
    )
  const adapter: CarrierAdapter = {
    carrier: { id: definition.id, name: definition.name, registry_ids: definition.registry_ids ?? [] },
    environments: definition.environments ?? ["sandbox", "live"],
    lines: linesOf(definition.lines),
    handoff_hosts: definition.handoff_hosts ?? [],
    ...(definition.http?.redact !== undefined && { redact: definition.http.redact }),
    ...(definition.http?.keeps_text_bodies === true && { keeps_text_bodies: true }),
    ...(definition.connection !== undefined && { connection: definition.connection }),
    ...(testConnection !== undefined && {
      testConnection: (connection, environment) =>
        tester({ connection, environment }, (carrierCall) => testConnection(carrierCall))
    }),
    ...(appetite !== undefined && { appetite: (ask) => appetite(reviewOf(definition, ask)) }),
    ask: (ask) => reply(ask, (carrierCall) => definition.ask(carrierCall)),
    ...(poll !== undefined && { poll: (ask, ref) => reply(ask, (carrierCall) => poll({ ...carrierCall, ref })) }),
    ...(callback !== undefined && {
      callback: ({ headers, body }) =>
        Effect.orDie(settled(() => callback({ headers, raw: body, text: new TextDecoder().decode(body) })))
    }),
    ...(refresh !== undefined && {
      refresh: (ask, offer_ref) =>
        Effect.map(
          unavailableIfFailed(call(ask, (carrierCall) => refresh({ ...carrierCall, offer_ref }))),
          (refreshed) => refreshedWithAssumptions(refreshed, ask)
        )
    }),
    ...(handoff !== undefined && {
      handoff: (ask, offer_ref) => Effect.orDie(call(ask, (carrierCall) => handoff({ ...carrierCall, offer_ref })))
    })
  }
  const mistakes = mistakesIn(definition, adapter)
  if (mistakes.length > 0) throw invalid(definition.id, mistakes)
  return adapter
}

const noDefinition = { path: "", message: "defineCarrier needs an object, such as { id, name, lines, ask }." }

const invalid = (carrierId: unknown, mistakes: ReadonlyArray<BrokenRule>): InvalidCarrier => {
  const id = typeof carrierId === "string" ? carrierId : ""
  const lines = mistakes.map((mistake) => `- ${ruleText(mistake)}`)
  return new InvalidCarrier({
    carrier_id: id,
    mistakes,
    message: [`The carrier ${JSON.stringify(id)} is not defined correctly.`, ...lines].join("\n")
  })
}

const functions = ["appetite", "ask", "poll", "callback", "refresh", "handoff", "testConnection"] as const

/**
 * The parts of a definition that its adapter wraps in functions. They must be checked here, because a check of the
 * adapter cannot see them.
 */
interface Wrapped extends Partial<Readonly<Record<(typeof functions)[number], unknown>>> {
  readonly http?: CarrierHttpOptions | undefined
  readonly connection?: ConnectionFields
}

/**
 * Every mistake, by its path in the definition. A definition has the fields of the adapter's `carrier` at its top
 * level.
 */
const mistakesIn = (definition: Wrapped, adapter: CarrierAdapter): ReadonlyArray<BrokenRule> => [
  ...AdapterRules.check(adapter, null).map(({ path, message }) => ({ path: path.replace(/^carrier\./, ""), message })),
  ...functions.flatMap((name) => {
    const value = definition[name]
    const isRight = Predicate.isFunction(value) || (value === undefined && name !== "ask")
    return isRight ? [] : [{ path: name, message: "Must be a function." }]
  }),
  ...httpMistakes(definition)
]

const httpMistakes = ({ http, connection }: Wrapped): ReadonlyArray<BrokenRule> => {
  if (http === undefined) return []
  if (!Predicate.hasProperty(http, "base_url")) {
    return [{ path: "http.base_url", message: "Is required: set the base URL of the carrier's API." }]
  }
  const fields = Predicate.isObject(connection) ? Object.keys(connection) : []
  return optionMistakes(http, fields).map(({ path, message }) => ({ path: `http.${path}`, message }))
}

const lineDefaults: Omit<CarrierLine, "states"> = {
  needs: [],
  uses_credit: false,
  mode: "sync",
  idempotent: false,
  attempt_timeout_ms: maxAttemptMs,
  typical_ms: 2_000,
  hedge_after_ms: null,
  rate_per_minute: 60,
  max_concurrent: 4
}

// JavaScript programs can pass anything here. Mistakes are reported later, with their paths.
const linesOf = (lines: { readonly [name: string]: LineTerms }): CarrierAdapter["lines"] =>
  Predicate.isObject(lines)
    ? Object.fromEntries(Object.entries(lines).map(([name, terms]) => [name, { ...lineDefaults, ...terms }]))
    : lines

// An answer that breaks rules is returned unchanged, so that the service can find and report its mistakes.
const withAssumptions = (reply: CarrierReply, { assumptions }: CarrierAsk): CarrierReply => {
  const read = Result.getOrElse(AnswerRules.readReply(reply), () => null)
  return read?.kind === "offers"
    ? { ...read, offers: read.offers.map((offer) => Reply.withAssumptions(offer, assumptions)) }
    : reply
}

const refreshedWithAssumptions = (refreshed: CarrierRefresh, { assumptions }: CarrierAsk): CarrierRefresh => {
  const read = Result.getOrElse(AnswerRules.readRefresh(refreshed), () => null)
  return read?.kind === "offer" ? { ...read, offer: Reply.withAssumptions(read.offer, assumptions) } : refreshed
}

import { Clock, Effect, Predicate, Result } from "effect"
import type { HttpClient } from "effect/http"
import type { Environment } from "../../access/Caller.ts"
import * as AnswerRules from "../../carriers/AnswerRules.ts"
import type {
  CarrierAdapter,
  CarrierAsk,
  CarrierCallback,
  CarrierLine,
  CarrierReply,
  ConnectionValues
} from "../../carriers/Carrier.ts"
import * as Offer from "../../carriers/Offer.ts"
import * as SecretFinder from "../../carriers/secrets/SecretFinder.ts"
import { type Assumed, missingOf } from "../../lines/Application.ts"
import { disclosed, type Line } from "../../lines/Line.ts"
import * as Lines from "../../lines/Lines.ts"
import type { StandardLineName } from "../../lines/standard.ts"
import type { BrokenRule } from "../../wire/BrokenRule.ts"
import { dayOf } from "../../wire/CalendarDay.ts"
import { minuteMs } from "../../wire/Timestamp.ts"
import { broken, type ContractBroken, called, expectNone, expectRead } from "./carrierRule.ts"

/** The facts of an application for each line, as a caller sends them. */
export type FactsByLine = { readonly [Name in StandardLineName]?: unknown } & { readonly [name: string]: unknown }

/** How a contract is checked. All options may be omitted. */
export interface Options {
  /** The parsed JSON of a cassette file, which replaces the carrier; see `Cassette`. */
  readonly cassette?: unknown
  /** A stand-in for the carrier, such as an `HttpClient` that answers after a simulated latency. */
  readonly transport?: HttpClient.HttpClient
  /** The environment in which the carrier is asked; by default the sandbox, if the adapter supports it. */
  readonly environment?: Environment
  /** The connection's values, if the adapter declares a connection. With a cassette you can omit them. */
  readonly connection?: ConnectionValues
  /**
   * The time at which the asks are made, in milliseconds; by default the time when the cassette was recorded, or
   * otherwise the current time.
   */
  readonly now?: number
  /** The prefix of the idempotency keys; `contract` by default. Change it to make the asks new to the carrier. */
  readonly key?: string
  /** The host's lines; by default the standard lines. */
  readonly lines?: ReadonlyArray<Line>
  /** A genuine callback, such as a callback that the carrier's sandbox has sent. */
  readonly callback?: CarrierCallback
}

/** The host's lines. */
export const linesOf = ({ lines }: Options): Lines.LineSet =>
  lines === undefined ? Lines.standard : Lines.linesOf(lines)

/** The subject of a case: one line of an adapter, with one application. */
export interface Subject {
  readonly adapter: CarrierAdapter
  readonly line: Line
  readonly terms: CarrierLine
  readonly assumed: Assumed
  /** The facts that the adapter receives. */
  readonly facts: object
  readonly now: number
  readonly options: Options
}

/** The minimum time that a case allows for a collection, in milliseconds. */
const collectionMs = minuteMs

/** Makes a subject. Fails if the carrier would not be asked with these facts. */
export const subjectOf = Effect.fnUntraced(function* (
  adapter: CarrierAdapter,
  name: string,
  sentFacts: unknown,
  options: Options
): Effect.fn.Return<Subject, ContractBroken> {
  const line = linesOf(options).get(name)
  const terms = Object.hasOwn(adapter.lines, name) ? adapter.lines[name] : undefined
  if (line === undefined || terms === undefined) {
    return yield* broken(`The carrier has no such line. Name one of ${Object.keys(adapter.lines).join(", ")}.`)
  }
  const now = yield* Clock.currentTimeMillis
  const assumed = yield* assumedOf(line, sentFacts ?? line.example, dayOf(now))
  if (!terms.states.includes(assumed.state)) {
    return yield* broken(`The carrier does not serve ${assumed.state}. Pass facts from one of its states for ${name}.`)
  }
  const missingFacts = missingOf(assumed, terms.needs)
  yield* expectNone(
    `The facts for ${name} lack facts that the carrier needs. Add them.`,
    missingFacts.map((path) => ({ path, message: "Is missing." }))
  )
  const fields = Object.keys(adapter.connection ?? {}).filter((field) => options.connection?.[field] === undefined)
  yield* expectNone(
    "The carrier needs a connection. Pass its values in the `connection` option.",
    fields.map((field) => ({ path: `connection.${field}`, message: "Is missing." }))
  )
  const facts = disclosed(line, assumed, [...terms.needs, ...(terms.wants ?? [])])
  return { adapter, line, terms, assumed, facts, now, options }
})

const assumedOf = (line: Line, facts: unknown, today: string): Effect.Effect<Assumed, ContractBroken> => {
  const read = line.read(facts, today)
  if (Result.isFailure(read)) {
    const { missing, wrong } = read.failure
    return broken(`The facts for ${line.name} are not valid. Correct them.`, [...wrong, ...missing])
  }
  const assumed = line.complete(read.success.facts, today)
  return assumed === null ? broken(`The facts for ${line.name} are not valid. Correct them.`) : Effect.succeed(assumed)
}

/** The ask that a case makes. Its key is the same in every run, so that it matches the cassette. */
export const askOf = (subject: Subject, name: string, attempt = 1): CarrierAsk => {
  const { adapter, assumed, facts, line, now, options, terms } = subject
  const usual = adapter.environments.includes("sandbox") ? "sandbox" : "live"
  return {
    line: line.name,
    environment: options.environment ?? usual,
    facts,
    assumptions: assumed.assumptions,
    ...(adapter.connection !== undefined && options.connection !== undefined && { connection: options.connection }),
    credit_disclosed: terms.uses_credit,
    idempotency_key: [options.key ?? "contract", line.name, name].join("-"),
    attempt,
    scenario: null,
    requested_at: now,
    asked_at: now,
    now,
    deadline: now + collectionMs
  }
}

/** Reads a reply as the service does. Fails with the rules that the reply or its offers break. */
export const read = (subject: Subject, answer: CarrierReply): Result.Result<CarrierReply, ReadonlyArray<BrokenRule>> =>
  Result.flatMap(AnswerRules.readReply(answer), (decoded) => {
    const brokenRules = brokenIn(subject, decoded)
    return brokenRules.length === 0 ? Result.succeed(decoded) : Result.fail(brokenRules)
  })

const brokenIn = (subject: Subject, answer: CarrierReply): ReadonlyArray<BrokenRule> => {
  if (answer.kind === "pending") return AnswerRules.ofPending(subject.adapter, answer)
  return answer.kind === "offers"
    ? answer.offers.flatMap((offer, index) => brokenOffer(subject, offer, `offers.${index}`))
    : []
}

/** The rules that an offer breaks, with paths that begin with `place`. */
export const brokenOffer = (
  { adapter, assumed, line, now }: Subject,
  offer: Parameters<typeof Offer.check>[0],
  place: string
): ReadonlyArray<BrokenRule> => {
  const checked = Offer.check(offer, {
    line,
    state: assumed.state,
    subject_ids: new Set(assumed.subjects.map(({ subject_id }) => subject_id)),
    handoff_hosts: adapter.handoff_hosts,
    secrets: SecretFinder.none,
    now
  })
  const brokenRules = Result.isFailure(checked) ? checked.failure : []
  return brokenRules.map(({ path, message }) => ({ path: `${place}.${path}`, message }))
}

/** Asks as the service does, first the adapter's `appetite` and then the carrier. The reply is not checked. */
export const unchecked = Effect.fnUntraced(function* ({ adapter, terms }: Subject, ask: CarrierAsk) {
  const appetite = () => Effect.sync(() => adapter.appetite?.(ask) ?? null)
  const decline: CarrierReply | null = yield* called("appetite", appetite, terms.attempt_timeout_ms)
  return decline ?? (yield* called("ask", () => adapter.ask(ask), terms.attempt_timeout_ms))
})

/** Returns the answer to an ask. Fails if the answer is not a valid reply. */
export const reply = (subject: Subject, ask: CarrierAsk): Effect.Effect<CarrierReply, ContractBroken> =>
  Effect.flatMap(unchecked(subject, ask), (answer) => valid(subject, "ask", answer))

const valid = (subject: Subject, callName: string, answer: CarrierReply) =>
  expectRead(
    `${callName} returned an answer that breaks rules, so none of it would be used. Correct the value at each path.`,
    read(subject, answer)
  )

/** The maximum number of polls after an ask, and the longest wait before each poll. */
const maxPolls = 10
const maxPauseMs = 10_000

/**
 * Returns the final answer to an ask, polling as long as the answer is pending. A `pending` that waits for a callback
 * is treated as final here.
 */
export const polled = Effect.fnUntraced(function* (subject: Subject, ask: CarrierAsk) {
  const { adapter, terms } = subject
  const { poll } = adapter
  let answer = yield* reply(subject, ask)
  for (let polls = 0; answer.kind === "pending" && answer.poll_after_ms !== null && poll !== undefined; polls++) {
    if (polls === maxPolls) {
      return yield* broken(
        `poll still returns pending after ${maxPolls} polls. Test with a carrier that answers sooner.`
      )
    }
    const { poll_after_ms, ref } = answer
    yield* Effect.sleep(Math.min(maxPauseMs, Math.max(0, poll_after_ms)))
    const now = yield* Clock.currentTimeMillis
    const next = yield* called("poll", () => poll({ ...ask, now }, ref), terms.attempt_timeout_ms)
    answer = yield* valid(subject, "poll", next)
  }
  return answer
})

/** The values of facts that identify a person, as the adapter receives them. */
export const personalOf = ({ facts, line }: Subject): ReadonlyArray<string> =>
  line.identifying_paths
    .flatMap((path) => valuesAt(facts, path.split(".")))
    .filter((value) => value.length >= minPersonalCharacters)

/** Shorter values are ignored, because they occur in other texts by chance. */
const minPersonalCharacters = 3

const valuesAt = (value: unknown, [name, ...rest]: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (name === undefined) return typeof value === "string" ? [value] : []
  if (name === "*") return Array.isArray(value) ? value.flatMap((item: unknown) => valuesAt(item, rest)) : []
  return Predicate.hasProperty(value, name) ? valuesAt(value[name], rest) : []
}

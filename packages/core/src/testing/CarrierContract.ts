import { Cause, Effect, Exit, Fiber, Logger, References, Schema } from "effect"
import * as AdapterRules from "../carriers/AdapterRules.ts"
import type { CarrierAdapter, CarrierReply, ConnectionValues } from "../carriers/Carrier.ts"
import { CarrierTransport } from "../carriers/CarrierTransport.ts"
import { AnyObject, checker } from "../wire/Argument.ts"
import { canonical } from "../wire/Json.ts"
import { toMillis } from "../wire/Timestamp.ts"
import * as Cassette from "./Cassette.ts"
import * as callbacks from "./carrier/callbacks.ts"
import {
  beside,
  broken,
  type Case,
  type ContractBroken,
  called,
  expectNone,
  expectRead,
  rule,
  type Stage
} from "./carrier/carrierRule.ts"
import { givesLink, refreshesOffer } from "./carrier/offers.ts"
import { reached } from "./carrier/reached.ts"
import { answersRepeat } from "./carrier/repeats.ts"
import * as Subject from "./carrier/subject.ts"
import { passing } from "./carrier/time.ts"
import { silence, type TransportTrouble, troubles } from "./carrier/transports.ts"
import { offersForOtherFacts } from "./carrier/variations.ts"
import { soon } from "./storage/expect.ts"

export { type AskedSubject as Asked, ask } from "./carrier/asking.ts"
export { type Case, ContractBroken } from "./carrier/carrierRule.ts"
export type { FactsByLine, Options } from "./carrier/subject.ts"

const checked = checker(
  "CarrierContract.cases",
  Schema.Struct({ adapter: Schema.Struct({ lines: AnyObject }), facts: AnyObject, options: AnyObject })
)

/**
 * The contract for carriers: the rules that every adapter must follow, for each of its lines.
 *
 * `facts` are applications as a caller sends them; for a line without facts, the line's example is used. If the adapter
 * wants facts that identify a person, such as an e-mail address, include them, so that the contract can check where
 * they end up.
 *
 * With the `cassette` option, nothing is sent. Without `cassette` and `transport`, the cases ask the carrier's sandbox
 * over the network. Run the cases in order, because a cassette answers in recorded order. Waiting takes no real time
 * unless the network was used. No test runner is needed: if a rule is broken, `run` rejects with a `ContractBroken`
 * whose message says what to do.
 *
 * Throws an `InvalidCassette` if the cassette is invalid.
 *
 * @example
 * for (const { name, run } of CarrierContract.cases(acme, { renters: facts }, { cassette })) {
 *   test(name, run)
 * }
 */
export const cases = (
  adapter: CarrierAdapter,
  facts: Subject.FactsByLine = {},
  subjectOptions: Subject.Options = {}
): ReadonlyArray<Case> => {
  checked({ adapter, facts, options: subjectOptions })
  const cassette = subjectOptions.cassette === undefined ? null : Cassette.parse(subjectOptions.cassette)
  const options =
    cassette === null
      ? subjectOptions
      : { ...subjectOptions, connection: connectionOf(adapter, cassette, subjectOptions.connection) }
  const stage = stageOf(adapter, cassette, options)
  const lines = Subject.linesOf(options)
  return [
    rule(stage, "declares itself correctly", () =>
      expectNone(
        "The adapter has invalid declarations. Correct the value at each path.",
        AdapterRules.check(adapter, lines)
      )
    ),
    ...Object.keys(adapter.lines)
      .filter((name) => lines.has(name))
      .flatMap((name) => casesOfLine({ stage, adapter, facts, options, cassette }, name)),
    ...callbacks.cases(stage, adapter, options)
  ]
}

/**
 * Makes a case with one ask for a line, answered from a cassette in simulated time. The case fails if the cassette
 * lacks a response, or contains a response that the adapter cannot read.
 *
 * @example
 * yield* CarrierContract.replay(acme, "renters", facts, { cassette }).effect
 */
export const replay = (
  adapter: CarrierAdapter,
  line: string,
  facts: unknown,
  cassetteOptions: Subject.Options & { readonly cassette: unknown }
): Case => {
  const cassette = Cassette.parse(cassetteOptions.cassette)
  const options = { ...cassetteOptions, connection: connectionOf(adapter, cassette, cassetteOptions.connection) }
  return rule(stageOf(adapter, cassette, options), `${line}: answers an ask from the cassette`, () =>
    Effect.flatMap(Subject.subjectOf(adapter, line, facts, options), (subject) =>
      passing(Effect.asVoid(reached(Subject.polled(subject, Subject.askOf(subject, "ask")))))
    )
  )
}

/**
 * The connection values for a replay: the values that you passed, otherwise the recorded values, otherwise stand-ins.
 */
const connectionOf = (
  { connection: declared = {} }: CarrierAdapter,
  { connection: recorded = {} }: Cassette.Cassette,
  connection: Subject.Options["connection"]
): ConnectionValues => ({
  ...Object.fromEntries(Object.keys(declared).map((field) => [field, recorded[field] ?? "stand-in"])),
  ...connection
})

const stageOf = (
  adapter: CarrierAdapter,
  cassette: Cassette.Cassette | null,
  { connection, now, transport }: Subject.Options
): Stage => {
  if (cassette === null) return { now: now ?? null, standIn: transport ?? null, missing: [] }
  const replayed = Cassette.replay(cassette, adapter, connection)
  return { now: now ?? toMillis(cassette.recorded_at), standIn: replayed.transport, missing: replayed.missing }
}

/** An adapter under test, and the stage, the facts and the options for its cases. */
interface Trial {
  readonly stage: Stage
  readonly adapter: CarrierAdapter
  readonly facts: Subject.FactsByLine
  readonly options: Subject.Options
  readonly cassette: Cassette.Cassette | null
}

const casesOfLine = ({ adapter, cassette, facts, options, stage }: Trial, name: string): ReadonlyArray<Case> => {
  const lineFacts = new Map<string, unknown>(Object.entries(facts)).get(name)
  const ofLine = (title: string, body: (subject: Subject.Subject) => Effect.Effect<void, ContractBroken>): Case =>
    rule(stage, `${name}: ${title}`, () => Effect.flatMap(Subject.subjectOf(adapter, name, lineFacts, options), body))
  const { handoff, refresh } = adapter
  const isIdempotent = adapter.lines[name]?.idempotent === true
  return [
    ofLine("answers an ask in time, with a valid reply", answersAsk),
    ofLine("answers with a valid reply for other facts", (subject) =>
      offersForOtherFacts(cassette)(subject, lineFacts)
    ),
    ...(adapter.poll === undefined ? [] : [ofLine("answers polls, with a valid reply", answersPolls)]),
    ...(isIdempotent ? [ofLine("gives a repeated ask the same answer", answersRepeat)] : []),
    ...(refresh === undefined ? [] : [ofLine("refreshes an offer, with a valid answer", refreshesOffer(refresh))]),
    ...(handoff === undefined ? [] : [ofLine("gives a valid link to an offer", givesLink(handoff))]),
    ofLine("stops when it is aborted", ends),
    ofLine("answers when the carrier fails", answersTrouble),
    ofLine("keeps personal facts out of its logs, errors and messages", keepsFacts)
  ]
}

const answersAsk = (subject: Subject.Subject) =>
  passing(Effect.asVoid(reached(Subject.reply(subject, Subject.askOf(subject, "answer")))))

const answersPolls = (subject: Subject.Subject) =>
  passing(Effect.asVoid(reached(Subject.polled(subject, Subject.askOf(subject, "poll")))))

/** Checks that an aborted ask ends, even if the carrier never answers. */
const ends = Effect.fnUntraced(function* (subject: Subject.Subject) {
  const { count, transport } = silence()
  const asking = Effect.suspend(() => subject.adapter.ask(Subject.askOf(subject, "abort")))
  // Detached, so that an ask that does not end cannot block the case.
  const fiber = yield* Effect.forkDetach(Effect.provideService(asking, CarrierTransport, transport))
  const hasEnded = () => fiber.pollUnsafe() !== undefined
  yield* passing(soon(() => count.begun > 0 || hasEnded()))
  yield* Effect.forkDetach(Fiber.interrupt(fiber))
  if (!(yield* soon(hasEnded))) {
    return yield* broken("ask keeps running after it is aborted. Do not make it uninterruptible.")
  }
  if (!(yield* soon(() => count.open === 0))) {
    return yield* broken(
      "ask returned, but one of its requests is still running. Pass the abort signal to every call that waits."
    )
  }
  const { begun } = count
  yield* passing(Effect.sleep(afterEndMs))
  if (count.begun > begun)
    yield* broken("ask returned, but then sent another request. Stop all work when ask is aborted.")
})

/** How long the contract watches for more requests after an ask has ended, in milliseconds. */
const afterEndMs = 10_000

const inTrouble = (subject: Subject.Subject, { transport }: TransportTrouble) =>
  Effect.provideService(
    Effect.suspend(() => subject.adapter.ask(Subject.askOf(subject, "trouble"))),
    CarrierTransport,
    transport
  )

const answersTrouble = (subject: Subject.Subject) =>
  Effect.forEach(
    troubles,
    Effect.fnUntraced(function* (trouble) {
      const ruleName = `If the carrier ${trouble.name}, ask`
      const reply = yield* called(ruleName, () => inTrouble(subject, trouble), subject.terms.attempt_timeout_ms)
      yield* expectRead(`${ruleName} returned an invalid reply.`, Subject.read(subject, reply))
    }),
    { concurrency: "unbounded", discard: true }
    // The contract causes these failures on purpose, so they need not be logged.
  ).pipe(Effect.provideService(References.CurrentLoggers, new Set()), passing)

const keepsFacts = Effect.fnUntraced(function* (subject: Subject.Subject) {
  const personal = Subject.personalOf(subject)
  const ask = Effect.suspend(() => subject.adapter.ask(Subject.askOf(subject, "privacy")))
  const calls = [
    { when: "", call: ask },
    ...troubles.map((trouble) => ({
      when: ` if the carrier ${trouble.name}`,
      call: inTrouble(subject, trouble)
    }))
  ]
  yield* Effect.forEach(
    calls,
    Effect.fnUntraced(function* ({ call, when }) {
      const messages = yield* saidBy(call, subject.terms.attempt_timeout_ms)
      for (const [place, text] of Object.entries(messages)) {
        if (!personal.some((value) => text.includes(value) || text.includes(encodeURIComponent(value)))) continue
        yield* broken(`A fact that identifies the person is in ${place}${when}. Leave it out.`)
      }
    }),
    { concurrency: "unbounded", discard: true }
  ).pipe(passing)
})

/** The maximum number of log entries to search. */
const maxLogLines = 1_000

/** Collects everything that a call reveals to parties other than the carrier. */
const saidBy = Effect.fnUntraced(function* (call: Effect.Effect<CarrierReply>, timeoutMs: number) {
  const lines: Array<string> = []
  const logger = Logger.make(({ cause, fiber, message }) => {
    const annotations = canonical(fiber.getRef(References.CurrentLogAnnotations))
    if (lines.length < maxLogLines) lines.push(`${canonical(message)} ${Cause.pretty(cause)} ${annotations}`)
  })
  const exit = yield* beside(call).pipe(
    Effect.provideService(References.CurrentLoggers, new Set([logger])),
    Effect.timeoutOption(timeoutMs),
    Effect.exit
  )
  const reply = Exit.isSuccess(exit) ? exit.value : null
  return {
    "the log": lines.join("\n"),
    "what ask throws": Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "",
    "the reply's texts for the person": reply?._tag === "Some" ? textsOf(reply.value) : ""
  }
})

/** The texts in a reply that are shown or stored verbatim. */
const textsOf = (reply: CarrierReply): string => {
  switch (reply.kind) {
    case "declined":
      return reply.message ?? ""
    case "question":
      return canonical(reply.questions)
    default:
      return ""
  }
}

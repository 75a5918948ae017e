import { Cause, Effect, Exit, Fiber, Logger, References } from "effect"
import * as AdapterRules from "../carriers/AdapterRules.ts"
import type { BrokenRule } from "../carriers/BrokenRule.ts"
import type { CarrierAdapter, CarrierReply } from "../carriers/Carrier.ts"
import { CarrierTransport } from "../carriers/CarrierTransport.ts"
import { LineName } from "../lines/standard.ts"
import { canonical } from "../wire/Json.ts"
import * as callbacks from "./carrier/callbacks.ts"
import { broken, type Case, type ContractBroken, called, expectNone, rule } from "./carrier/rule.ts"
import * as Subject from "./carrier/subject.ts"
import { silence, type Trouble, troubles } from "./carrier/transports.ts"
import { soon } from "./storage/expect.ts"

export { type Case, ContractBroken } from "./carrier/rule.ts"
export type { FactsByLine, Options } from "./carrier/subject.ts"

/**
 * The contract of carriers: the rules that every adapter must keep, for each of its lines.
 *
 * `facts` are applications as a caller sends them; a line without one gets its example. Give facts that identify a person if the
 * adapter wants them, such as an e-mail, so that the contract can see where they appear.
 *
 * The cases ask the carrier through `CarrierTransport`: its sandbox, or a `Cassette`. They need no test runner, and they take
 * time from the `Clock`. A broken rule fails with `ContractBroken`, whose message says what to do.
 *
 * @example
 * for (const { name, run } of CarrierContract.cases(acme, { renters: facts })) {
 *   it.live(name, () => run)
 * }
 */
export const cases = (
  adapter: CarrierAdapter,
  facts: Subject.FactsByLine = {},
  options: Subject.Options = {}
): ReadonlyArray<Case> => [
  rule("declares itself correctly", () =>
    expectNone(
      "The adapter's declarations have mistakes. Correct what stands at each path.",
      AdapterRules.check(adapter)
    )
  ),
  ...Object.keys(adapter.lines)
    .filter((name) => LineName.literals.some((known) => known === name))
    .flatMap((name) => casesOfLine(adapter, name, facts, options)),
  ...callbacks.cases(adapter, options)
]

/** What an adapter answers to one ask, and the rules that its reply breaks. */
export interface Asked {
  readonly reply: CarrierReply
  readonly broken_rules: ReadonlyArray<BrokenRule>
}

/** Asks a carrier once, as the engine does, without polls. Fails if the facts do not suit it, or if it throws or is late. */
export const ask = Effect.fnUntraced(function* (
  adapter: CarrierAdapter,
  line: string,
  facts: unknown,
  options: Subject.Options = {}
): Effect.fn.Return<Asked, ContractBroken> {
  const subject = yield* Subject.subjectOf(adapter, line, facts, options)
  const reply = yield* Subject.unchecked(subject, Subject.askOf(subject, "ask"))
  return { reply, broken_rules: Subject.brokenIn(subject, reply) }
})

const casesOfLine = (
  adapter: CarrierAdapter,
  name: string,
  facts: Subject.FactsByLine,
  options: Subject.Options
): ReadonlyArray<Case> => {
  const sent = new Map<string, unknown>(Object.entries(facts)).get(name)
  const ofLine = (title: string, body: (subject: Subject.Subject) => Effect.Effect<void, ContractBroken>): Case =>
    rule(`${name}: ${title}`, () => Effect.flatMap(Subject.subjectOf(adapter, name, sent, options), body))
  const isIdempotent = adapter.lines[name]?.idempotent === true
  return [
    ofLine("answers an ask in time, with a valid reply", answersAsk),
    ...(adapter.poll === undefined ? [] : [ofLine("answers polls, with a valid reply", answersPolls)]),
    ...(isIdempotent ? [ofLine("gives a repeated ask the same answer", answersRepeat)] : []),
    ofLine("ends when it is aborted", ends),
    ofLine("answers when the carrier fails", answersTrouble),
    ofLine("keeps personal facts out of its logs, errors and messages", keepsFacts)
  ]
}

const answersAsk = (subject: Subject.Subject) => Effect.asVoid(Subject.reply(subject, Subject.askOf(subject, "answer")))

const answersPolls = (subject: Subject.Subject) =>
  Effect.asVoid(Subject.polled(subject, Subject.askOf(subject, "poll")))

const answersRepeat = Effect.fnUntraced(function* (subject: Subject.Subject) {
  const first = yield* Subject.reply(subject, Subject.askOf(subject, "repeat"))
  const second = yield* Subject.reply(subject, Subject.askOf(subject, "repeat", 2))
  if (canonical(essence(first)) === canonical(essence(second))) return
  yield* broken(
    "Two asks with the same idempotency_key got different answers. Send the key to the carrier, or set idempotent to false."
  )
})

/** What must not change when an ask is repeated. Times and links may. */
const essence = (reply: CarrierReply): unknown => {
  switch (reply.kind) {
    case "offers":
      return reply.offers.map(({ offer_ref, premium, term_months }) => ({ offer_ref, premium, term_months }))
    case "pending":
      return { ref: reply.ref }
    default:
      return reply
  }
}

/** Aborts an ask to a carrier that never answers. */
const ends = Effect.fnUntraced(function* (subject: Subject.Subject) {
  const { count, transport } = silence()
  const asked = Effect.suspend(() => subject.adapter.ask(Subject.askOf(subject, "abort")))
  // Detached, because an ask that does not end must not hold the contract up.
  const fiber = yield* Effect.forkDetach(Effect.provideService(asked, CarrierTransport, transport))
  const hasEnded = () => fiber.pollUnsafe() !== undefined
  yield* soon(() => count.begun > 0 || hasEnded())
  yield* Effect.forkDetach(Fiber.interrupt(fiber))
  if (!(yield* soon(hasEnded))) {
    return yield* broken("ask does not end when it is aborted. Do not make it uninterruptible.")
  }
  if (!(yield* soon(() => count.open === 0))) {
    yield* broken("ask has ended, but a request of it goes on. Pass its signal on to everything that waits.")
  }
})

const inTrouble = (subject: Subject.Subject, { transport }: Trouble) =>
  Effect.provideService(
    Effect.suspend(() => subject.adapter.ask(Subject.askOf(subject, "trouble"))),
    CarrierTransport,
    transport
  )

const answersTrouble = (subject: Subject.Subject) =>
  Effect.forEach(
    troubles,
    Effect.fnUntraced(function* (trouble) {
      const what = `If the carrier ${trouble.name}, ask`
      const reply = yield* called(what, () => inTrouble(subject, trouble), subject.terms.attempt_timeout_ms)
      yield* expectNone(`${what} returns what is no valid reply.`, Subject.brokenIn(subject, reply))
    }),
    { concurrency: "unbounded", discard: true }
  )

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
      const said = yield* saidBy(call, subject.terms.attempt_timeout_ms)
      for (const [where, text] of Object.entries(said)) {
        if (!personal.some((value) => text.includes(value))) continue
        yield* broken(`A fact that identifies the person is in ${where}${when}. Leave it out.`)
      }
    }),
    { concurrency: "unbounded", discard: true }
  )
})

/** Everything that a call says to others than the carrier. */
const saidBy = Effect.fnUntraced(function* (call: Effect.Effect<CarrierReply>, timeout_ms: number) {
  const lines: Array<string> = []
  const logger = Logger.make(({ cause, fiber, message }) => {
    const annotations = canonical(fiber.getRef(References.CurrentLogAnnotations))
    lines.push(`${canonical(message)} ${Cause.pretty(cause)} ${annotations}`)
  })
  const exit = yield* call.pipe(
    Effect.provideService(References.CurrentLoggers, new Set([logger])),
    Effect.timeoutOption(timeout_ms),
    Effect.exit
  )
  const reply = Exit.isSuccess(exit) ? exit.value : null
  return {
    "the log": lines.join("\n"),
    "what ask throws": Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "",
    "the reply's texts for the person": reply?._tag === "Some" ? textsOf(reply.value) : ""
  }
})

/** The texts of a reply that are shown or stored as they are. */
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

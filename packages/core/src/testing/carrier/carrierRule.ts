import { Cause, Data, Effect, Fiber, Result } from "effect"
import type { HttpClient } from "effect/http"
import { CarrierHttpMistake } from "../../carriers/http/CarrierHttpError.ts"
import * as Tokens from "../../carriers/http/CarrierTokens.ts"
import * as Fault from "../../concurrency/Fault.ts"
import { type BrokenRule, ruleText } from "../../wire/BrokenRule.ts"
import { NotOnCassette } from "../Cassette.ts"
import * as Time from "./time.ts"

/** An adapter breaks a rule of the contract. The message says what to do, and repeats neither facts nor secrets. */
export class ContractBroken extends Data.TaggedError("ContractBroken")<{
  /** The rules that an answer breaks, each with its path. */
  readonly broken_rules: ReadonlyArray<BrokenRule>
  readonly message: string
}> {}

/** A rule of the contract, and the program that checks it. */
export interface Case {
  readonly name: string
  /** Rejects with a `ContractBroken` if the rule is broken. */
  readonly run: () => Promise<void>
  /** The same check as an Effect. It sends requests through the `CarrierTransport` of the fiber that runs it. */
  readonly effect: Effect.Effect<void, ContractBroken>
}

/** The clock and the transport that the cases of a contract share. */
export interface Stage {
  /** The time at which each case begins, in milliseconds; null for the current time. */
  readonly now: number | null
  /** The transport that stands in for the carrier; null if the network is used. */
  readonly standIn: HttpClient.HttpClient | null
  /** The requests that the stand-in could not answer. */
  readonly missing: ReadonlyArray<NotOnCassette>
}

/** Makes a case. Each case has its own token store, so that a stand-in token is never sent to a real carrier. */
export const rule = (stage: Stage, name: string, body: () => Effect.Effect<void, ContractBroken>): Case => {
  const effect = Effect.gen(function* () {
    const tokens = yield* Tokens.make
    const missed = stage.missing.length
    const missingAnswer = Effect.suspend(() => {
      const first = stage.missing[missed]
      return first === undefined ? Effect.void : broken(first.message)
    })
    // Look at the missing requests even after a failure, because the adapter may have caught the error, or broken
    // another rule because of the error.
    const checked = Effect.matchEffect(Effect.suspend(body), {
      onFailure: (error) => Effect.andThen(missingAnswer, Effect.fail(error)),
      onSuccess: () => missingAnswer
    })
    yield* Time.withOwnTime(Effect.provideService(checked, Tokens.CarrierTokens, tokens), stage)
  })
  return { name, effect, run: () => Effect.runPromise(effect) }
}

/** Fails with a sentence, and with each broken rule on its own line. */
export const broken = (
  sentence: string,
  broken_rules: ReadonlyArray<BrokenRule> = []
): Effect.Effect<never, ContractBroken> => {
  const lines = broken_rules.map((brokenRule) => `- ${ruleText(brokenRule)}`)
  return Effect.fail(new ContractBroken({ broken_rules, message: [sentence, ...lines].join("\n") }))
}

/** Fails if rules are broken. */
export const expectNone = (
  sentence: string,
  brokenRules: ReadonlyArray<BrokenRule>
): Effect.Effect<void, ContractBroken> => (brokenRules.length === 0 ? Effect.void : broken(sentence, brokenRules))

/** Returns the decoded answer. If the answer could not be read, fails with the rules that it breaks. */
export const expectRead = <A>(
  sentence: string,
  read: Result.Result<A, ReadonlyArray<BrokenRule>>
): Effect.Effect<A, ContractBroken> =>
  Result.match(read, {
    onSuccess: (answer): Effect.Effect<A, ContractBroken> => Effect.succeed(answer),
    onFailure: (brokenRules) => broken(sentence, brokenRules)
  })

/** Runs an adapter's code in a separate fiber, so that code that ignores interruption does not block the case. */
export const beside = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.flatMap(Effect.forkDetach(call), (fiber) =>
    Effect.ensuring(Fiber.join(fiber), Effect.forkDetach(Fiber.interrupt(fiber)))
  )

/** Calls a function of an adapter. Fails if it throws or takes too long. */
export const called = <A>(
  subject: string,
  call: () => Effect.Effect<A>,
  timeoutMs: number
): Effect.Effect<A, ContractBroken> =>
  beside(Effect.suspend(call)).pipe(
    Effect.catchCause((cause) => thrown(subject, cause)),
    Effect.timeoutOrElse({
      duration: timeoutMs,
      orElse: () =>
        broken(
          `${subject} did not answer within ${timeoutMs} ms. Answer sooner, raise attempt_timeout_ms, or return Reply.pending.`
        )
    })
  )

const thrown = (subject: string, cause: Cause.Cause<unknown>): Effect.Effect<never, ContractBroken> => {
  const error = Cause.squash(cause)
  if (error instanceof NotOnCassette) return broken(error.message)
  if (error instanceof CarrierHttpMistake) return broken(`${subject} misuses its HTTP client: ${error.message}`)
  return broken(
    `${subject} throws ${Fault.classOf(error)}${placeOf(error)}. Return failures as values: Reply.decline, Reply.unavailable, or null from callback.`
  )
}

/** Where an error was thrown, as ` at file:line:column`. Empty if this is unknown. */
const placeOf = (error: unknown): string => {
  const [, place] = /\n\s+(at .+)/.exec(Fault.redacted(error).stack ?? "") ?? []
  return place === undefined ? "" : ` ${place}`
}

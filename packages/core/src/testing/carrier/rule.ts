import { Cause, Data, Effect } from "effect"
import type { BrokenRule } from "../../carriers/BrokenRule.ts"
import * as Tokens from "../../carriers/http/Tokens.ts"
import * as Fault from "../../concurrency/Fault.ts"
import { NotOnTape } from "../Cassette.ts"

/** An adapter breaks a rule of the contract. The message says what to do, and repeats neither a fact nor a secret. */
export class ContractBroken extends Data.TaggedError("ContractBroken")<{
  /** The rules that an answer breaks, by their paths in it. */
  readonly broken_rules: ReadonlyArray<BrokenRule>
  readonly message: string
}> {}

/** One rule of the contract, and the program that checks it. It uses the `CarrierTransport` of the fiber that runs it. */
export interface Case {
  readonly name: string
  readonly run: Effect.Effect<void, ContractBroken>
}

/** Makes a case. It gets tokens of its own, so that none of a stand-in is used for a real carrier. */
export const rule = (name: string, body: () => Effect.Effect<void, ContractBroken>): Case => ({
  name,
  run: Effect.flatMap(Tokens.make, (tokens) =>
    Effect.provideService(Effect.suspend(body), Tokens.CarrierTokens, tokens)
  )
})

/** Fails with a sentence, and the broken rules on lines of their own. */
export const broken = (
  sentence: string,
  broken_rules: ReadonlyArray<BrokenRule> = []
): Effect.Effect<never, ContractBroken> => {
  const lines = broken_rules.map(({ path, message }) => (path === "" ? `- ${message}` : `- ${path}: ${message}`))
  return Effect.fail(new ContractBroken({ broken_rules, message: [sentence, ...lines].join("\n") }))
}

/** Fails unless there are no broken rules. */
export const expectNone = (
  sentence: string,
  broken_rules: ReadonlyArray<BrokenRule>
): Effect.Effect<void, ContractBroken> => (broken_rules.length === 0 ? Effect.void : broken(sentence, broken_rules))

/** Calls a function of an adapter. It must return a value, in time. */
export const called = <A>(
  what: string,
  call: () => Effect.Effect<A>,
  timeout_ms: number
): Effect.Effect<A, ContractBroken> =>
  Effect.suspend(call).pipe(
    Effect.catchCause((cause) => thrown(what, cause)),
    Effect.timeoutOrElse({
      duration: timeout_ms,
      orElse: () =>
        broken(
          `${what} gave no answer within ${timeout_ms} ms, its attempt_timeout_ms. Answer sooner, raise attempt_timeout_ms, or return Reply.pending.`
        )
    })
  )

const thrown = (what: string, cause: Cause.Cause<unknown>): Effect.Effect<never, ContractBroken> => {
  const error = Cause.squash(cause)
  if (error instanceof NotOnTape) return broken(error.message)
  return broken(
    `${what} throws ${Fault.classOf(error)}${placeOf(error)}. Return failures as values: Reply.decline, Reply.unavailable, or null from callback.`
  )
}

/** Where an error was thrown: ` at file:line:column`. Empty if that is not known. */
const placeOf = (error: unknown): string => {
  const [, place] = /\n\s+(at .+)/.exec(Fault.redacted(error).stack ?? "") ?? []
  return place === undefined ? "" : ` ${place}`
}

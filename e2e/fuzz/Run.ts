import { Effect } from "effect"
import fc from "fast-check"
import { type Case, cases } from "./Cases.ts"
import * as Host from "./Host.ts"
import * as Judge from "./Judge.ts"

/** The findings of a run. */
export interface Found {
  readonly seed: number
  readonly requests: number
  /** How many times each status was returned, by `operation status`. */
  readonly tally: ReadonlyMap<string, number>
  /** The smallest failing case, and what is wrong with its response; null if none failed. */
  readonly failure: { readonly smallest: Case | undefined; readonly problems: string } | null
}

/** Sends this number of requests to its own host over HTTP: the same requests for the same seed. */
export const run = (options: { readonly seed: number; readonly requests: number }): Effect.Effect<Found> =>
  Effect.gen(function* () {
    const target = yield* Host.start
    const judge = Judge.make(target)
    yield* Effect.addFinalizer(() => Effect.promise(judge.close))
    const property = fc.asyncProperty(cases(target.document), async (one) => {
      const problems = await judge.problemsOf(one)
      if (problems.length > 0) throw new Error(problems.join("\n"))
    })
    const details = yield* Effect.promise(() => fc.check(property, { seed: options.seed, numRuns: options.requests }))
    return {
      seed: options.seed,
      requests: Array.from(judge.tally.values()).reduce((sum, count) => sum + count, 0),
      tally: judge.tally,
      failure: details.failed
        ? { smallest: details.counterexample?.[0], problems: messageOf(details.errorInstance) }
        : null
    }
  }).pipe(Effect.scoped, Effect.orDie)

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** A readable failure: how to reproduce it, the smallest case, and what is wrong. */
export const explain = ({ seed, failure }: Found): string =>
  failure === null
    ? ""
    : [
        `npm run fuzz -- --seed ${seed}`,
        JSON.stringify(failure.smallest, (_, value) => shortened(value), 2),
        failure.problems.slice(0, 4_000)
      ].join("\n")

const shortened = (value: unknown): unknown =>
  typeof value === "string" && value.length > 500 ? `${value.slice(0, 500)}… (${value.length} characters)` : value

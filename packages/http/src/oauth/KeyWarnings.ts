import { Clock, Effect } from "effect"

/**
 * The reasons why an issuer's keys do not verify a token, each with its log message and what the operator must check.
 */
const problems = {
  not_loaded: {
    text: "The keys of the OAuth issuer could not be loaded",
    check: "Check that this host can reach the issuer, and that issuer and jwks_url are correct."
  },
  not_published: {
    text: "An access token is signed with a key that the OAuth issuer does not publish",
    check:
      "Check that the issuer publishes an RSA, EC or OKP key with this kid for this algorithm, and that issuer and jwks_url are correct."
  },
  several_fit: {
    text: "Several keys of the OAuth issuer match an access token, so the token is refused",
    check: "Check that the issuer's access tokens have a kid, and that every published key has a different kid."
  },
  not_usable: {
    text: "A key of the OAuth issuer cannot be used",
    check: "Check that the published key is complete and long enough."
  }
} as const

/** The name of a reason why an issuer's keys do not verify a token. */
export type Problem = keyof typeof problems

/**
 * Logs a problem with an issuer's keys. Each problem is logged at most once a minute, however many tokens callers send.
 */
export type WarnOfKeys = (problem: Problem, details: Readonly<Record<string, string>>) => Effect.Effect<void>

const quietMs = 60_000

/** Creates the function that logs problems with an issuer's keys. */
export const make = (issuer: string): WarnOfKeys => {
  const loggedAt = new Map<Problem, number>()
  return Effect.fnUntraced(function* (problem, details) {
    const now = yield* Clock.currentTimeMillis
    if (now < (loggedAt.get(problem) ?? Number.NEGATIVE_INFINITY) + quietMs) return
    loggedAt.set(problem, now)
    const { check, text } = problems[problem]
    yield* Effect.annotateLogs(Effect.logWarning(text), { issuer, ...details, check })
  })
}

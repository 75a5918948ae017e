import { ApiError } from "@quotewire/core"
import { Clock, Data, Effect, Predicate, Result } from "effect"
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from "jose"
import * as IssuerKeys from "./IssuerKeys.ts"
import * as KeyWarnings from "./KeyWarnings.ts"
import type { OAuthSettings } from "./OAuthOptions.ts"

/** How much the issuer's and this host's clocks may differ, in milliseconds. */
const leewayMs = 30_000
/** The maximum length of a token, in characters. */
const maxCharacters = 8_192

/** A valid token's claims, and the keys that verified it. */
export interface VerifiedToken {
  readonly payload: JWTPayload
  /** When the token expires, in milliseconds, including the leeway for clock differences. */
  readonly expires_at: number
  readonly set: IssuerKeys.KeySet
}

/** Verifies an issuer's tokens for one audience. */
export interface TokenVerifier {
  /**
   * Verifies a token. Fails with `authentication_failed` if the token is not valid here, and with `service_unavailable`
   * if the issuer's keys are not available now.
   */
  readonly verify: (
    token: string
  ) => Effect.Effect<
    VerifiedToken,
    ApiError.ApiError<"authentication_failed"> | ApiError.ApiError<"service_unavailable">
  >
  /** The last loaded keys; null if no keys have been loaded yet. */
  readonly last: () => IssuerKeys.KeySet | null
}

/** Whether a text has the form of a JWT. API keys contain no dots. */
export const isLikeJwt = (text: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text)

/** Creates the verification for one audience. */
export const make = (
  settings: Pick<OAuthSettings, "issuer" | "algorithms" | "jwks_url">,
  audience: string
): TokenVerifier => {
  const warn = KeyWarnings.make(settings.issuer)
  const keys = IssuerKeys.make(settings, warn)

  const unknownKey = (token: string) =>
    Effect.andThen(
      warn("not_published", headerOf(token)),
      invalid("The access token is signed with a key that its issuer does not publish.")
    )

  const verify = Effect.fnUntraced(function* (token: string) {
    if (token.length > maxCharacters) return yield* invalid("The access token is too long.")
    const now = yield* Clock.currentTimeMillis
    const current = yield* Effect.mapError(keys.current, ({ retry_after_seconds }) =>
      ApiError.make("service_unavailable", { retry_after_seconds })
    )
    const attempt = (set: IssuerKeys.KeySet) =>
      Effect.catchTag(verifyWith(set, token, { ...settings, audience }, now), "Unverified", ({ thrown }) =>
        refusalOf(token, thrown, warn)
      )
    return yield* Effect.catchTag(attempt(current), "UnknownKey", () =>
      Effect.flatMap(keys.newerThan(current), (newerKeys) =>
        newerKeys === current ? Effect.fail(new UnknownKey()) : attempt(newerKeys)
      )
    ).pipe(Effect.catchTag("UnknownKey", () => unknownKey(token)))
  })

  return { verify, last: keys.last }
}

const invalid = (message: string) => Effect.fail(ApiError.make("authentication_failed", { message }))

/** The key set does not contain the token's key. */
class UnknownKey extends Data.TaggedError("UnknownKey") {}

/** The JWT library rejected a token. */
class Unverified extends Data.TaggedError("Unverified")<{ readonly thrown: unknown }> {}

/** The key and algorithm in a token's header, for the log. A caller can write anything there. */
const headerOf = (token: string): { readonly kid: string; readonly alg: string } => {
  const { alg, kid } = decodeProtectedHeader(token)
  return { kid: loggable(kid), alg: loggable(alg) }
}

const loggable = (text: unknown): string => {
  if (!Predicate.isString(text)) return "none"
  return /^[\x20-\x7e]{1,100}$/.test(text) ? text : "not 1 to 100 printable characters"
}

/** Verifies a token's signature, issuer, audience and times with a set of keys. */
const verifyWith = (
  set: IssuerKeys.KeySet,
  token: string,
  { algorithms, audience, issuer }: Pick<OAuthSettings, "issuer" | "algorithms"> & { readonly audience: string },
  now: number
) =>
  Effect.tryPromise({
    try: () =>
      jwtVerify(token, set.find, {
        algorithms: [...algorithms],
        audience,
        issuer,
        clockTolerance: leewayMs / 1_000,
        currentDate: new Date(now),
        requiredClaims: ["exp", "sub"]
      }),
    catch: (thrown) => new Unverified({ thrown })
  }).pipe(
    Effect.filterOrFail(
      // The issuer restricts a token with `cnf` to one client, which must prove that it holds a key. This host does not
      // check such proofs, so it refuses the token.
      ({ payload }) => payload.cnf === undefined,
      () =>
        ApiError.make("authentication_failed", {
          message: "The access token is bound to a client's key, which this host does not support. Use a bearer token."
        })
    ),
    Effect.map(({ payload }) => ({ payload, set, expires_at: (payload.exp ?? 0) * 1_000 + leewayMs }))
  )

const refusalOf = (
  token: string,
  thrown: unknown,
  warn: KeyWarnings.WarnOfKeys
): Effect.Effect<never, UnknownKey | ApiError.ApiError<"authentication_failed">> => {
  if (thrown instanceof errors.JWKSNoMatchingKey) return Effect.fail(new UnknownKey())
  const refused = invalid(reasonOf(thrown))
  if (thrown instanceof errors.JWKSMultipleMatchingKeys) {
    return Effect.andThen(warn("several_fit", headerOf(token)), refused)
  }
  if (thrown instanceof errors.JOSEError) return refused
  // The runtime rejects the issuer's key, for example because an RSA key is too short.
  return Effect.andThen(warn("not_usable", { ...headerOf(token), reason: String(thrown) }), refused)
}

/** Why a token is refused. The reason may name a claim, because the library checks claims only after the signature. */
const reasonOf = (thrown: unknown): string => {
  if (thrown instanceof errors.JWTExpired) return "The access token has expired."
  if (thrown instanceof errors.JWTClaimValidationFailed) return reasons[thrown.claim] ?? notValid
  return notValid
}

const notValid = "The access token is not valid."

const reasons: Readonly<Record<string, string>> = {
  aud: "The access token was issued for another resource.",
  iss: "The access token is from another issuer.",
  nbf: "The access token is not valid yet."
}

/** A token's subject. The library does not check the type of this claim. */
export const subjectOf = ({
  sub
}: Record<string, unknown>): Result.Result<string, ApiError.ApiError<"authentication_failed">> =>
  Predicate.isString(sub) && sub !== ""
    ? Result.succeed(sub)
    : Result.fail(ApiError.make("authentication_failed", { message: "The access token has no subject (sub)." }))

/** A token's scopes, from `scope` (RFC 9068) or from `scp`, which some issuers use. Each may be a string or a list. */
export const scopesOf = ({ scope, scp }: JWTPayload): ReadonlyArray<string> =>
  [scope, scp].flatMap((claim) =>
    Predicate.isString(claim) ? claim.split(" ") : Array.isArray(claim) ? claim.filter(Predicate.isString) : []
  )

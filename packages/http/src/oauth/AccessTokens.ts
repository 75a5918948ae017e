import { ApiError, BoundedMap, type Caller, Ids, Pipeline } from "@quotewire/core"
import { Clock, Data, Effect, Predicate, Schema } from "effect"
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from "jose"
import * as IssuerKeys from "./IssuerKeys.ts"
import * as KeyWarnings from "./KeyWarnings.ts"
import type { OAuthSettings, OrganizationRule, TokenCallerKind } from "./OAuthOptions.ts"

/** How much the clocks of the issuer and this host may differ, in milliseconds. */
const leewayMs = 30_000
/** The longest token that is read. */
const maxCharacters = 8_192
/** How many verified tokens are cached. */
const maxCached = 5_000

/** The token is valid but has none of the scopes that grant access here. */
export class InsufficientScope extends Data.TaggedError("InsufficientScope") {}

/** Identifies the caller by an access token. */
export interface AccessTokens {
  /**
   * Verifies a token and returns its caller. The result is cached in memory until the token expires or the issuer's
   * keys are reloaded.
   *
   * Fails with `authentication_failed` if the token is not valid here, `forbidden` if it names no organization of this
   * host, and `service_unavailable` if the issuer's keys are not available now.
   */
  readonly identify: (
    token: string,
    request: Pipeline.RequestHead
  ) => Effect.Effect<Caller.Caller, ApiError.ApiError | InsufficientScope, Pipeline.PipelineServices>
}

/** Whether text has the form of a JWT. An API key has no dots. */
export const isLikeJwt = (text: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text)

/** A grant, when it expires, and the keys that verified it. */
interface Verified extends Caller.Grant {
  /** When the token expires, with leeway, in milliseconds. */
  readonly expires_at: number
  readonly set: IssuerKeys.KeySet
}

/** Makes the token verification for one audience. */
export const make = (settings: OAuthSettings, audience: string): AccessTokens => {
  const warn = KeyWarnings.make(settings.issuer)
  const keys = IssuerKeys.make(settings, warn)
  const cache = new CallerCache()

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
      Effect.catchTag(verifyWith(set, token, settings, audience, now), "Unverified", ({ thrown }) =>
        refusalOf(token, thrown, warn)
      )
    const verified = yield* Effect.catchTag(attempt(current), "UnknownKey", () =>
      Effect.flatMap(keys.newerThan(current), (newer) =>
        newer === current ? Effect.fail(new UnknownKey()) : attempt(newer)
      )
    ).pipe(Effect.catchTag("UnknownKey", () => unknownKey(token)))
    return {
      ...(yield* grantOf(settings, verified.payload)),
      expires_at: verified.expires_at,
      set: verified.set
    } satisfies Verified
  })

  return {
    identify: (token, request) =>
      Effect.gen(function* () {
        const cached = cache.get(token, keys.last(), yield* Clock.currentTimeMillis)
        if (cached !== undefined) return cached
        const { caller, grant } = yield* Pipeline.identifyGrant(request, verify(token))
        cache.set(token, grant, caller)
        return caller
      })
  }
}

/** Caches the callers of tokens verified with one set of keys. With a newer set, tokens are verified again. */
class CallerCache {
  private verified_with: IssuerKeys.KeySet | null = null
  private readonly callers = new BoundedMap<string, { readonly caller: Caller.Caller; readonly expires_at: number }>(
    maxCached
  )

  get(token: string, set: IssuerKeys.KeySet | null, now: number): Caller.Caller | undefined {
    if (set === null || set !== this.verified_with || !IssuerKeys.isFresh(set, now)) return undefined
    const found = this.callers.get(token)
    return found !== undefined && now < found.expires_at ? found.caller : undefined
  }

  set(token: string, { set, expires_at }: Verified, caller: Caller.Caller): void {
    if (set !== this.verified_with) {
      this.callers.clear()
      this.verified_with = set
    }
    this.callers.set(token, { caller, expires_at })
  }
}

const invalid = (message: string) => Effect.fail(ApiError.make("authentication_failed", { message }))

/** The key of a token is not in the set. */
class UnknownKey extends Data.TaggedError("UnknownKey") {}

/** The library has refused a token. */
class Unverified extends Data.TaggedError("Unverified")<{ readonly thrown: unknown }> {}

/** The key and algorithm that the header of a token names, for the log. A caller can write anything there. */
const headerOf = (token: string): { readonly kid: string; readonly alg: string } => {
  const { alg, kid } = decodeProtectedHeader(token)
  return { kid: loggable(kid), alg: loggable(alg) }
}

const loggable = (text: unknown): string => {
  if (!Predicate.isString(text)) return "none"
  return /^[\x20-\x7e]{1,100}$/.test(text) ? text : "not 1 to 100 printable characters"
}

/** Verifies signature, issuer, audience and times of a token with a set of keys. */
const verifyWith = (
  set: IssuerKeys.KeySet,
  token: string,
  { algorithms, issuer }: OAuthSettings,
  audience: string,
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
      // A sender-constrained token requires a proof of possession, which this host does not check.
      ({ payload }) => payload.cnf === undefined,
      () => ApiError.make("authentication_failed", { message: "The access token is bound to a key of its client." })
    ),
    Effect.map(({ payload }) => ({ payload, set, expires_at: (payload.exp ?? 0) * 1_000 + leewayMs }))
  )

const refusalOf = (
  token: string,
  thrown: unknown,
  warn: KeyWarnings.Warn
): Effect.Effect<never, UnknownKey | ApiError.ApiError<"authentication_failed">> => {
  if (thrown instanceof errors.JWKSNoMatchingKey) return Effect.fail(new UnknownKey())
  const refused = invalid(reasonOf(thrown))
  if (thrown instanceof errors.JWKSMultipleMatchingKeys) {
    return Effect.andThen(warn("several_fit", headerOf(token)), refused)
  }
  if (thrown instanceof errors.JOSEError) return refused
  // The runtime rejects the issuer's key, for example an RSA key that is too short.
  return Effect.andThen(warn("not_usable", { ...headerOf(token), reason: String(thrown) }), refused)
}

/** Why a token is refused. The reason can name a claim, because claims are checked only after the signature. */
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

/** Derives what a token grants from its claims. */
const grantOf = Effect.fnUntraced(function* (settings: OAuthSettings, payload: JWTPayload) {
  // The library does not check the type of this claim.
  const sub: unknown = payload.sub
  if (!Predicate.isString(sub) || sub === "") return yield* invalid("The access token has no subject (sub).")
  const kind = kindOf(settings.scopes, payload)
  if (kind === null) return yield* new InsufficientScope()
  const organization_id = organizationOf(settings.organization, payload)
  if (organization_id === null) return yield* ApiError.make("forbidden", { message: noOrganization })
  const { environment, issuer } = settings
  const grant: Caller.Grant = { environment, kind, organization_id, subject: JSON.stringify([issuer, sub]) }
  return grant
})

const noOrganization = "The access token does not name an organization of this host."

const organizationOf = (rule: OrganizationRule, payload: JWTPayload): Ids.OrganizationId | null => {
  if ("organization_id" in rule) return rule.organization_id
  const value = payload[rule.claim]
  if (!Predicate.isString(value)) return null
  if (rule.ids !== null) return Object.hasOwn(rule.ids, value) ? (rule.ids[value] ?? null) : null
  return isOrganizationId(value) ? value : null
}

const isOrganizationId = Schema.is(Ids.OrganizationId)

/** The most powerful kind of caller that the scopes of a token allow; null if the token has none of the scopes. */
const kindOf = (scopes: OAuthSettings["scopes"], payload: JWTPayload): TokenCallerKind | null => {
  if (scopes === null) return "platform"
  const kinds = scopesOf(payload).flatMap((scope) => (Object.hasOwn(scopes, scope) ? (scopes[scope] ?? []) : []))
  return kinds.includes("server") ? "server" : (kinds[0] ?? null)
}

/** The scopes of a token: `scope` (RFC 9068), or `scp` as some issuers write it; a text or a list. */
const scopesOf = ({ scope, scp }: JWTPayload): ReadonlyArray<string> =>
  [scope, scp].flatMap((claim) =>
    Predicate.isString(claim) ? claim.split(" ") : Array.isArray(claim) ? claim.filter(Predicate.isString) : []
  )

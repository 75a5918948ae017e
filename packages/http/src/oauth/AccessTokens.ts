import { ApiError, BoundedMap, type Caller, Ids, Pipeline } from "@quotewire/core"
import { Clock, Data, Effect, Predicate, Schema } from "effect"
import type { JWTPayload } from "jose"
import * as IssuerKeys from "./IssuerKeys.ts"
import type { OAuthSettings, OrganizationRule, TokenCallerKind } from "./OAuthOptions.ts"
import * as TokenVerifier from "./TokenVerifier.ts"

/** How many verified tokens are cached. */
const maxCached = 5_000

/** The token is valid but has none of the scopes that grant access here. */
export class InsufficientScope extends Data.TaggedError("InsufficientScope") {}

/** Identifies callers by their access tokens. */
export interface AccessTokens {
  /**
   * Verifies a token and returns its caller. Caches the result in memory until the token expires or the issuer's keys
   * are reloaded.
   *
   * Fails with `authentication_failed` if the token is not valid here, with `forbidden` if it names no organization of
   * this host, and with `service_unavailable` if the issuer's keys are not available now.
   */
  readonly identify: (
    token: string,
    request: Pipeline.RequestHead
  ) => Effect.Effect<Caller.Caller, ApiError.ApiError | InsufficientScope, Pipeline.PipelineServices>
}

/** A grant, the time when it expires, and the keys that verified its token. */
interface Verified extends Caller.Grant {
  /** When the token expires, in milliseconds, including the leeway for clock differences. */
  readonly expires_at: number
  readonly set: IssuerKeys.KeySet
}

/** Creates the token verification for one audience. */
export const make = (settings: OAuthSettings, audience: string): AccessTokens => {
  const verifier = TokenVerifier.make(settings, audience)
  const cache = new CallerCache()

  const verify = Effect.fnUntraced(function* (token: string) {
    const { expires_at, payload, set } = yield* verifier.verify(token)
    return { ...(yield* grantOf(settings, payload)), expires_at, set } satisfies Verified
  })

  return {
    identify: (token, request) =>
      Effect.gen(function* () {
        const cached = cache.get(token, verifier.last(), yield* Clock.currentTimeMillis)
        if (cached !== undefined) return cached
        const { caller, grant } = yield* Pipeline.identifyGrant(request, verify(token))
        cache.set(token, grant, caller)
        return caller
      })
  }
}

/** Caches the callers of tokens that one set of keys verified. Tokens are verified again when a newer set is loaded. */
class CallerCache {
  private verified_with: IssuerKeys.KeySet | null = null
  private readonly callers = new BoundedMap<string, { readonly caller: Caller.Caller; readonly expires_at: number }>(
    maxCached
  )

  get(token: string, set: IssuerKeys.KeySet | null, now: number): Caller.Caller | undefined {
    if (set === null || set !== this.verified_with || !IssuerKeys.isFresh(set, now)) return undefined
    const cachedCaller = this.callers.get(token)
    return cachedCaller !== undefined && now < cachedCaller.expires_at ? cachedCaller.caller : undefined
  }

  set(token: string, { set, expires_at }: Verified, caller: Caller.Caller): void {
    if (set !== this.verified_with) {
      this.callers.clear()
      this.verified_with = set
    }
    this.callers.set(token, { caller, expires_at })
  }
}

/** Derives what a token grants from its claims. */
const grantOf = Effect.fnUntraced(function* (settings: OAuthSettings, payload: JWTPayload) {
  const sub = yield* Effect.fromResult(TokenVerifier.subjectOf(payload))
  const kind = kindOf(settings.scopes, payload)
  if (kind === null) return yield* new InsufficientScope()
  const organization_id = organizationOf(settings.organization, payload)
  if (organization_id === null) return yield* ApiError.make("forbidden", { message: noOrganization })
  const { environment, issuer } = settings
  const grant: Caller.Grant = { environment, kind, organization_id, subject: JSON.stringify([issuer, sub]) }
  return grant
})

const noOrganization = "The access token does not name an organization on this host."

const organizationOf = (rule: OrganizationRule, payload: JWTPayload): Ids.OrganizationId | null => {
  if ("organization_id" in rule) return rule.organization_id
  const value = payload[rule.claim]
  if (!Predicate.isString(value)) return null
  if (rule.ids !== null) return Object.hasOwn(rule.ids, value) ? (rule.ids[value] ?? null) : null
  return isOrganizationId(value) ? value : null
}

const isOrganizationId = Schema.is(Ids.OrganizationId)

/** The most powerful kind of caller that a token's scopes allow; null if the token has none of the accepted scopes. */
const kindOf = (scopes: OAuthSettings["scopes"], payload: JWTPayload): TokenCallerKind | null => {
  if (scopes === null) return "platform"
  const kinds = TokenVerifier.scopesOf(payload).flatMap((scope) =>
    Object.hasOwn(scopes, scope) ? (scopes[scope] ?? []) : []
  )
  return kinds.includes("server") ? "server" : (kinds[0] ?? null)
}

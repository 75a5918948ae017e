import { ApiError, BoundedMap, type Caller, Ids, Pipeline } from "@quotewire/core"
import { Cause, Clock, Data, Effect, Predicate, Schema } from "effect"
import { errors, type JWTPayload, jwtVerify } from "jose"
import * as IssuerKeys from "./IssuerKeys.ts"
import type { OAuthSettings, OrganizationRule, TokenCallerKind } from "./OAuthOptions.ts"

/** How much the clocks of issuer and host may differ. */
const leeway_ms = 30_000
/** The longest token that is read. */
const max_characters = 8_192
/** How many verified tokens are remembered. */
const max_remembered = 5_000

/** The token is genuine, but has none of the scopes that say what its caller may do. */
export class InsufficientScope extends Data.TaggedError("InsufficientScope") {}

/** Identifies callers by the tokens of an issuer. */
export interface AccessTokens {
  /**
   * The caller of a token. It is verified once, and remembered in memory until it or the keys of the issuer expire.
   *
   * Fails with `authentication_failed` if it is not valid here, `forbidden` if it names no organization of this host, and
   * `service_unavailable` if the keys of the issuer are not known now.
   */
  readonly identify: (
    token: string,
    request: Pipeline.RequestHead
  ) => Effect.Effect<Caller.Caller, ApiError.ApiError | InsufficientScope, Pipeline.PipelineServices>
}

/** Whether text has the form of a JWT. An API key has no dots. */
export const hasForm = (text: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text)

/** A grant, and how long it can be used. */
interface Verified extends Caller.Grant {
  /** When the token expires here, in milliseconds. */
  readonly until: number
  readonly set: IssuerKeys.KeySet
}

/** Reads tokens for one audience. */
export const make = (settings: OAuthSettings, audience: string): AccessTokens => {
  const keys = IssuerKeys.make(settings)
  const remembered = new RememberedCallers()

  const verify = Effect.fnUntraced(function* (token: string) {
    if (token.length > max_characters) return yield* invalid("The access token is too long.")
    const now = yield* Clock.currentTimeMillis
    const set = yield* Effect.mapError(keys.current, ({ retry_after_seconds }) =>
      ApiError.make("service_unavailable", { retry_after_seconds })
    )
    const attempt = verifyWith(token, settings, audience, now)
    const verified = yield* Effect.catchTag(attempt(set), "UnknownKey", () =>
      Effect.flatMap(keys.after(set), (newer) =>
        newer === set ? invalid(unknown_key) : Effect.catchTag(attempt(newer), "UnknownKey", () => invalid(unknown_key))
      )
    )
    return {
      ...(yield* grantOf(settings, verified.payload)),
      until: verified.until,
      set: verified.set
    } satisfies Verified
  })

  return {
    identify: (token, request) =>
      Effect.gen(function* () {
        const known = remembered.get(token, keys.last(), yield* Clock.currentTimeMillis)
        if (known !== undefined) return known
        const { caller, grant } = yield* Pipeline.identifyGrant(request, verify(token))
        remembered.set(token, grant, caller)
        return caller
      })
  }
}

/** The callers of tokens that were verified with one set of keys. Another set verifies them anew. */
class RememberedCallers {
  private set_of_keys: IssuerKeys.KeySet | null = null
  private readonly callers = new BoundedMap<string, { readonly caller: Caller.Caller; readonly until: number }>(
    max_remembered
  )

  get(token: string, set: IssuerKeys.KeySet | null, now: number): Caller.Caller | undefined {
    if (set === null || set !== this.set_of_keys || !IssuerKeys.isFresh(set, now)) return undefined
    const found = this.callers.get(token)
    return found !== undefined && now < found.until ? found.caller : undefined
  }

  set(token: string, { set, until }: Verified, caller: Caller.Caller): void {
    if (set !== this.set_of_keys) {
      this.callers.clear()
      this.set_of_keys = set
    }
    this.callers.set(token, { caller, until })
  }
}

const invalid = (message: string) => Effect.fail(ApiError.make("authentication_failed", { message }))

const unknown_key = "The access token is signed with a key that its issuer does not publish."

/** The key of a token is not in the set. */
class UnknownKey extends Data.TaggedError("UnknownKey") {}

class Unverified extends Data.TaggedError("Unverified")<{ readonly thrown: unknown }> {}

/** Verifies signature, issuer, audience and times of a token. */
const verifyWith =
  (token: string, { algorithms, issuer }: OAuthSettings, audience: string, now: number) =>
  (set: IssuerKeys.KeySet) =>
    Effect.tryPromise({
      try: () =>
        jwtVerify(token, set.find, {
          algorithms: [...algorithms],
          audience,
          issuer,
          clockTolerance: leeway_ms / 1_000,
          currentDate: new Date(now),
          requiredClaims: ["exp", "sub"]
        }),
      catch: (thrown) => new Unverified({ thrown })
    }).pipe(
      Effect.catchTag("Unverified", ({ thrown }) => refusalOf(thrown)),
      Effect.filterOrFail(
        // Such a token is worth something only together with a key or a certificate, which nobody checks here.
        ({ payload }) => payload.cnf === undefined,
        () => ApiError.make("authentication_failed", { message: "The access token is bound to a key of its client." })
      ),
      Effect.map(({ payload }) => ({ payload, set, until: (payload.exp ?? 0) * 1_000 + leeway_ms }))
    )

const refusalOf = (thrown: unknown): Effect.Effect<never, UnknownKey | ApiError.ApiError<"authentication_failed">> => {
  if (thrown instanceof errors.JWKSNoMatchingKey) return Effect.fail(new UnknownKey())
  const refused = invalid(reasonOf(thrown))
  if (thrown instanceof errors.JOSEError) return refused
  // The platform refuses the key itself, such as an RSA key that is too short.
  return Effect.andThen(Effect.logWarning("A key of the OAuth issuer cannot be used", Cause.die(thrown)), refused)
}

/** Why a token is refused. Claims are checked after the signature, so only their owner learns of them. */
const reasonOf = (thrown: unknown): string => {
  if (thrown instanceof errors.JWTExpired) return "The access token has expired."
  if (thrown instanceof errors.JWTClaimValidationFailed) return reasons[thrown.claim] ?? not_valid
  return not_valid
}

const not_valid = "The access token is not valid."

const reasons: Readonly<Record<string, string>> = {
  aud: "The access token was issued for another resource.",
  iss: "The access token is from another issuer.",
  nbf: "The access token is not valid yet."
}

/** What the claims of a token grant. */
const grantOf = Effect.fnUntraced(function* (settings: OAuthSettings, payload: JWTPayload) {
  // The type of a claim is what the library hopes for: it does not check this one.
  const sub: unknown = payload.sub
  if (!Predicate.isString(sub) || sub === "") return yield* invalid("The access token names nobody (sub).")
  const kind = kindOf(settings.scopes, payload)
  if (kind === null) return yield* new InsufficientScope()
  const organization_id = organizationOf(settings.organization, payload)
  if (organization_id === null) return yield* ApiError.make("forbidden", { message: no_organization })
  const { environment, issuer } = settings
  const grant: Caller.Grant = { environment, kind, organization_id, subject: JSON.stringify([issuer, sub]) }
  return grant
})

const no_organization = "The access token names no organization of this host."

const organizationOf = (rule: OrganizationRule, payload: JWTPayload): Ids.OrganizationId | null => {
  if ("organization_id" in rule) return rule.organization_id
  const value = payload[rule.claim]
  if (!Predicate.isString(value)) return null
  if (rule.ids !== null) return Object.hasOwn(rule.ids, value) ? (rule.ids[value] ?? null) : null
  return isOrganizationId(value) ? value : null
}

const isOrganizationId = Schema.is(Ids.OrganizationId)

/** The kind that the scopes of a token allow: the one that may do most. Null if it has none of the scopes. */
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

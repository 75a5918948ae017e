import { ApiError, OperatorCalls, type OperatorToken, type OperatorTokens } from "@quotewire/core"
import { Effect } from "effect"
import type { OAuthSettings } from "./OAuthOptions.ts"
import * as TokenVerifier from "./TokenVerifier.ts"

/** The scopes that make a caller an operator, and what each allows. */
const scopes: Readonly<Record<string, OperatorToken.OperatorScope>> = {
  "operator:read": "read",
  "operator:write": "write",
  "operator:facts": "facts"
}

/** Identifies the operator who sends a request, by the request's token. `address` is the sender's address. */
export type Identify<R> = (
  token: string | null,
  address: string
) => Effect.Effect<OperatorCalls.OperatorCredentials, ApiError.ApiError, R>

/** Accepts operators' tokens, but no OAuth tokens. */
export const tokensOnly: Identify<never> = (token, address) => Effect.succeed({ token, address })

/**
 * Accepts operators' tokens, and an issuer's access tokens for the operators' API (their audience is
 * `{base_url}/operator/v1`) with a scope such as `operator:read`. A token for the agent endpoint is not valid here, and
 * a token for operators is not valid at the agent endpoint.
 *
 * Access tokens for operators reach all organizations, and the issuer decides who gets them.
 */
export const make = (settings: OAuthSettings, baseUrl: string): Identify<OperatorCalls.OperatorCallServices> => {
  const { verify } = TokenVerifier.make(settings, `${baseUrl}/operator/v1`)

  const grantOf = Effect.fnUntraced(function* (token: string) {
    const { payload } = yield* verify(token)
    const sub = yield* Effect.fromResult(TokenVerifier.subjectOf(payload))
    const allowed = TokenVerifier.scopesOf(payload).flatMap((scope) =>
      Object.hasOwn(scopes, scope) ? (scopes[scope] ?? []) : []
    )
    if (allowed.length === 0) return yield* noScope
    const grant: OperatorTokens.OperatorGrant = {
      subject: JSON.stringify([settings.issuer, sub]),
      name: sub,
      scopes: allowed,
      organization_id: null
    }
    return grant
  })

  return (token, address) =>
    token !== null && TokenVerifier.isLikeJwt(token)
      ? OperatorCalls.identifyGrant(address, grantOf(token))
      : Effect.succeed({ token, address })
}

const noScope = Effect.fail(
  ApiError.make("forbidden", { message: `The access token has none of the scopes ${Object.keys(scopes).join(", ")}.` })
)

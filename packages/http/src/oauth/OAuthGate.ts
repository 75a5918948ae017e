import { ApiError, type Caller, Pipeline } from "@quotewire/core"
import { Effect } from "effect"
import * as Challenge from "../messages/Challenge.ts"
import type { Admitted, Gate } from "../messages/Gate.ts"
import * as AccessTokens from "./AccessTokens.ts"
import type { OAuthSettings, TokenCallerKind } from "./OAuthOptions.ts"
import * as ProtectedResource from "./ProtectedResource.ts"
import * as TokenVerifier from "./TokenVerifier.ts"

/**
 * Admits callers with an API key or one of the issuer's tokens. Unless `required` is set, also admits callers with
 * neither.
 *
 * A refusal contains a challenge if signing in can help: if the caller is not admitted, or if a tool needs a different
 * scope. A valid token that names no organization of this host is refused without a challenge, because a new token
 * would not help.
 */
export const make = (settings: OAuthSettings, baseUrl: string, path: string): Gate => {
  const tokens = AccessTokens.make(settings, settings.audience ?? baseUrl + path)
  const resourceMetadata = ProtectedResource.addressOf(baseUrl)
  const scopes = Object.entries(settings.scopes ?? {})
  const scopeOf = (kind: TokenCallerKind) => scopes.find((entry) => entry[1] === kind)?.[0] ?? null
  const leastScope = scopeOf("platform") ?? scopeOf("server")
  const challenged = (error: ApiError.ApiError, challenge: Challenge.Challenge) =>
    new Challenge.Challenged({ error, header: Challenge.write(challenge, resourceMetadata) })
  const notSignedIn = (error: ApiError.ApiError) => challenged(error, { scope: leastScope })
  const invalid = (error: ApiError.ApiError) =>
    challenged(error, { error: "invalid_token", description: error.message, scope: leastScope })
  const lacking = (scope: string | null) =>
    challenged(insufficientScope, { error: "insufficient_scope", description: insufficientScope.message, scope })

  const withToken = (request: Pipeline.RequestHead, token: string) =>
    tokens.identify(token, request).pipe(
      Effect.map(
        (caller): Admitted => ({
          caller,
          credentials: { ...request.credentials, identified: caller },
          obtainable_kinds: caller.kind === "platform" && scopeOf("server") !== null ? ["server"] : []
        })
      ),
      Effect.mapError((error) => {
        if (error._tag === "InsufficientScope") return lacking(leastScope)
        return error._tag === "authentication_failed" ? invalid(error) : error
      })
    )

  const obtainable: ReadonlyArray<Caller.CallerKind> =
    settings.scopes === null ? ["platform"] : Array.from(new Set(Object.values(settings.scopes)))

  return {
    admit: (request) => {
      const { credentials } = request
      const { key } = credentials
      if (key !== null && TokenVerifier.isLikeJwt(key)) return withToken(request, key)
      if (key === null && settings.required) return Effect.fail(notSignedIn(signIn))
      return Pipeline.identify(request).pipe(
        Effect.map((caller): Admitted => ({ caller, credentials, obtainable_kinds: key === null ? obtainable : [] })),
        Effect.mapError((error) => {
          if (error._tag !== "authentication_failed") return error
          return key === null ? notSignedIn(signIn) : invalid(error)
        })
      )
    },
    refuse: ({ caller }) =>
      caller.kind === "keyless" ? challenged(signIn, { scope: scopeOf("server") }) : lacking(scopeOf("server"))
  }
}

const signIn = ApiError.make("authentication_failed", { message: "Sign in first: this call has no access token." })

const insufficientScope = ApiError.make("forbidden", {
  message: "The access token has no scope that allows this."
})

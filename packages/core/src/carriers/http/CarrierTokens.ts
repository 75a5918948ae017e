import { Cache, Context, Data, Effect, Exit, Redacted, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { Environment } from "../../access/Caller.ts"
import { hourMs, minuteMs, secondMs } from "../../wire/Timestamp.ts"
import type { ConnectionValues } from "../Carrier.ts"
import * as TimeBudget from "../TimeBudget.ts"
import { inEnvironment, type OAuth, valueOf } from "./Auth.ts"
import { type CarrierHttpError, type Target, timedOut } from "./CarrierHttpError.ts"
import { userAgent } from "./CarrierRequest.ts"
import { FailingAnswer } from "./CarrierResponse.ts"
import * as SentRequest from "./SentRequest.ts"

/** The request for a token, with everything that determines which token is returned. */
export class Grant extends Data.Class<{
  readonly token_url: string
  readonly client_id: string
  readonly client_secret: Redacted.Redacted
  readonly credentials: "basic" | "body"
  /** The form's other fields, in order. */
  readonly form: ReadonlyArray<readonly [string, string]>
}> {}

/** An access token, and for how many milliseconds it may be used. */
export interface Token {
  readonly access_token: Redacted.Redacted
  readonly use_ms: number
}

/** The tokens that a process keeps. */
export type Tokens = Cache.Cache<Grant, Token, CarrierHttpError>

/** The maximum number of tokens in a process. Each connection in use needs one token. */
const maxTokens = 1_000
/** How long a token is used if the response does not state its lifetime. */
const defaultLifeMs = 5 * minuteMs
const maxLifeMs = 24 * hourMs
/** A token is replaced when a tenth of its lifetime is left, but at most this long before it expires. */
const maxMarginMs = 30 * secondMs
/**
 * The timeout of a token request. It is independent of the timeouts of calls, because new calls keep joining a request
 * that hangs.
 */
const limitMs = 10 * secondMs
/** The largest response from a token endpoint, in bytes. */
const maxBytes = 64 * 1_024

const TokenAnswer = Schema.Struct({
  access_token: Schema.String.check(Schema.isPattern(/^[\x21-\x7e]+$/)),
  // Some servers send this number as a string.
  expires_in: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.Finite, Schema.FiniteFromString])))
})

const useMs = (expiresIn: number | null): number => {
  const lifeMs = expiresIn === null ? defaultLifeMs : Math.min(maxLifeMs, Math.max(0, expiresIn * secondMs))
  return Math.floor(lifeMs - Math.min(maxMarginMs, lifeMs / 10))
}

/** The grant for a connection. */
export const grantOf = (
  { token, client_id, client_secret, scope, credentials, params }: OAuth,
  base: string,
  environment: Environment,
  connection: ConnectionValues
): Grant =>
  new Grant({
    token_url: "path" in token ? base + token.path : inEnvironment(token.url, environment),
    client_id: valueOf(connection, client_id),
    client_secret: Redacted.make(valueOf(connection, client_secret)),
    credentials,
    form: [...(scope === null ? [] : [["scope", scope] as const]), ...Object.entries(params)]
  })

const requestOf = ({ token_url, client_id, credentials, form, ...grant }: Grant) => {
  const clientSecret = Redacted.value(grant.client_secret)
  const request = HttpClientRequest.post(token_url).pipe(
    HttpClientRequest.acceptJson,
    HttpClientRequest.setHeader("user-agent", userAgent)
  )
  const fields = [["grant_type", "client_credentials"], ...form] as const
  return credentials === "basic"
    ? request.pipe(
        HttpClientRequest.bodyUrlParams(fields),
        // RFC 6749, section 2.3.1: the ID and the secret are form-encoded before they are base64-encoded.
        HttpClientRequest.basicAuth(formEncoded(client_id), formEncoded(clientSecret))
      )
    : HttpClientRequest.bodyUrlParams(request, [...fields, ["client_id", client_id], ["client_secret", clientSecret]])
}

const formEncoded = (text: string): string => new URLSearchParams([["", text]]).toString().slice(1)

const ask = Effect.fnUntraced(function* (grant: Grant): Effect.fn.Return<Token, CarrierHttpError> {
  const { host, pathname } = new URL(grant.token_url)
  const target: Target = { method: "POST", path: pathname, host }
  const request: SentRequest.SentRequest = { ...target, purpose: "token", redact: [], accept: [] }
  const received = yield* SentRequest.send(requestOf(grant), request, { max_bytes: maxBytes }).pipe(
    TimeBudget.withinLimit({ millis: limitMs }, () => timedOut(target, limitMs))
  )
  const { access_token, expires_in = null } = yield* new FailingAnswer(received).json(TokenAnswer)
  return { access_token: Redacted.make(access_token), use_ms: useMs(expires_in) }
})

/** Makes an empty token store. Concurrent calls that need the same token share one token request. */
export const make: Effect.Effect<Tokens> = Cache.makeWith(ask, {
  capacity: maxTokens,
  timeToLive: (exit) => (Exit.isSuccess(exit) ? exit.value.use_ms : 0)
})

/** The tokens in use. All calls in the process share one store by default. */
export const CarrierTokens: Context.Reference<Tokens> = Context.Reference("@quotewire/core/CarrierTokens", {
  defaultValue: () => Effect.runSync(make)
})

/** Drops a token that the carrier rejected, unless another call has already replaced it. */
export const drop = (tokens: Tokens, grant: Grant, refused: Token): Effect.Effect<void> =>
  Cache.invalidateWhen(tokens, grant, (token) => token === refused)

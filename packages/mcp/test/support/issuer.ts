import type { World } from "@quotewire/core/testing"
import { Clock, Effect } from "effect"
import { FetchHttpClient } from "effect/http"
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose"
import { Agents, type AgentsOptions, baseUrl, layer, type Sent, toolsCall } from "./agents.ts"

export const issuerUrl = "https://login.example/tenant"

/** How the issuer responds to requests for its documents. */
type Answers = (url: string, signal: AbortSignal | null) => Promise<Response>

/** An issuer in this process. A replaced `fetch` serves its documents, and its tokens carry the test's time. */
export interface Issuer {
  /** A token of this issuer. Claims, header and signing key can be overridden. */
  readonly token: (claims?: Claims, options?: TokenOptions) => Effect.Effect<string>
  /** Signs with a new key from now on, and publishes only that key. */
  readonly rotate: Effect.Effect<void>
  /** The published keys. */
  readonly keys: ReadonlyArray<JWK>
  /** Replaces the response to every request from now on; null restores the normal responses. */
  readonly answerWith: (answers: Answers | null) => Effect.Effect<void>
  /** The addresses that were requested. */
  readonly requested: ReadonlyArray<string>
  /** Runs an effect with this issuer behind `fetch`. */
  readonly behind: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** Claims that replace the usual ones; undefined omits a claim. */
export type Claims = Readonly<Record<string, unknown>>

export interface TokenOptions {
  /** The `kid` of the key; null for a token without one. */
  readonly kid?: string | null
  readonly alg?: string
  readonly key?: Uint8Array
}

/** Makes an issuer whose tokens are for the endpoint of `base_url`. */
export const make = Effect.fnUntraced(function* () {
  let count = 0
  let keys: ReadonlyArray<JWK> = []
  let answers: Answers | null = null
  const requested: Array<string> = []
  const drawKey = Effect.promise(async () => {
    const pair = await generateKeyPair("ES256", { extractable: true })
    count += 1
    return { ...pair, jwk: { ...(await exportJWK(pair.publicKey)), kid: `k${count}`, alg: "ES256", use: "sig" } }
  })
  let current = yield* drawKey
  keys = [current.jwk]

  const documents: Answers = async (url) => {
    if (url === `${issuerUrl}/.well-known/openid-configuration`) {
      return Response.json({ issuer: issuerUrl, jwks_uri: `${issuerUrl}/keys` })
    }
    return url === `${issuerUrl}/keys` ? Response.json({ keys }) : new Response("", { status: 404 })
  }
  // Like a platform's `fetch`, it follows redirects unless told not to.
  const fetched: typeof globalThis.fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    requested.push(url)
    const response = await (answers ?? documents)(url, init?.signal ?? null)
    const location = response.headers.get("location")
    return location === null || init?.redirect === "manual" ? response : fetched(location, init)
  }
  const issuer: Issuer = {
    token: Effect.fnUntraced(function* (claims: Claims = {}, options: TokenOptions = {}) {
      const now = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
      const payload = {
        ...{ iss: issuerUrl, aud: `${baseUrl}/v1/mcp`, sub: "user-1", scope: "quotes", iat: now, exp: now + 3_600 },
        ...claims
      }
      const { alg = "ES256", key, kid = current.jwk.kid } = options
      return yield* Effect.promise(() =>
        new SignJWT(payload).setProtectedHeader({ alg, ...(kid !== null && { kid }) }).sign(key ?? current.privateKey)
      )
    }),
    rotate: Effect.map(drawKey, (key) => {
      current = key
      keys = [key.jwk]
    }),
    get keys() {
      return keys
    },
    answerWith: (given) =>
      Effect.sync(() => {
        answers = given
      }),
    requested,
    behind: Effect.provideService(FetchHttpClient.Fetch, fetched)
  }
  return issuer
})

const scopes = { quotes: "platform", "quotes:all": "server" } as const
/** The options of such hosts. */
export const oauth = { issuer: issuerUrl, scopes }
/** The address of the metadata in challenges. */
export const metadataUrl = `${baseUrl}/.well-known/oauth-protected-resource`

/** A test with an issuer, and hosts that accept its tokens. */
export const withIssuer = <A, E>(
  body: (issuer: Issuer) => Effect.Effect<A, E, Agents | World.World>,
  options: AgentsOptions = {}
) =>
  Effect.gen(function* () {
    const issuer = yield* make()
    return yield* issuer.behind(Effect.provide(body(issuer), layer({ oauth, ...options })))
  })

/** Sends a message with a token, or without one; by default a call that everyone may make. */
export const sendWith = (token: string | null, message: unknown = toolsCall("get_capabilities", { line: "renters" })) =>
  Effect.flatMap(Agents, ({ send }) => send({ ...bearer(token), message }))

export const bearer = (token: string | null): Pick<Sent, "as"> =>
  token === null ? {} : { as: { authorization: `Bearer ${token}` } }

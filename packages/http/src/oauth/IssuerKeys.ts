import { Bytes, Clock, Data, Effect, Schema, Semaphore, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { createLocalJWKSet, type JWTVerifyGetKey } from "jose"
import type { Warn } from "./KeyWarnings.ts"
import { isSafeAddress, type OAuthSettings } from "./OAuthOptions.ts"

/** How long keys are used before they are reloaded. A key that the issuer has removed is accepted at most this long. */
const freshMs = 5 * 60_000
/** How long keys are used while the issuer cannot be reached. */
const usableMs = 60 * 60_000
/** The shortest time between two attempts to load keys, however many tokens with unknown keys arrive. */
const cooldownMs = 10_000
/** How long an attempt may take. */
const timeoutMs = 5_000
/** The largest document that is read. */
const maxBytes = 256 * 1_024
const maxKeys = 100

/** The keys of an issuer at one time. */
export interface KeySet {
  /** Finds the key of a token by its `kid` and algorithm. */
  readonly find: JWTVerifyGetKey
  /** When it was loaded, in milliseconds. */
  readonly loaded_at: number
}

/** The issuer's keys cannot be loaded now, and no usable ones are cached. */
export class KeysUnavailable extends Data.TaggedError("KeysUnavailable")<{ readonly retry_after_seconds: number }> {}

/** The signing keys of an issuer, loaded on demand and reloaded when they are too old. */
export interface IssuerKeys {
  /** The last loaded set; null if none was loaded. It may be too old to use. */
  readonly last: () => KeySet | null
  /**
   * A usable set: the last one while it is fresh, otherwise a new one. While the issuer is unreachable, the last one
   * for up to an hour.
   */
  readonly current: Effect.Effect<KeySet, KeysUnavailable>
  /**
   * Returns a set newer than this one, for a token whose key is missing from it; the same set if it is too early to
   * reload.
   */
  readonly newerThan: (set: KeySet) => Effect.Effect<KeySet>
}

/** Whether a set is new enough to be used without asking the issuer. */
export const isFresh = (set: KeySet, now: number): boolean => now < set.loaded_at + freshMs

/** Makes the cache of an issuer's keys. A failed attempt to load them is logged as a warning. */
export const make = (settings: Pick<OAuthSettings, "issuer" | "jwks_url">, warn: Warn): IssuerKeys => {
  // One attempt at a time. Callers that wait for it share its result.
  const turn = Semaphore.makeUnsafe(1)
  let last: KeySet | null = null
  let attemptedAt = Number.NEGATIVE_INFINITY

  /**
   * Loads a set newer than the one that the caller has seen, unless another caller has done so or an attempt was just
   * made.
   */
  const renew = (seen: KeySet | null): Effect.Effect<KeySet | null> =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      if (last !== seen || now < attemptedAt + cooldownMs) return last
      attemptedAt = now
      last = yield* load(settings).pipe(
        Effect.map((find): KeySet => ({ find, loaded_at: now })),
        Effect.catchTag("Unloadable", ({ reason }) => Effect.as(warn("not_loaded", { reason }), last))
      )
      return last
      // Continues even if the caller that began it leaves. Otherwise callers that leave could cause one attempt after
      // another.
    }).pipe(Effect.uninterruptible, turn.withPermit)

  const current = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const set = last !== null && isFresh(last, now) ? last : yield* renew(last)
    if (set !== null && now < set.loaded_at + usableMs) return set
    return yield* new KeysUnavailable({ retry_after_seconds: Math.ceil(cooldownMs / 1_000) })
  })

  return {
    last: () => last,
    current,
    newerThan: (set) => Effect.map(renew(set), (renewed) => renewed ?? set)
  }
}

/** Why keys could not be loaded. It contains nothing that was received. */
class Unloadable extends Data.TaggedError("Unloadable")<{ readonly reason: string }> {}

const unloadable = (reason: string) => new Unloadable({ reason })

const load = Effect.fnUntraced(
  function* ({ issuer, jwks_url }: Pick<OAuthSettings, "issuer" | "jwks_url">) {
    const { keys } = yield* read(jwks_url ?? (yield* discover(issuer)), KeysDocument)
    return yield* Effect.try({
      // A key of an unknown kind, such as one of a newer algorithm, must not make the others unusable.
      try: () => createLocalJWKSet({ keys: keys.filter(isKey) }),
      catch: () => unloadable("they are not a key set.")
    })
  },
  Effect.timeoutOrElse({
    duration: timeoutMs,
    orElse: () => Effect.fail(unloadable(`there was no answer within ${timeoutMs} ms.`))
  })
)

const KeysDocument = Schema.Struct({ keys: Schema.Array(Schema.Unknown).check(Schema.isMaxLength(maxKeys)) })

const TextField = Schema.optionalKey(Schema.String)
const isKey = Schema.is(
  Schema.Struct({
    kty: Schema.Literals(["RSA", "EC", "OKP"]),
    key_ops: Schema.optionalKey(Schema.mutable(Schema.Array(Schema.String))),
    kid: TextField,
    alg: TextField,
    use: TextField,
    n: TextField,
    e: TextField,
    crv: TextField,
    x: TextField,
    y: TextField
  })
)

const Metadata = Schema.Struct({ issuer: Schema.String, jwks_uri: Schema.String })

/** Finds the address of the keys in the issuer's metadata, either of OpenID Connect or of RFC 8414. */
const discover = Effect.fnUntraced(function* (issuer: string) {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, "")
  const metadata = yield* Effect.catchTag(
    read(`${origin}${path}/.well-known/openid-configuration`, Metadata),
    "Unloadable",
    () => read(`${origin}/.well-known/oauth-authorization-server${path}`, Metadata)
  )
  if (metadata.issuer !== issuer) return yield* unloadable("its metadata names a different issuer.")
  if (!isSafeAddress(metadata.jwks_uri)) return yield* unloadable("its metadata has no https address for them.")
  return metadata.jwks_uri
})

/** Reads a JSON document of the issuer. Does not follow redirects, because they could lead to any host. */
const read = <A>(url: string, schema: Schema.Decoder<A>): Effect.Effect<A, Unloadable> =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const { status, stream } = yield* client.execute(HttpClientRequest.get(url, { acceptJson: true }))
    if (status !== 200) return yield* unloadable(`the answer had the status ${status}.`)
    const chunks: Array<Uint8Array> = []
    let size = 0
    yield* Stream.runForEach(stream, (chunk) => {
      size += chunk.length
      chunks.push(chunk)
      return size > maxBytes ? Effect.fail(unloadable(`the answer was longer than ${maxBytes} bytes.`)) : Effect.void
    })
    const text = new TextDecoder().decode(Bytes.concat(chunks))
    return yield* Effect.mapError(Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text), () =>
      unloadable("the answer was not the expected JSON.")
    )
  }).pipe(
    Effect.catchTag("HttpClientError", () => Effect.fail(unloadable("the issuer could not be reached."))),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
    Effect.provide(FetchHttpClient.layer)
  )

import { Bytes, Clock, Data, Effect, Schema, Semaphore, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { createLocalJWKSet, type JWTVerifyGetKey } from "jose"
import type { WarnOfKeys } from "./KeyWarnings.ts"
import { isSafeAddress, type OAuthSettings } from "./OAuthOptions.ts"

/**
 * How long keys are used before they are reloaded, in milliseconds. A key that the issuer has removed is accepted for
 * at most this long while the issuer can be reached.
 */
const freshMs = 5 * 60_000
/** How long keys are used while the issuer cannot be reached, in milliseconds. */
const usableMs = 60 * 60_000
/**
 * The shortest time between two attempts to load keys, in milliseconds, however many tokens with unknown keys arrive.
 */
const cooldownMs = 10_000
/** How long one attempt to load keys may take, in milliseconds. */
const timeoutMs = 5_000
/** The maximum size of a document from the issuer, in bytes. */
const maxBytes = 256 * 1_024
const maxKeys = 100

/** An issuer's keys at one point in time. */
export interface KeySet {
  /** Finds the key of a token by its `kid` and algorithm. */
  readonly find: JWTVerifyGetKey
  /** When the set was loaded, in milliseconds. */
  readonly loaded_at: number
}

/** The issuer's keys cannot be loaded now, and no usable keys are cached. */
export class KeysUnavailable extends Data.TaggedError("KeysUnavailable")<{ readonly retry_after_seconds: number }> {}

/** An issuer's signing keys, loaded on demand and reloaded when they are too old. */
export interface IssuerKeys {
  /** The last loaded set, even if it is too old to use; null if no set has been loaded yet. */
  readonly last: () => KeySet | null
  /**
   * Returns a usable set: the last one if it is fresh, otherwise a new one. While the issuer cannot be reached, it
   * returns the last set for up to an hour.
   */
  readonly current: Effect.Effect<KeySet, KeysUnavailable>
  /**
   * Returns a set newer than `set`, for a token whose key is missing from `set`. Returns `set` itself if it is too
   * early to reload, or if reloading fails.
   */
  readonly newerThan: (set: KeySet) => Effect.Effect<KeySet>
}

/** Whether a set is new enough to be used without asking the issuer. */
export const isFresh = (set: KeySet, now: number): boolean => now < set.loaded_at + freshMs

/** Creates the cache of an issuer's keys. A failed attempt to load keys is logged as a warning. */
export const make = (settings: Pick<OAuthSettings, "issuer" | "jwks_url">, warn: WarnOfKeys): IssuerKeys => {
  // Only one attempt to load keys runs at a time. Callers that wait for it share its result.
  const turn = Semaphore.makeUnsafe(1)
  let last: KeySet | null = null
  let attemptedAt = Number.NEGATIVE_INFINITY

  /**
   * Loads a set newer than the one that the caller has seen. Loads nothing if another caller has loaded a newer set, or
   * if the last attempt was too recent.
   */
  const renew = (known: KeySet | null): Effect.Effect<KeySet | null> =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      if (last !== known || now < attemptedAt + cooldownMs) return last
      attemptedAt = now
      last = yield* load(settings).pipe(
        Effect.map((find): KeySet => ({ find, loaded_at: now })),
        Effect.catchTag("Unloadable", ({ reason }) => Effect.as(warn("not_loaded", { reason }), last))
      )
      return last
      // The attempt continues even if the caller that began it is interrupted. Otherwise, interrupted callers could
      // cause one attempt after another.
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

/** Why keys could not be loaded. The reason contains nothing from the issuer's responses. */
class Unloadable extends Data.TaggedError("Unloadable")<{ readonly reason: string }> {}

const unloadable = (reason: string) => new Unloadable({ reason })

const load = Effect.fnUntraced(
  function* ({ issuer, jwks_url }: Pick<OAuthSettings, "issuer" | "jwks_url">) {
    const { keys } = yield* read(jwks_url ?? (yield* discover(issuer)), KeysDocument)
    return yield* Effect.try({
      // A key of an unknown kind, for example for a newer algorithm, must not make the other keys unusable.
      try: () => createLocalJWKSet({ keys: keys.filter(isKey) }),
      catch: () => unloadable("the response is not a key set.")
    })
  },
  Effect.timeoutOrElse({
    duration: timeoutMs,
    orElse: () => Effect.fail(unloadable(`there was no response within ${timeoutMs} ms.`))
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

/** Finds the address of the keys in the issuer's metadata, from OpenID Connect or RFC 8414. */
const discover = Effect.fnUntraced(function* (issuer: string) {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, "")
  const metadata = yield* Effect.catchTag(
    read(`${origin}${path}/.well-known/openid-configuration`, Metadata),
    "Unloadable",
    () => read(`${origin}/.well-known/oauth-authorization-server${path}`, Metadata)
  )
  if (metadata.issuer !== issuer) return yield* unloadable("the metadata names a different issuer.")
  if (!isSafeAddress(metadata.jwks_uri)) return yield* unloadable("jwks_uri in the metadata is not an https address.")
  return metadata.jwks_uri
})

/** Reads a JSON document from the issuer. Does not follow redirects, because they could lead to any host. */
const read = <A>(url: string, schema: Schema.Decoder<A>): Effect.Effect<A, Unloadable> =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const { status, stream } = yield* client.execute(HttpClientRequest.get(url, { acceptJson: true }))
    if (status !== 200) return yield* unloadable(`the response has the status ${status}.`)
    const chunks: Array<Uint8Array> = []
    let size = 0
    yield* Stream.runForEach(stream, (chunk) => {
      size += chunk.length
      chunks.push(chunk)
      return size > maxBytes ? Effect.fail(unloadable(`the response has more than ${maxBytes} bytes.`)) : Effect.void
    })
    const text = new TextDecoder().decode(Bytes.concat(chunks))
    return yield* Effect.mapError(Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text), () =>
      unloadable("the response is not the expected JSON.")
    )
  }).pipe(
    Effect.catchTag("HttpClientError", () => Effect.fail(unloadable("the issuer could not be reached."))),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
    Effect.provide(FetchHttpClient.layer)
  )

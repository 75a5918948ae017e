import { Effect, Predicate, Result } from "effect"
import { Mac } from "effect/crypto"
import { Base64 } from "effect/encoding"
import { BoundedMap } from "../concurrency/BoundedMap.ts"

/*
 * Signatures follow Standard Webhooks. The signed text is `{id}.{timestamp}.{body}`, the algorithm HMAC-SHA-256, and
 * the key the base64 after `whsec_`. A signature is written as `v1,` and base64. During a rotation a delivery has one
 * signature for each secret, and a receiver accepts any of them.
 */

/** The prefix of every signing secret. */
const secretPrefix = "whsec_"
/** The minimum number of random bytes in a signing secret. */
const minSecretBytes = 24
/** The maximum number of random bytes in a signing secret. */
const maxSecretBytes = 64
/** The number of random bytes in the secrets that the service creates. */
export const secretBytes = 32
/**
 * The default prefix of the service's own webhook headers, which are sent in addition to the standard `webhook-`
 * headers.
 */
export const defaultHeaderPrefix = "quotewire-"
/** How many seconds a timestamp may differ from the receiver's clock, in either direction. */
export const toleranceSeconds = 300

/** Encodes random bytes as a signing secret. */
export const makeSecret = (random: Uint8Array): string => {
  if (!isSecretLength(random.length)) throw new RangeError("A signing secret must have 24 to 64 random bytes")
  return secretPrefix + Base64.encode(random)
}

/** Whether text is a signing secret. */
export const isSecret = (text: string): boolean => bytesOf(text) !== null

/** A secret's random bytes; null if the text is not a signing secret. */
const bytesOf = (secret: string): Uint8Array | null => {
  const bytes = Base64.decode(secret.slice(secretPrefix.length))
  const isWellFormed =
    secret.startsWith(secretPrefix) && Result.isSuccess(bytes) && isSecretLength(bytes.success.length)
  return isWellFormed ? bytes.success : null
}

const isSecretLength = (bytes: number): boolean => bytes >= minSecretBytes && bytes <= maxSecretBytes

/** A cache of parsed keys, by signing secret. */
export type Keys = Map<string, Mac.Key>

/** Makes an empty cache. It keeps up to 10,000 keys, and then drops the oldest. */
export const noKeys = (): Keys => new BoundedMap(10_000)

/** Parses the key in a secret. Returns null if the text is not a signing secret. */
const keyOf = (secret: string, keys: Keys | undefined): Effect.Effect<Mac.Key | null> => {
  const cachedKey = keys?.get(secret)
  if (cachedKey !== undefined) return Effect.succeed(cachedKey)
  const bytes = bytesOf(secret)
  if (bytes === null) return Effect.succeed(null)
  const makeKey = Effect.orDie(Mac.key(Mac.hmacSha256, bytes))
  return keys === undefined ? makeKey : Effect.tap(makeKey, (key) => Effect.sync(() => keys.set(secret, key)))
}

/** A message to sign. */
export interface Message {
  /**
   * The message's ID. It must not contain a dot, because dots separate the parts of the signed text. The service's own
   * IDs contain no dots.
   */
  readonly id: string
  /** When the message is signed, in Unix seconds of real time. */
  readonly timestamp: number
  readonly body: string
}

/** Computes a message's `webhook-signature` header: one signature for each secret, in the secrets' order. */
export type Signer = (secrets: ReadonlyArray<string>, message: Message) => Effect.Effect<string>

/** Makes a signer. `keys` caches the parsed keys of secrets. */
export const signer = (mac: Mac.Mac["Service"], keys?: Keys): Signer => {
  const signBy = keySigner(mac)
  return (secrets, message) =>
    Effect.flatMap(
      Effect.forEach(secrets, (secret) => signingKey(secret, keys)),
      (parsed) => signBy(parsed, message)
    )
}

/** Parses the key of a signing secret. Dies if the text is not a signing secret. */
export const signingKey = (secret: string, keys?: Keys): Effect.Effect<Mac.Key> =>
  Effect.flatMap(keyOf(secret, keys), (key) =>
    key === null
      ? Effect.die(new RangeError("A signing secret must be whsec_ and 24 to 64 bytes in base64"))
      : Effect.succeed(key)
  )

/** Makes a signer that takes parsed keys. It makes one signature for each key, in the keys' order. */
export const keySigner =
  (mac: Mac.Mac["Service"]) =>
  (keys: ReadonlyArray<Mac.Key>, { body, id, timestamp }: Message): Effect.Effect<string> => {
    const signed = encoder.encode(`${id}.${timestamp}.${body}`)
    const [first] = keys
    // The common case: one key.
    if (first !== undefined && keys.length === 1) return entryBy(mac, first, signed)
    return Effect.map(
      Effect.forEach(keys, (key) => entryBy(mac, key, signed)),
      (entries) => entries.join(" ")
    )
  }

/** Computes the `webhook-signature` header of one message, like a `signer`. The ID must not contain a dot. */
export const sign = (
  mac: Mac.Mac["Service"],
  secrets: ReadonlyArray<string>,
  ...[id, timestamp, body, keys]: readonly [id: string, timestampSeconds: number, body: string, keys?: Keys]
): Effect.Effect<string> => signer(mac, keys)(secrets, { id, timestamp, body })

const entryBy = (mac: Mac.Mac["Service"], key: Mac.Key, signed: Uint8Array): Effect.Effect<string> =>
  Effect.orDie(Effect.map(mac.sign(key, signed), (tag) => version + Base64.encode(tag)))

const version = "v1,"
const encoder = new TextEncoder()

/** The content of a delivery's headers. */
export interface Signed {
  readonly id: string
  /** When the delivery was signed, in Unix seconds of real time. */
  readonly timestamp: number
  readonly signature: string
  /** The prefix of the headers that are sent in addition to the standard `webhook-` headers. */
  readonly prefix?: string
}

/** A delivery's headers: one set with the standard names, and one set with the prefix. */
export const headersOf = ({
  id,
  timestamp,
  signature,
  prefix = defaultHeaderPrefix
}: Signed): Readonly<Record<string, string>> => {
  const seconds = String(timestamp)
  return {
    [`${standardPrefix}id`]: id,
    [`${standardPrefix}timestamp`]: seconds,
    [`${standardPrefix}signature`]: signature,
    [`${prefix}id`]: id,
    [`${prefix}timestamp`]: seconds,
    [`${prefix}signature`]: signature
  }
}

const standardPrefix = "webhook-"

/** Headers in the forms that runtimes and frameworks provide. Names are case-insensitive. */
export type IncomingHeaders =
  | { readonly get: (name: string) => string | null }
  | { readonly [name: string]: string | ReadonlyArray<string> | undefined }

/** A received delivery, and what its receiver knows. */
export interface Received {
  /** All secrets that are valid now. During a rotation there is more than one. */
  readonly secrets: ReadonlyArray<string>
  readonly headers: IncomingHeaders
  /** The raw body, before parsing, because the signature covers its exact bytes. */
  readonly body: string | Uint8Array
  /** The receiver's current time, in Unix seconds. */
  readonly now_seconds: number
  /** How many seconds the timestamp may be off; 300 by default. */
  readonly tolerance_seconds?: number
}

/** Why a delivery must not be trusted. Return 400, and do nothing else. */
export type Distrust =
  | "missing_header"
  | "garbled_header"
  | "timestamp_too_old"
  | "timestamp_too_new"
  | "wrong_signature"
  /** The receiver's mistake: it passed no secret, or text that is not a `whsec_` secret. */
  | "unusable_secret"
  /** The receiver's mistake: the body is neither text nor bytes, because it has already been parsed. */
  | "unusable_body"

/**
 * Whether a delivery was signed with one of the secrets, within the tolerance. If not, `reason` says why it must not be
 * trusted.
 */
export type Verification =
  | { readonly ok: true; readonly id: string; readonly timestamp: number }
  | { readonly ok: false; readonly reason: Distrust }

/**
 * Verifies a delivery. The delivery is genuine if any of its signatures matches any of the secrets. All comparisons
 * take constant time.
 */
export const verify = Effect.fnUntraced(function* (mac: Mac.Mac["Service"], received: Received, keys?: Keys) {
  const claim = claimOf(received.headers)
  if (typeof claim === "string") return distrust(claim)
  const macKeys: Array<Mac.Key> = []
  for (const secret of received.secrets) {
    const key = yield* keyOf(secret, keys)
    if (key === null) return distrust("unusable_secret")
    macKeys.push(key)
  }
  if (macKeys.length === 0) return distrust("unusable_secret")
  if (!isRaw(received.body)) return distrust("unusable_body")
  const ageSeconds = received.now_seconds - claim.timestamp
  const tolerance = received.tolerance_seconds ?? toleranceSeconds
  // Negated, so that the check fails if the clock is NaN.
  if (!(ageSeconds <= tolerance)) return distrust("timestamp_too_old")
  if (!(ageSeconds >= -tolerance)) return distrust("timestamp_too_new")
  const signed = signedBytes(claim, received.body)
  let isGenuine = false
  for (const key of macKeys) {
    const expected = encoder.encode(yield* entryBy(mac, key, signed))
    for (const entry of claim.entries) isGenuine = Mac.timingSafeEqual(encoder.encode(entry), expected) || isGenuine
  }
  return isGenuine ? trust(claim) : distrust("wrong_signature")
})

// A framework may choose the body's type by what was sent, so a wrong type must not throw.
const isRaw = (body: unknown): boolean => Predicate.isString(body) || Predicate.isUint8Array(body)

const trust = ({ id, timestamp }: SignatureClaim): Verification => ({ ok: true, id, timestamp })
const distrust = (reason: Distrust): Verification => ({ ok: false, reason })

interface SignatureClaim {
  readonly id: string
  readonly timestamp: number
  /** The part of the signed text that comes before the body. */
  readonly head: string
  readonly entries: ReadonlyArray<string>
}

/** Reads the ID, time and signatures from the headers, or says why they cannot be read. */
const claimOf = (headers: IncomingHeaders): SignatureClaim | Distrust => {
  const id = headerOf(headers, "id")
  const timestamp = headerOf(headers, "timestamp")
  const signature = headerOf(headers, "signature")
  if (id === "" || timestamp === "" || signature === "") return "missing_header"
  const entries = signature.split(" ").filter((entry) => entry.startsWith(version))
  // A dot in an ID would let part of the ID pass as the timestamp.
  const isReadable = /^[^\s.,]{1,256}$/.test(id) && /^[0-9]{1,12}$/.test(timestamp) && entries.length > 0
  return isReadable ? { id, timestamp: Number(timestamp), head: `${id}.${timestamp}.`, entries } : "garbled_header"
}

/** The value of a header; "" if the header is missing, and " ", which is never valid, if it is repeated. */
const headerOf = (headers: IncomingHeaders, name: string): string => {
  const wanted = standardPrefix + name
  if (hasGet(headers)) return headers.get(wanted) ?? ""
  const values = Object.keys(headers)
    .filter((key) => key.toLowerCase() === wanted)
    .flatMap((key) => headers[key] ?? [])
  return values.length > 1 ? " " : (values[0] ?? "")
}

const hasGet = (headers: IncomingHeaders): headers is Extract<IncomingHeaders, { readonly get: unknown }> =>
  typeof headers.get === "function"

const signedBytes = (claim: SignatureClaim, body: string | Uint8Array): Uint8Array => {
  if (typeof body === "string") return encoder.encode(claim.head + body)
  const head = encoder.encode(claim.head)
  const bytes = new Uint8Array(head.length + body.length)
  bytes.set(head)
  bytes.set(body, head.length)
  return bytes
}

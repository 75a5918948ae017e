import { Clock, Effect, Redacted } from "effect"
import { Mac, SecureRandom } from "effect/crypto"
import { Base64Url } from "effect/encoding"

/** A one-time link to sign in to the console. Its code is exchanged for a key. */
export interface ConsoleLink {
  readonly code: Redacted.Redacted
  /** Returns the key if the code is right, unused and not expired; otherwise null. */
  readonly redeem: (code: string) => Effect.Effect<Redacted.Redacted | null>
}

const codeBytes = 24
/** How long a link can be used, in nanoseconds. */
const validNs = 10n * 60n * 1_000_000_000n

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Creates a link for a key. It is valid for ten minutes, only in this process. */
export const make = Effect.fnUntraced(function* (
  key: Redacted.Redacted
): Effect.fn.Return<ConsoleLink, never, SecureRandom.SecureRandom> {
  const { randomBytes } = yield* SecureRandom.SecureRandom
  const code = Base64Url.encode(yield* randomBytes(codeBytes))
  const endsNs = (yield* Clock.monotonicTimeNanos) + validNs
  let isUsed = false
  return {
    code: Redacted.make(code, { label: "console link" }),
    redeem: (token) =>
      Effect.map(Clock.monotonicTimeNanos, (nowNs) => {
        const isRight = Mac.timingSafeEqual(bytesOf(token), bytesOf(code))
        if (!isRight || isUsed || nowNs >= endsNs) return null
        isUsed = true
        return key
      })
  }
})

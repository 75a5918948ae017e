import { Clock, Context, Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { inBlocks } from "./RandomPool.ts"

/*
 * ULIDs: 26 characters of Crockford's base32, here in lower case. The first 10 are the time, the others are random.
 *
 * Effect has them too, but runs a fiber for each: with those, a start takes 8 % more CPU time
 * (docs/decisions/libraries.md).
 */

const alphabet = Array.from("0123456789abcdefghjkmnpqrstvwxyz", (character) => character.charCodeAt(0))
const timeDigits = 10
const randomDigits = 16
const maxTime = 2 ** 48 - 1

/**
 * Makes a generator whose ULIDs each sort after the one before: in the same millisecond, or if the clock goes back, it
 * adds 1 to the last one.
 */
const monotonic: Effect.Effect<() => string, never, SecureRandom.SecureRandom> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const draw = inBlocks(yield* SecureRandom.SecureRandom)
  /** The characters, each with its index in the alphabet and its code. */
  const digits = new Uint8Array(timeDigits + randomDigits)
  const codes = Array.from(digits, () => 0)
  let last = -1

  const set = (at: number, digit: number): void => {
    digits[at] = digit
    codes[at] = alphabet[digit] ?? 0
  }

  const startAt = (millis: number): void => {
    last = millis
    for (let at = 0; at < timeDigits; at++) set(at, Math.floor(millis / 32 ** (timeDigits - 1 - at)) % 32)
    for (const [at, byte] of draw(randomDigits).entries()) set(timeDigits + at, byte % 32)
  }

  /** Adds 1 to the random digits. If all are at their end, the next millisecond begins. */
  const increment = (): void => {
    for (let at = digits.length - 1; at >= timeDigits; at--) {
      const next = ((digits[at] ?? 0) + 1) % 32
      set(at, next)
      if (next !== 0) return
    }
    startAt(Math.min(last + 1, maxTime))
  }

  return () => {
    const now = Math.min(Math.max(0, Math.trunc(clock.currentTimeMillisUnsafe())), maxTime)
    if (now > last) startAt(now)
    else increment()
    return String.fromCharCode(...codes)
  }
})

/** Makes the generator of a program. Tests replace it, to draw the same identifiers twice. */
export const Generator = Context.Reference<typeof monotonic>("@quotewire/core/UlidGenerator", {
  defaultValue: () => monotonic
})

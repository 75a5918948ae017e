import { Effect } from "effect"
import type { SecureRandom } from "effect/crypto"

const blockBytes = 4_096

/** Draws random bytes from blocks of 4 KiB. Asking the platform for each 12-byte nonce would take 3 µs. */
export const inBlocks = (random: SecureRandom.SecureRandom["Service"]): ((bytes: number) => Uint8Array) => {
  let block: Uint8Array = new Uint8Array(0)
  let used = 0
  return (bytes) => {
    if (used + bytes > block.length) {
      block = Effect.runSync(random.randomBytes(blockBytes))
      used = 0
    }
    used += bytes
    return block.subarray(used - bytes, used)
  }
}

import type { KeyId } from "../wire/Ids.ts"
import { hour_ms } from "../wire/Timestamp.ts"
import type { Caller } from "./Caller.ts"

/** How long a key that was revoked on another host may still work here. */
const known_for_ms = 1_000
const max_known_keys = 10_000
/** How long at least a valid key counts as recently used; at most twice as long. */
const recent_for_ms = hour_ms

/**
 * Caches the callers of keys for a second, in memory only, so that a busy key is not hashed and looked up for each call.
 *
 * The whole cache is cleared at once, so unused keys do not stay in it. That a key was valid recently is known for one to two
 * hours.
 */
export class KnownKeys {
  private readonly entries = new Map<string, Caller>()
  private began = 0
  private revocations = 0
  private recent = new Set<string>()
  private recentBefore = new Set<string>()
  private recentBegan = 0

  get(key: string, now: number): Caller | undefined {
    if (now < this.began || now >= this.began + known_for_ms) {
      this.entries.clear()
      this.began = now
    }
    return this.entries.get(key)
  }

  /** A token for `set`: what is read from now on may be cached, unless a key is revoked here meanwhile. */
  get generation(): number {
    return this.revocations
  }

  set(key: string, caller: Caller, generation: number): void {
    if (generation !== this.revocations) return
    if (this.entries.size < max_known_keys) this.entries.set(key, caller)
    if (this.recent.size < max_known_keys) this.recent.add(key)
  }

  /** Whether a key was valid recently. It must still be looked up. */
  wasValidRecently(key: string, now: number): boolean {
    if (now < this.recentBegan || now >= this.recentBegan + recent_for_ms) {
      this.recentBefore = this.recent
      this.recent = new Set()
      this.recentBegan = now
    }
    return this.recent.has(key) || this.recentBefore.has(key)
  }

  /** Records that a key is no longer valid. */
  markInvalid(key: string): void {
    this.recent.delete(key)
    this.recentBefore.delete(key)
  }

  /** Forgets a key at once, and discards look-ups that are under way. */
  forget(id: KeyId): void {
    this.revocations++
    for (const [key, caller] of this.entries) if (caller.key_id === id) this.entries.delete(key)
  }
}

import type { KeyId } from "../wire/Ids.ts"
import { hour_ms } from "../wire/Timestamp.ts"
import type { Caller } from "./Caller.ts"

/** How long a key that was revoked on another host may still work here. */
const known_for_ms = 1_000
const max_known_keys = 10_000
/** How long at least a valid key counts as recently used; at most twice as long. */
const met_for_ms = hour_ms

/**
 * Caches the callers of keys for a second, in memory only, so that a busy key is not hashed and looked up for each call.
 *
 * The whole cache is cleared at once, so unused keys do not stay in it. That a key was valid is remembered for one to two
 * hours.
 */
export class KnownKeys {
  private readonly entries = new Map<string, Caller>()
  private began = 0
  private forgotten = 0
  private met = new Set<string>()
  private metBefore = new Set<string>()
  private metBegan = 0

  get(key: string, now: number): Caller | undefined {
    if (now < this.began || now >= this.began + known_for_ms) {
      this.entries.clear()
      this.began = now
    }
    return this.entries.get(key)
  }

  /** A token for `set`: what is read from now on may be cached, unless a key is revoked here meanwhile. */
  get reading(): number {
    return this.forgotten
  }

  set(key: string, caller: Caller, reading: number): void {
    if (reading !== this.forgotten) return
    if (this.entries.size < max_known_keys) this.entries.set(key, caller)
    if (this.met.size < max_known_keys) this.met.add(key)
  }

  /** Whether a key was valid recently. It must still be looked up. */
  hasMet(key: string, now: number): boolean {
    if (now < this.metBegan || now >= this.metBegan + met_for_ms) {
      this.metBefore = this.met
      this.met = new Set()
      this.metBegan = now
    }
    return this.met.has(key) || this.metBefore.has(key)
  }

  /** Records that a key is no longer valid. */
  unmeet(key: string): void {
    this.met.delete(key)
    this.metBefore.delete(key)
  }

  /** Forgets a key at once, and discards look-ups that are under way. */
  forget(id: KeyId): void {
    this.forgotten++
    for (const [key, caller] of this.entries) if (caller.key_id === id) this.entries.delete(key)
  }
}

import type { KeyId } from "../wire/Ids.ts"
import { hour_ms } from "../wire/Timestamp.ts"
import type { Caller } from "./Caller.ts"

/** A key that was revoked elsewhere works for at most this long. */
const known_for_ms = 1_000
const max_known_keys = 10_000
/** A key that was good is told from a guess for at least this long, and at most for twice as long. */
const met_for_ms = hour_ms

/**
 * Remembers for a second who calls with a key, in memory alone, so that a busy key is neither hashed nor looked up for each call.
 *
 * All of them are forgotten together: of the keys that are not used any more, none stays. That a key was good at all is
 * remembered for an hour or two.
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

  /** What is read from now on may be remembered by `set`, unless a key is revoked here in the meantime. */
  get reading(): number {
    return this.forgotten
  }

  set(key: string, caller: Caller, reading: number): void {
    if (reading !== this.forgotten) return
    if (this.entries.size < max_known_keys) this.entries.set(key, caller)
    if (this.met.size < max_known_keys) this.met.add(key)
  }

  /** Whether a key was good of late; it has to be looked up all the same. */
  hasMet(key: string, now: number): boolean {
    if (now < this.metBegan || now >= this.metBegan + met_for_ms) {
      this.metBefore = this.met
      this.met = new Set()
      this.metBegan = now
    }
    return this.met.has(key) || this.metBefore.has(key)
  }

  /** A key that was good is so no more. */
  unmeet(key: string): void {
    this.met.delete(key)
    this.metBefore.delete(key)
  }

  /** Forgets a key at once, and whatever is being read. */
  forget(id: KeyId): void {
    this.forgotten++
    for (const [key, caller] of this.entries) if (caller.key_id === id) this.entries.delete(key)
  }
}

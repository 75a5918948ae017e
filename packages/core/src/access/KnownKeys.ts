import type { Clock } from "effect"
import * as Monotonic from "../concurrency/Monotonic.ts"
import type { KeyId } from "../wire/Ids.ts"
import { hourMs, secondMs } from "../wire/Timestamp.ts"
import type { Caller } from "./Caller.ts"

/** How long a key may still work on this host after another host has revoked it. */
const knownForMs = secondMs
/** How long after its last lookup a valid key is not treated as a possible guess. */
const recentForMs = hourMs
const maxKnownKeys = 10_000

/**
 * A moment on two clocks, in milliseconds. Both are needed: real time can be set back, and monotonic time may stand
 * still while a machine is suspended.
 */
export interface ClockReading {
  readonly real: number
  readonly monotonic: number
}

/** Reads the current moment from both clocks. */
export const readClock = (clock: Clock.Clock): ClockReading => ({
  real: clock.currentTimeMillisUnsafe(),
  monotonic: Monotonic.millisOf(clock)
})

/** The caller to whom a key belongs, and when the lookup began. */
interface KnownKey {
  readonly caller: Caller
  readonly at: ClockReading
}

/**
 * The keys that this host has found valid within the last hour, in memory only.
 *
 * For a second after its lookup, a key is neither hashed nor looked up again (docs/decisions/tuning.md).
 */
export class KnownKeys {
  /** The known keys, in lookup order. */
  private readonly keys = new Map<string, KnownKey>()
  private revocations = 0

  /** The caller of a key that was looked up within the last second; null for any other key. */
  callerOf(key: string, now: ClockReading): Caller | null {
    const entry = this.keys.get(key)
    if (entry === undefined) return null
    const { caller, at } = entry
    const isRecent = now.real < at.real + knownForMs && now.monotonic < at.monotonic + knownForMs
    return isRecent && now.real >= at.real ? caller : null
  }

  /** Whether a key was valid when it was last looked up, so that its format need not be checked again. */
  has(key: string): boolean {
    return this.keys.has(key)
  }

  /** Whether a key was valid within the last hour. The key must still be looked up. */
  wasValidRecently(key: string, now: number): boolean {
    const entry = this.keys.get(key)
    return entry !== undefined && now < entry.at.real + recentForMs
  }

  /**
   * The number of revocations on this host. Read it before a lookup: `add` ignores the result if the number has
   * changed.
   */
  get generation(): number {
    return this.revocations
  }

  /**
   * Adds a key that was looked up at `moment`. Drops keys that were looked up more than an hour ago, and the oldest
   * keys beyond the maximum.
   */
  add(key: string, caller: Caller, moment: ClockReading, generation: number): void {
    if (generation !== this.revocations) return
    this.keys.delete(key)
    for (const [oldest, entry] of this.keys) {
      if (this.keys.size < maxKnownKeys && moment.real < entry.at.real + recentForMs) break
      this.keys.delete(oldest)
    }
    this.keys.set(key, { caller, at: moment })
  }

  /** Drops a key whose lookup found it invalid. */
  drop(key: string): void {
    this.keys.delete(key)
  }

  /** Drops a revoked key immediately, and discards the results of lookups in progress. */
  revoke(id: KeyId): void {
    this.revocations++
    for (const [key, { caller }] of this.keys) if (caller.key_id === id) this.keys.delete(key)
  }
}

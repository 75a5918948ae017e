import { Effect, Schema } from "effect"
import type { QuoteRequestId } from "../wire/Ids.ts"
import { day_ms } from "../wire/Timestamp.ts"
import { areEqual, partsOfMac, type Seal } from "./Seal.ts"

/** How long a read handle is valid, from the start of its request. */
const lifetime_ms = day_ms

/** The stored part of a read handle: enough to derive it again and to check it, not enough to know it. */
export const KeptHandle = Schema.Struct({
  /** A keyed hash of the handle, made with the same seal key. It names that key, and handles are compared with it. */
  check: Schema.String,
  /** Milliseconds of workspace time. */
  expires_at: Schema.Int
})
export type KeptHandle = typeof KeptHandle.Type

const characters = 27

/**
 * The read handle of a request: `rh_` and 162 bits.
 *
 * It is derived with a keyed hash instead of being stored, so that the repeat of a start returns the same handle.
 */
export const derive = (seal: Seal["Service"], id: QuoteRequestId, older: string | null): Effect.Effect<string | null> =>
  Effect.map(older === null ? seal.mac("read_handle", id) : seal.macLike(older, "read_handle", id), (mac) =>
    mac === null ? null : `rh_${partsOfMac(mac).tag.slice(0, characters)}`
  )

/** The stored part of a new handle. */
export const keep = (seal: Seal["Service"], handle: string, created_at: number): Effect.Effect<KeptHandle> =>
  Effect.map(seal.mac("read_handle_check", handle), (check) => ({ check, expires_at: created_at + lifetime_ms }))

/** Whether a handle is the stored one and still valid. Compared in constant time. */
export const opens = (seal: Seal["Service"], kept: KeptHandle, sent: string, now: number): Effect.Effect<boolean> =>
  now >= kept.expires_at
    ? Effect.succeed(false)
    : Effect.map(seal.macLike(kept.check, "read_handle_check", sent), (check) =>
        check === null ? false : areEqual(check, kept.check)
      )

import { Effect, Schema } from "effect"
import type { QuoteRequestId, WorkspaceId } from "../wire/Ids.ts"
import { dayMs } from "../wire/Timestamp.ts"
import { areEqual, partsOfMac, type Seal } from "./sealing/Seal.ts"

/** How long a read handle is valid, counted from the start of its request (api.md, Read handles). */
const lifetimeMs = dayMs

/**
 * What is stored about a read handle. This suffices to check the handle, and to derive the handle again with the seal
 * key, but does not contain the handle.
 */
export const StoredHandle = Schema.Struct({
  /** A keyed hash that verifies handles from callers. It names the seal key from which the handle is derived. */
  check: Schema.String,
  /** When the handle expires, in milliseconds of workspace time. */
  expires_at: Schema.Int
})
export type StoredHandle = typeof StoredHandle.Type

const characters = 27

/** The quote request that a handle can read. The handle, and its stored hash, are valid only for this request. */
export interface HandleTarget {
  readonly workspace_id: WorkspaceId
  readonly id: QuoteRequestId
}

const purposeOfHandle = ({ workspace_id, id }: HandleTarget): string => `read_handle ${workspace_id} ${id}`
const purposeOfCheck = (target: HandleTarget): string => `${purposeOfHandle(target)} check`

/**
 * Derives a request's read handle: `rh_` and 162 bits in base64url.
 *
 * The handle is derived from a keyed hash instead of being stored, so that a retried start returns the same handle. To
 * derive the handle with the key that made an older hash, pass the hash as `older`; null means the newest key. Returns
 * null if the settings no longer have that key.
 */
export const derive = (
  seal: Seal["Service"],
  target: HandleTarget,
  older: string | null
): Effect.Effect<string | null> =>
  Effect.map(
    older === null ? seal.mac(purposeOfHandle(target), "") : seal.macLike(older, purposeOfHandle(target), ""),
    (mac) => (mac === null ? null : `rh_${partsOfMac(mac).tag.slice(0, characters)}`)
  )

/** Makes the stored form of a new handle. */
export const toStoredHandle = (
  seal: Seal["Service"],
  target: HandleTarget,
  handle: string,
  createdAt: number
): Effect.Effect<StoredHandle> =>
  Effect.map(seal.mac(purposeOfCheck(target), handle), (check) => ({ check, expires_at: createdAt + lifetimeMs }))

/** An attempt to read a request with a handle, and the time of the attempt. */
export interface HandleUse extends HandleTarget {
  readonly handle: string
  readonly now: number
}

/** Whether the handle is the request's handle and has not expired. The comparison takes constant time. */
export const isValid = (
  seal: Seal["Service"],
  { handle, now, ...target }: HandleUse,
  stored: StoredHandle
): Effect.Effect<boolean> =>
  now >= stored.expires_at
    ? Effect.succeed(false)
    : Effect.map(seal.macLike(stored.check, purposeOfCheck(target), handle), (check) =>
        check === null ? false : areEqual(check, stored.check)
      )

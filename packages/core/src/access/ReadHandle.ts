import { Effect, Schema } from "effect"
import type { QuoteRequestId, WorkspaceId } from "../wire/Ids.ts"
import { dayMs } from "../wire/Timestamp.ts"
import { areEqual, partsOfMac, type Seal } from "./Seal.ts"

/** How long a read handle is valid, from the start of its request (api.md, Read handles). */
const lifetimeMs = dayMs

/**
 * What is stored about a read handle: enough to derive the handle again with the seal key and to check it, but not the
 * handle itself.
 */
export const KeptHandle = Schema.Struct({
  /**
   * A keyed hash that verifies the handles that callers send. It names the seal key with which the handle is derived.
   */
  check: Schema.String,
  /** Milliseconds of workspace time. */
  expires_at: Schema.Int
})
export type KeptHandle = typeof KeptHandle.Type

const characters = 27

/** The request that a handle reads. A handle and its stored part are valid for this request alone. */
export interface HandleTarget {
  readonly workspace_id: WorkspaceId
  readonly id: QuoteRequestId
}

const purposeOfHandle = ({ workspace_id, id }: HandleTarget): string => `read_handle ${workspace_id} ${id}`
const purposeOfCheck = (of: HandleTarget): string => `${purposeOfHandle(of)} check`

/**
 * A request's read handle: `rh_` and 162 bits in base64url.
 *
 * It is derived with a keyed hash instead of being stored, so that a retried start returns the same handle.
 */
export const derive = (seal: Seal["Service"], of: HandleTarget, older: string | null): Effect.Effect<string | null> =>
  Effect.map(
    older === null ? seal.mac(purposeOfHandle(of), "") : seal.macLike(older, purposeOfHandle(of), ""),
    (mac) => (mac === null ? null : `rh_${partsOfMac(mac).tag.slice(0, characters)}`)
  )

/** What to store about a new handle. */
export const keep = (
  seal: Seal["Service"],
  of: HandleTarget,
  handle: string,
  createdAt: number
): Effect.Effect<KeptHandle> =>
  Effect.map(seal.mac(purposeOfCheck(of), handle), (check) => ({ check, expires_at: createdAt + lifetimeMs }))

/** Whether this is the request's handle and it is still valid. The comparison takes constant time. */
export const opens = (
  seal: Seal["Service"],
  of: HandleTarget,
  kept: KeptHandle,
  sent: string,
  now: number
): Effect.Effect<boolean> =>
  now >= kept.expires_at
    ? Effect.succeed(false)
    : Effect.map(seal.macLike(kept.check, purposeOfCheck(of), sent), (check) =>
        check === null ? false : areEqual(check, kept.check)
      )

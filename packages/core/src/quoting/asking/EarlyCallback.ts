import { Schema } from "effect"
import { partsOfMac } from "../../access/sealing/Seal.ts"
import type { StoredRecord } from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import { minuteMs } from "../../wire/Timestamp.ts"

/** A reference in a callback for which no ask is known yet: the reference's keyed hash, and when it first arrived. */
export const EarlyCallback = Schema.Struct({
  mac: Schema.String,
  seen_at: Schema.Int.annotate({ description: "Milliseconds of real time" })
})
export type EarlyCallback = typeof EarlyCallback.Type

/**
 * The record kind for marks of early callbacks. The records are in the directory. Anybody may send callbacks, so each
 * carrier has only 64 slots for marks.
 */
export const kind = Kind.make({
  name: "early_callback",
  schema: EarlyCallback,
  kept_for: { minutes: 30, clock: "real" }
})

/** The slot for a reference. The keyed hash selects one of the carrier's 64 slots. */
export const idOf = (carrierId: string, mac: string): string => `${carrierId} ${partsOfMac(mac).tag.charAt(0)}`

/**
 * How long a callback with an unknown reference is treated as too early. By then, any ask in progress has been stored.
 */
const earlyMs = minuteMs

/**
 * Decides what to do with a callback that has an unknown reference. `mark`: mark the reference and ask the carrier to
 * resend the callback. `again`: only ask the carrier to resend the callback. `unknown`: refuse the callback. The
 * argument `mark` is the content of the reference's slot.
 */
export const decide = (mark: EarlyCallback | null, mac: string, now: number): "again" | "mark" | "unknown" => {
  const isOver = mark === null || now - mark.seen_at >= earlyMs
  if (mark?.mac === mac) return isOver ? "unknown" : "again"
  // While another reference occupies the slot, this reference is not marked, so its minute begins later.
  return isOver ? "mark" : "again"
}

/** The stored mark, as the next version after `previous`. Its date is new, so that its retention period starts over. */
export const toStored = (carrierId: string, mark: EarlyCallback, previous: StoredRecord | null): StoredRecord =>
  kind.record(mark, {
    id: idOf(carrierId, mark.mac),
    version: (previous?.version ?? 0) + 1,
    created_at: mark.seen_at,
    updated_at: mark.seen_at
  })

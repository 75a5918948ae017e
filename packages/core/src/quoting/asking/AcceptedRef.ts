import type { Effect } from "effect"
import type { Seal } from "../../access/Seal.ts"
import type * as JobPayload from "../../runner/JobPayload.ts"
import type { StorageUnavailable } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"

/*
 * The carrier's reference for an accepted ask, as jobs of the ask store it. A carrier can put anything into a
 * reference, so it is sealed for its ask.
 */

/** The ask of a request to a carrier. */
type Ask = Pick<JobPayload.Payloads["ask_carrier"], "quote_request_id" | "carrier_id">

const purposeOf = (workspaceId: WorkspaceId, { carrier_id, quote_request_id }: Ask): string =>
  `accepted_ref ${workspaceId} ${quote_request_id} ${carrier_id}`

/** Seals a reference for a job of the ask. */
export const seal = (sealer: Seal["Service"], workspaceId: WorkspaceId, ask: Ask, ref: string): Effect.Effect<string> =>
  sealer.seal(purposeOf(workspaceId, ask), ref)

/** The reference in a job of the ask; null if it was altered. */
export const open = (
  sealer: Seal["Service"],
  workspaceId: WorkspaceId,
  ask: Ask & { readonly sealed_ref: string }
): Effect.Effect<string | null, StorageUnavailable> => sealer.open(purposeOf(workspaceId, ask), ask.sealed_ref)

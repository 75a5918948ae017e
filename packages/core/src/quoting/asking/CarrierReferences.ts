import { Clock, Context, Data, Effect, Layer, Option } from "effect"
import { askTokens } from "../../access/SignedId.ts"
import { macOfKey, Seal } from "../../access/sealing/Seal.ts"
import * as AnswerRules from "../../carriers/AnswerRules.ts"
import type { CarrierReply } from "../../carriers/Carrier.ts"
import * as Reply from "../../carriers/Reply.ts"
import type * as JobPayload from "../../runner/JobPayload.ts"
import * as Change from "../../storage/Change.ts"
import { commit, directoryWorkspace, retryOnConflict, Storage, type StorageUnavailable } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import { isPending } from "../QuoteRequest.ts"
import * as CarrierReference from "./CarrierReference.ts"
import * as EarlyCallback from "./EarlyCallback.ts"
import * as PendingAsks from "./PendingAsks.ts"

/** The error for a callback whose ask is not known yet. The carrier must resend the callback later. */
export class CallbackTooEarly extends Data.TaggedError("CallbackTooEarly")<{ readonly retry_after_seconds: number }> {}

const retryAfterSeconds = 5

/** Makes the functions that read and write the records of carriers' references. */
const makeRecords = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal
  const recordId = (id: string) => ({ workspace_id: directoryWorkspace, kind: CarrierReference.kind.name, id })

  /**
   * Finds where a reference is stored, and its record. A record that was stored before a key rotation is found with the
   * older seal key.
   */
  const load = Effect.fnUntraced(function* (carrierId: string, ref: string) {
    const ids: Array<string> = []
    for (const keyName of seal.key_names) {
      const mac = yield* seal.macLike(macOfKey(keyName), CarrierReference.purposeOf(carrierId), ref)
      if (mac === null) continue
      const id = CarrierReference.idOf(carrierId, mac)
      const stored = yield* storage.get(recordId(id))
      if (Option.isSome(stored)) return { id, record: stored.value }
      ids.push(id)
    }
    const [id] = ids
    return id === undefined ? yield* Effect.die(new Error("At least one seal key is required")) : { id, record: null }
  })

  /** Stores the ask that a reference identifies, as the next version after `record`. */
  const store = Effect.fnUntraced(function* (
    { id, record }: { readonly id: string; readonly record: Change.StoredRecord | null },
    value: CarrierReference.CarrierReference
  ) {
    const now = yield* Clock.currentTimeMillis
    const version = (record?.version ?? 0) + 1
    const writes = [
      CarrierReference.toStored(value, { id, version, created_at: record?.created_at ?? now, updated_at: now })
    ]
    yield* commit(storage, Change.make(directoryWorkspace, { writes }))
  })

  /**
   * Marks an unknown reference when its first callback arrives. For a minute, callbacks with the reference are rejected
   * as too early; after that, they are treated as not genuine.
   */
  const early = Effect.fnUntraced(function* (carrierId: string, ref: string) {
    const mac = yield* seal.mac(CarrierReference.purposeOf(carrierId), ref)
    const id = EarlyCallback.idOf(carrierId, mac)
    const stored = yield* storage.get({ workspace_id: directoryWorkspace, kind: EarlyCallback.kind.name, id })
    const previous = Option.getOrNull(stored)
    const now = yield* Clock.currentTimeMillis
    const mark = previous === null ? null : EarlyCallback.kind.value(previous)
    const decision = EarlyCallback.decide(mark, mac, now)
    if (decision === "unknown") return null
    if (decision === "mark") {
      const writes = [EarlyCallback.toStored(carrierId, { mac, seen_at: now }, previous)]
      const marking = commit(storage, Change.make(directoryWorkspace, { writes }))
      // A concurrent write has marked this or another reference in the slot. The carrier will resend the callback.
      yield* Effect.catchTag(marking, "VersionConflict", () => Effect.void)
    }
    return yield* new CallbackTooEarly({ retry_after_seconds: retryAfterSeconds })
  })

  return { load, store, early }
})

const make = Effect.gen(function* () {
  const seal = yield* Seal
  const askRecords = yield* PendingAsks.PendingAsks
  const records = yield* makeRecords

  const isStillPending = (carrierId: string, { workspace_id, quote_request_id }: CarrierReference.CarrierReference) =>
    Effect.map(
      askRecords.request(workspace_id, quote_request_id),
      (request) => request !== null && isPending(request, carrierId)
    )

  /** Stores which ask a reference identifies. Returns false if the reference already identifies another pending ask. */
  const remember = Effect.fnUntraced(function* (
    { candidate, workspace_id, request }: PendingAsks.PendingAsk,
    ref: string
  ) {
    const carrierId = candidate.adapter.carrier.id
    const loaded = yield* records.load(carrierId, ref)
    const reference = loaded.record === null ? null : CarrierReference.kind.value(loaded.record)
    if (reference?.workspace_id === workspace_id && reference.quote_request_id === request.id) return true
    if (reference !== null && (yield* isStillPending(carrierId, reference))) return false
    yield* records.store(loaded, { workspace_id, quote_request_id: request.id })
    return true
  }, retryOnConflict)

  /**
   * Stores the reference with which a carrier accepts an ask and promises to call back.
   *
   * If the reference is invalid or belongs to another pending ask, the reply is treated as unreadable, because its
   * callback could reach the wrong person's request.
   */
  const accept = Effect.fnUntraced(function* (
    pendingAsk: PendingAsks.PendingAsk,
    reply: Extract<CarrierReply, { readonly kind: "pending" }>
  ) {
    const { adapter } = pendingAsk.candidate
    const callsBack = reply.poll_after_ms === null && adapter.callback !== undefined
    if (!callsBack || reply.ref === "" || reply.ref === pendingAsk.ask.idempotency_key) return reply
    const isTaken = CarrierReference.isRef(reply.ref) && (yield* remember(pendingAsk, reply.ref))
    return isTaken ? reply : yield* Effect.as(AnswerRules.log([notOwn]), Reply.unavailable("unreadable_answer"))
  })

  /** Finds the ask that a reference identifies; null if the reference is unknown. */
  const find = Effect.fnUntraced(function* (carrierId: string, ref: string) {
    const tokens = askTokens(carrierId)
    if (tokens.isLike(ref)) return yield* tokens.read(seal, ref)
    if (!CarrierReference.isRef(ref)) return null
    const { record } = yield* records.load(carrierId, ref)
    if (record === null) return yield* records.early(carrierId, ref)
    const { quote_request_id: id, workspace_id } = CarrierReference.kind.value(record)
    return { workspace_id, id }
  })

  return { accept, find }
})

/** Finds the ask that a callback answers: by the ask's `idempotency_key`, or by the carrier's own reference. */
export class CarrierReferences extends Context.Service<CarrierReferences, Effect.Success<typeof make>>()(
  "@quotewire/core/CarrierReferences"
) {
  static readonly layer: Layer.Layer<CarrierReferences, never, Storage | Seal | PendingAsks.PendingAsks> = Layer.effect(
    CarrierReferences,
    make
  )
}

const notOwn = {
  path: "ref",
  message:
    "Must be 1 to 200 characters without control characters, and different from the ref of every other pending ask to this carrier."
}

/** Identifies an ask by its request and carrier. */
type Ask = Pick<JobPayload.Payloads["ask_carrier"], "quote_request_id" | "carrier_id">

const sealedFor = (workspaceId: WorkspaceId, { carrier_id, quote_request_id }: Ask): string =>
  `accepted_ref ${workspaceId} ${quote_request_id} ${carrier_id}`

/** Seals the reference of an accepted ask, for storage in the ask's jobs. */
export const sealAccepted = (
  sealer: Seal["Service"],
  workspaceId: WorkspaceId,
  ask: Ask,
  ref: string
): Effect.Effect<string> => sealer.seal(sealedFor(workspaceId, ask), ref)

/** Opens the sealed reference in an ask's job; null if it was altered. */
export const openAccepted = (
  sealer: Seal["Service"],
  workspaceId: WorkspaceId,
  ask: Ask & { readonly sealed_ref: string }
): Effect.Effect<string | null, StorageUnavailable> => sealer.open(sealedFor(workspaceId, ask), ask.sealed_ref)

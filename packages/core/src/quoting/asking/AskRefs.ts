import { Clock, Data, Effect, Option } from "effect"
import { Seal } from "../../access/Seal.ts"
import { askTokens } from "../../access/Token.ts"
import * as AnswerRules from "../../carriers/AnswerRules.ts"
import type { CarrierReply } from "../../carriers/Carrier.ts"
import * as Reply from "../../carriers/Reply.ts"
import * as Change from "../../storage/Change.ts"
import { commit, directoryWorkspace, retryOnConflict, Storage } from "../../storage/Storage.ts"
import { minute_ms } from "../../wire/Timestamp.ts"
import * as AskLoading from "./AskLoading.ts"
import * as AskRef from "./AskRef.ts"

/** A genuine callback names an ask that is not known yet. The carrier must send it again. */
export class CallbackTooEarly extends Data.TaggedError("CallbackTooEarly")<{ readonly retry_after_seconds: number }> {}

/** How long a callback with an unknown number may be early. An ask that is under way has ended by then. */
const early_ms = minute_ms
const retry_after_seconds = 5

type StorageService = Storage["Service"]

/** The record of a carrier's number; null if it is not known. */
const load = Effect.fnUntraced(function* (storage: StorageService, carrier_id: string, ref: string) {
  const id = AskRef.idOf(carrier_id, ref)
  const stored = yield* storage.get({ workspace_id: directoryWorkspace, kind: AskRef.kind.name, id })
  return Option.getOrNull(stored)
})

/** Stores what a number stands for, as the version after `before`. */
const store = Effect.fnUntraced(function* (
  storage: StorageService,
  carrier_id: string,
  ref: string,
  value: AskRef.AskRef,
  before: Change.StoredRecord | null
) {
  const now = yield* Clock.currentTimeMillis
  const version = (before?.version ?? 0) + 1
  const meta = { version, created_at: before?.created_at ?? now, updated_at: now }
  const writes = [AskRef.toStored(carrier_id, ref, value, meta)]
  yield* commit(storage, Change.make(directoryWorkspace, { writes }))
})

/** Finds the ask that a callback answers: by the ask's `idempotency_key`, or by the carrier's own number. */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal
  const loading = yield* AskLoading.make

  const isStillPending = (carrier_id: string, { workspace_id, quote_request_id }: NonNullable<AskRef.AskRef["ask"]>) =>
    Effect.map(
      loading.request(workspace_id, quote_request_id),
      (request) => request !== null && AskLoading.isPending(request, carrier_id)
    )

  /** Remembers a number for an ask; false if it belongs to another ask that is still pending. */
  const remember = Effect.fnUntraced(function* (
    { candidate, workspace_id, request }: AskLoading.PendingAsk,
    ref: string
  ) {
    const carrier_id = candidate.adapter.carrier.id
    const stored = yield* load(storage, carrier_id, ref)
    const known = stored === null ? null : AskRef.kind.value(stored).ask
    if (known?.workspace_id === workspace_id && known.quote_request_id === request.id) return true
    if (known !== null && (yield* isStillPending(carrier_id, known))) return false
    yield* store(storage, carrier_id, ref, { ask: { workspace_id, quote_request_id: request.id } }, stored)
    return true
  }, retryOnConflict)

  /**
   * Remembers the number with which a carrier accepts an ask and promises to call back.
   *
   * A number that is not valid, or that belongs to another pending ask, makes the reply unreadable: a callback could reach
   * the wrong person.
   */
  const accept = Effect.fnUntraced(function* (pending: AskLoading.PendingAsk, reply: CarrierReply) {
    const { adapter } = pending.candidate
    const callsBack = reply.kind === "pending" && reply.poll_after_ms === null && adapter.callback !== undefined
    if (!callsBack || reply.ref === "" || reply.ref === pending.ask.idempotency_key) return reply
    const isTaken = AskRef.isRef(reply.ref) && (yield* remember(pending, reply.ref))
    return isTaken ? reply : yield* Effect.as(AnswerRules.log([notOwn]), Reply.unavailable("unreadable_answer"))
  })

  /** Marks an unknown number at its first callback, so that it is too early for a while, and then unknown. */
  const early = Effect.fnUntraced(function* (carrier_id: string, ref: string, marked: Change.StoredRecord | null) {
    if (marked !== null && (yield* Clock.currentTimeMillis) - marked.updated_at >= early_ms) return null
    // Whoever writes at the same time either marks it as well, or registers it for the carrier's next try.
    if (marked === null)
      yield* Effect.catchTag(store(storage, carrier_id, ref, { ask: null }, null), "VersionConflict", () => Effect.void)
    return yield* new CallbackTooEarly({ retry_after_seconds })
  })

  /** The ask with this reference; null if there is none. */
  const find = Effect.fnUntraced(function* (carrier_id: string, ref: string) {
    const tokens = askTokens(carrier_id)
    if (tokens.isLike(ref)) return yield* tokens.read(seal, ref)
    if (!AskRef.isRef(ref)) return null
    const stored = yield* load(storage, carrier_id, ref)
    const ask = stored === null ? null : AskRef.kind.value(stored).ask
    return ask === null
      ? yield* early(carrier_id, ref, stored)
      : { workspace_id: ask.workspace_id, id: ask.quote_request_id }
  })

  return { accept, find }
})

const notOwn = {
  path: "ref",
  message: "Must be 1 to 200 characters without control characters, and of no other pending ask to this carrier."
}

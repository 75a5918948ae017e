import { Clock, Context, Effect, Fiber, FiberSet, identity, Layer, Option } from "effect"
import type { Caller } from "../access/Caller.ts"
import { Seal } from "../access/sealing/Seal.ts"
import { type Moment, Workspaces } from "../access/Workspaces.ts"
import * as Change from "../storage/Change.ts"
import { commit, retryOnConflict, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import * as Fingerprint from "./Fingerprint.ts"
import { type IdempotencyRecord, idOf, kind } from "./IdempotencyRecord.ts"

/** A call that must run only once, however often the caller sends it. */
export interface KeyedCall {
  /** Who makes the call, when, and with which input. A retry is recognized by its input as sent. */
  readonly call: { readonly caller: Caller; readonly moment: Moment; readonly sent: unknown }
  readonly operation: string
  /** The `Idempotency-Key`, which `keyErrors` has already checked. */
  readonly key: string | null
  /** The date of this release's newest revision, in which responses are stored. */
  readonly form: string
}

/** A response, the date of the revision in which it is written, and whether it is a replay. */
export interface Answer<A> {
  readonly json: Json.Json<A>
  readonly form: string
  readonly replayed: boolean
}

/** Runs calls with an `Idempotency-Key` once, and stores their responses (api.md, Idempotency). */
export class IdempotentCalls extends Context.Service<
  IdempotentCalls,
  {
    /**
     * Runs the call, or replays its first response.
     *
     * Refuses with `conflict` if the key was used with a different input (`use_new_request_key`), or if the first call
     * is still running (`wait`).
     */
    readonly runOnce: <A, E, R>(
      keyed: KeyedCall,
      run: Effect.Effect<Json.Json<A>, E, R>,
      redact?: (answer: Json.Json<A>) => Json.Json<A>
    ) => Effect.Effect<Answer<A>, E | ApiError.ApiError<"conflict"> | StorageUnavailable, R>
  }
>()("@quotewire/core/IdempotentCalls") {
  static readonly layer: Layer.Layer<IdempotentCalls, never, Storage | Seal | Workspaces> = Layer.effect(
    IdempotentCalls,
    Effect.gen(function* () {
      return IdempotentCalls.of({ runOnce: yield* makeRunOnce })
    })
  )
}

/** Makes the functions that write an idempotent call's record. */
const makeRecords = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces

  // Date the record when it is written, not when the call began. Otherwise, the response to a call that advances the
  // clock by a year would already be a year old.
  const write = Effect.fnUntraced(function* (id: RecordId, version: number, idempotencyRecord: IdempotencyRecord) {
    const { now } = yield* workspaces.moment(id.workspace_id)
    const record = kind.record(idempotencyRecord, { id: id.name, version, created_at: now, updated_at: now })
    yield* commit(storage, Change.make(id.workspace_id, { writes: [record] }))
  })

  /**
   * Stores a call's outcome as the next version of its record. If retention has erased the record in the meantime,
   * stores the outcome as the first version.
   */
  const conclude = (id: RecordId, record: IdempotencyRecord) =>
    retryOnConflict(
      Effect.flatMap(storage.get(placeOf(id)), (stored) =>
        write(id, Option.isSome(stored) ? stored.value.version + 1 : 1, record)
      )
    )

  const runningNow = (fingerprint: string) =>
    Effect.map(
      Clock.currentTimeMillis,
      (realNow): IdempotencyRecord => ({
        state: "running",
        fingerprint,
        until: realNow + runningMs
      })
    )

  /**
   * Renews the record while a call runs. Stops on a conflict, which means that the record was erased or the call has
   * ended.
   */
  const renewing = Effect.fnUntraced(
    function* (id: RecordId, version: number, fingerprint: string) {
      for (let next = version + 1; ; next++) {
        yield* Effect.sleep(renewMs)
        yield* write(id, next, yield* runningNow(fingerprint))
      }
    },
    (renewals) => Effect.ignore(renewals)
  )

  return { write, conclude, runningNow, renewing }
})

const makeRunOnce = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal
  const { conclude, renewing, runningNow, write } = yield* makeRecords
  const running = yield* FiberSet.make()
  yield* Effect.addFinalizer(() =>
    Effect.timeoutOption(Effect.interruptible(FiberSet.awaitEmpty(running)), lastCallsMs)
  )

  return Effect.fnUntraced(function* <A, E, R>(
    keyed: KeyedCall,
    run: Effect.Effect<Json.Json<A>, E, R>,
    redact = identity<Json.Json<A>>
  ) {
    const id: RecordId = {
      workspace_id: keyed.call.moment.workspace.id,
      name: idOf(keyed.operation, keyed.key)
    }
    const place = placeOf(id)
    const stored = yield* storage.get(place)
    const storedRecord = Option.map(stored, kind.value)
    const version = Option.match(stored, { onNone: () => 0, onSome: (record) => record.version })
    const { sent } = keyed.call

    if (Option.isSome(storedRecord) && storedRecord.value.state !== "released") {
      const realNow = yield* Clock.currentTimeMillis
      const previous = storedRecord.value
      if (!(yield* Fingerprint.matches(seal, place, previous.fingerprint, sent))) return yield* otherInput
      if (previous.state === "done") {
        return { json: Json.fromText<A>(previous.body), form: previous.form, replayed: true }
      }
      if (realNow < previous.until) return yield* stillRunning
    }
    const fingerprint = yield* Fingerprint.of(seal, place, sent)

    const first = Effect.gen(function* () {
      yield* write(id, version + 1, yield* runningNow(fingerprint)).pipe(
        Effect.catchTag("VersionConflict", () => stillRunning)
      )
      yield* Effect.forkChild(renewing(id, version + 1, fingerprint))
      const json = yield* Effect.onError(run, () => Effect.ignore(conclude(id, { state: "released", fingerprint })))
      yield* conclude(id, { state: "done", fingerprint, form: keyed.form, body: redact(json).text })
      return { json, form: keyed.form, replayed: false }
    })
    // If the caller disconnects, the call still runs to completion, so that its response can be replayed.
    return yield* Effect.flatMap(FiberSet.run(running, first), Fiber.join)
  })
})

/**
 * How long a record is valid without a renewal, in milliseconds. After that, the host that runs the call is presumed
 * dead, and a retry may run the call again.
 */
const runningMs = 30_000
/** How often a running call renews its record, in milliseconds. */
const renewMs = 10_000

/** How long the calls of disconnected callers may continue when the service stops, in milliseconds. */
const lastCallsMs = 500

/** Refuses an `Idempotency-Key` that was used with a different input. */
export const otherInput = Effect.fail(
  ApiError.make("conflict", {
    message: "This Idempotency-Key was used with a different input.",
    retry_action: "use_new_request_key"
  })
)

const stillRunning = Effect.fail(
  ApiError.make("conflict", {
    message: "The first call with this Idempotency-Key is still running.",
    retry_action: "wait"
  })
)

const visibleAscii = /^[\x21-\x7e]{1,255}$/

interface RecordId {
  readonly workspace_id: WorkspaceId
  readonly name: string
}

const placeOf = ({ name, workspace_id }: RecordId) => ({ workspace_id, kind: kind.name, id: name })

/** Checks an `Idempotency-Key`. Returns an error if the key is missing or malformed. */
export const keyErrors = (key: string | null): ReadonlyArray<ApiError.FieldError> =>
  key !== null && visibleAscii.test(key)
    ? []
    : [{ path: "Idempotency-Key", message: "Send this header with 1 to 255 visible ASCII characters." }]

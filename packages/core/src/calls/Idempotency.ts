import { Clock, Context, Effect, Fiber, FiberSet, identity, Layer, Option } from "effect"
import type { Caller } from "../access/Caller.ts"
import { Seal } from "../access/Seal.ts"
import { type Moment, Workspaces } from "../access/Workspaces.ts"
import * as Change from "../storage/Change.ts"
import { commit, retryOnConflict } from "../storage/retryOnConflict.ts"
import { Storage, type StorageUnavailable } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { fingerprintLike } from "./Fingerprint.ts"
import * as RememberedCall from "./RememberedCall.ts"

/** A call that must run once, however often it is sent. */
export interface KeyedCall {
  /** Who calls, when, and with what: repeats are compared by the input as it was sent. */
  readonly call: { readonly caller: Caller; readonly moment: Moment; readonly sent: unknown }
  readonly operation: string
  /** The `Idempotency-Key`, which `keyErrors` has found right. */
  readonly key: string | null
  /** The revision in whose form this release answers: the newest. */
  readonly form: string
}

/** An answer, the revision in whose form it is, and whether it was given before. */
export interface Answer<A> {
  readonly json: Json.Json<A>
  readonly form: string
  readonly replayed: boolean
}

/** Remembers the answers of calls with an `Idempotency-Key` (api.md, Endpoints, rule 3). */
export class Answers extends Context.Service<
  Answers,
  {
    /**
     * Runs the call, or gives its first answer again.
     *
     * Refuses with `conflict` where the key came with another input (`use_new_request_key`), or its first call is still
     * running (`wait`).
     */
    readonly once: <A, E, R>(
      keyed: KeyedCall,
      run: Effect.Effect<Json.Json<A>, E, R>,
      remember?: (answer: Json.Json<A>) => Json.Json<A>
    ) => Effect.Effect<Answer<A>, E | ApiError.ApiError<"conflict"> | StorageUnavailable, R>
  }
>()("@quotewire/core/Answers") {
  static readonly layer: Layer.Layer<Answers, never, Storage | Seal | Workspaces> = Layer.effect(
    Answers,
    Effect.gen(function* () {
      const storage = yield* Storage
      const seal = yield* Seal
      const workspaces = yield* Workspaces
      const running = yield* FiberSet.make()
      yield* Effect.addFinalizer(() =>
        Effect.timeoutOption(Effect.interruptible(FiberSet.awaitEmpty(running)), last_calls_ms)
      )

      // The time of the record is that of its writing: an advance of a year must not make its own answer a year old.
      const write = Effect.fnUntraced(function* (id: RecordId, version: number, kept: RememberedCall.RememberedCall) {
        const { now } = yield* workspaces.moment(id.workspace_id)
        const record = RememberedCall.kind.record(kept, { id: id.name, version, created_at: now, updated_at: now })
        yield* commit(storage, Change.make(id.workspace_id, { writes: [record] }))
      })

      /** Writes how a call has ended, over whatever stands there now: retention may have erased the record meanwhile. */
      const conclude = (id: RecordId, kept: RememberedCall.RememberedCall) =>
        retryOnConflict(
          Effect.flatMap(
            storage.get({ workspace_id: id.workspace_id, kind: RememberedCall.kind.name, id: id.name }),
            (stored) => write(id, Option.isSome(stored) ? stored.value.version + 1 : 1, kept)
          )
        )

      const runningNow = (fingerprint: string) =>
        Effect.map(
          Clock.currentTimeMillis,
          (real_now): RememberedCall.RememberedCall => ({ state: "running", fingerprint, until: real_now + running_ms })
        )

      /** Says while a call runs that it does, until its record has become another's: it was erased, or the call has ended. */
      const staying = Effect.fnUntraced(
        function* (id: RecordId, version: number, fingerprint: string) {
          for (let next = version + 1; ; next++) {
            yield* Effect.sleep(renew_ms)
            yield* write(id, next, yield* runningNow(fingerprint))
          }
        },
        (words) => Effect.ignore(words)
      )

      const once = Effect.fnUntraced(function* <A, E, R>(
        keyed: KeyedCall,
        run: Effect.Effect<Json.Json<A>, E, R>,
        remember = identity<Json.Json<A>>
      ) {
        const id: RecordId = {
          workspace_id: keyed.call.moment.workspace.id,
          name: RememberedCall.idOf(keyed.operation, keyed.key)
        }
        const stored = yield* storage.get({
          workspace_id: id.workspace_id,
          kind: RememberedCall.kind.name,
          id: id.name
        })
        const kept = Option.map(stored, RememberedCall.kind.value)
        const version = Option.match(stored, { onNone: () => 0, onSome: (record) => record.version })
        const text = Json.canonical([keyed.operation, keyed.call.sent])
        // What is free is not compared with, so its seal key may be gone.
        const older = Option.isSome(kept) && kept.value.state !== "free" ? kept.value.fingerprint : null
        const fingerprint = yield* fingerprintLike(seal, older, text)

        if (Option.isSome(kept)) {
          const real_now = yield* Clock.currentTimeMillis
          const before = kept.value
          if (before.state !== "free" && before.fingerprint !== fingerprint) return yield* usedOtherwise
          if (before.state === "done") {
            return { json: Json.fromText<A>(before.body), form: before.form, replayed: true }
          }
          if (before.state === "running" && real_now < before.until) return yield* stillRunning
        }

        const first = Effect.gen(function* () {
          yield* write(id, version + 1, yield* runningNow(fingerprint)).pipe(
            Effect.catchTag("VersionConflict", () => stillRunning)
          )
          yield* Effect.forkChild(staying(id, version + 1, fingerprint))
          const json = yield* Effect.onError(run, () => Effect.ignore(conclude(id, { state: "free", fingerprint })))
          yield* conclude(id, { state: "done", fingerprint, form: keyed.form, body: remember(json).text })
          return { json, form: keyed.form, replayed: false }
        })
        // A caller that hangs up leaves nothing half done: what has begun is brought to its end and can be replayed.
        return yield* Effect.flatMap(FiberSet.run(running, first), Fiber.join)
      })

      return Answers.of({ once })
    })
  )
}

/** How long after the last word of a call that runs a repeat may take its place: its host has died. */
const running_ms = 30_000
/** How often a call that runs says so, in milliseconds. */
const renew_ms = 10_000

/** How long calls whose callers have hung up may go on when the service ends, before they are broken off, in milliseconds. */
const last_calls_ms = 500

const usedOtherwise = Effect.fail(
  ApiError.make("conflict", {
    message: "This Idempotency-Key was used with another input.",
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

/** What is wrong with an `Idempotency-Key` where one is needed. */
export const keyErrors = (key: string | null): ReadonlyArray<ApiError.FieldError> =>
  key !== null && visibleAscii.test(key)
    ? []
    : [{ path: "Idempotency-Key", message: "Send this header with 1 to 255 visible ASCII characters." }]

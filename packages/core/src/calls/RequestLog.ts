import { Context, Effect, Latch, Layer } from "effect"
import * as Cursor from "../access/Cursor.ts"
import { Seal } from "../access/sealing/Seal.ts"
import * as Supervise from "../concurrency/Supervise.ts"
import * as Change from "../storage/Change.ts"
import { commit, readOne, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import { aboutOf } from "../wire/AboutIds.ts"
import * as ApiError from "../wire/ApiError.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { defaultLimit } from "../wire/Pagination.ts"
import { toMillis } from "../wire/Timestamp.ts"
import type { Call } from "./Call.ts"
import {
  type CallWithKey,
  type FinishedCall,
  hasKey,
  kind,
  type ListInput,
  labels,
  type RequestLogEntry,
  type RequestLogPage,
  toStored
} from "./FinishedCall.ts"

/** Whether calls are logged. If false, the request log's operations are unavailable. */
export const RequestLogEnabled = Context.Reference<boolean>("@quotewire/core/RequestLogEnabled", {
  defaultValue: () => true
})

/**
 * Logs calls made with an organization's keys, and reads the log (api.md, Request log).
 *
 * Calls are buffered in memory. They are written every half second, as soon as 500 are waiting, and when the layer
 * closes; each workspace's calls are one change. While storage is unavailable, the newest 50,000 calls are kept, and
 * the number of dropped calls is logged.
 */
export class RequestLog extends Context.Service<
  RequestLog,
  {
    /** Whether calls are logged. */
    readonly isKept: boolean
    /** Logs a finished call. A call without a key belongs to no organization and is not logged. */
    readonly add: (call: FinishedCall) => void
    /** Lists the calls of the caller's workspace, newest first. */
    readonly list: (
      call: Call,
      input: ListInput
    ) => Effect.Effect<Json.Json<RequestLogPage>, ApiError.ApiError<"invalid_cursor"> | StorageUnavailable>
    /** Reads one call of the caller's workspace. */
    readonly get: (
      call: Call,
      id: string
    ) => Effect.Effect<Json.Json<RequestLogEntry>, ApiError.ApiError<"not_found"> | StorageUnavailable>
  }
>()("@quotewire/core/RequestLog") {
  static readonly layer: Layer.Layer<RequestLog, never, Storage | Seal> = Layer.effect(
    RequestLog,
    Effect.gen(function* () {
      const storage = yield* Storage
      const seal = yield* Seal
      const isKept = yield* RequestLogEnabled
      const buffer = new CallBuffer<CallWithKey>(maxBuffered)
      const callsLatch = Latch.makeUnsafe()
      const fullLatch = Latch.makeUnsafe()
      const write = makeWriteCalls(storage, buffer)

      const writeBuffered = Effect.gen(function* () {
        yield* callsLatch.await
        yield* Effect.timeoutOption(fullLatch.await, writeEveryMs)
        yield* fullLatch.close
        yield* callsLatch.close
        yield* Effect.onError(write, () => callsLatch.open)
      }).pipe(Effect.catchTag("StorageUnavailable", () => Effect.void))

      const writeLast = write.pipe(
        Effect.interruptible,
        Effect.timeoutOption(lastWriteMs),
        Effect.ignore,
        Effect.andThen(Effect.suspend(() => warnOf(buffer.size)))
      )

      const add = (call: FinishedCall): void => {
        if (!hasKey(call)) return
        buffer.add(call)
        callsLatch.openUnsafe()
        // Open the latch only for the call that fills the buffer to this size, not for later calls. Otherwise, while
        // storage is unavailable, every call would cause a write.
        if (buffer.size === maxChangeCalls) fullLatch.openUnsafe()
      }

      if (isKept) {
        yield* Effect.addFinalizer(() => writeLast)
        yield* Effect.forkScoped(Supervise.repeatForever("The request log", writeBuffered, writeEveryMs))
      }
      return RequestLog.of({
        isKept,
        add: isKept ? add : () => {},
        list: (call, input) => list(storage, seal, call, input),
        get: (call, id) => get(storage, call, id)
      })
    })
  )
}

const maxBuffered = 50_000
/** How often calls are written. A call can be read within a second after it ends. */
const writeEveryMs = 500
/** How long the last write may take when a host shuts down. */
const lastWriteMs = 900
/**
 * The maximum number of calls in a change. When this many are waiting, they are written immediately, to keep garbage
 * collection cheap.
 */
const maxChangeCalls = 500

/** Makes an effect that writes the buffered calls. Calls that could not be written go back into the buffer. */
const makeWriteCalls = (
  storage: Storage["Service"],
  buffer: CallBuffer<CallWithKey>
): Effect.Effect<void, StorageUnavailable> =>
  Effect.suspend(() => {
    const unwritten = new Set(batchesOf(buffer.take()))
    const writeOne = (batch: Batch) =>
      Effect.exit(Effect.tap(storeBatch(storage, batch), () => Effect.sync(() => unwritten.delete(batch))))
    return Effect.forEach([...unwritten], writeOne, { concurrency: 4 }).pipe(
      // Fails only after every batch has been tried: an unavailable workspace must not delay the logs of other
      // workspaces.
      Effect.flatMap((exits) => Effect.forEach(exits, (exit) => exit, { discard: true })),
      Effect.ensuring(Effect.sync(() => buffer.putBack([...unwritten].flatMap(({ calls }) => calls)))),
      Effect.andThen(Effect.suspend(() => warnOf(buffer.takeLost())))
    )
  })

/** Calls of one workspace, to be written in one change. */
interface Batch {
  readonly workspace_id: WorkspaceId
  readonly calls: ReadonlyArray<CallWithKey>
}

const batchesOf = (calls: ReadonlyArray<CallWithKey>): ReadonlyArray<Batch> =>
  Array.from(
    Map.groupBy(calls, (call) => call.caller.workspace_id),
    ([workspace_id, callsOfWorkspace]) =>
      Array.from({ length: Math.ceil(callsOfWorkspace.length / maxChangeCalls) }, (_, index) => ({
        workspace_id,
        calls: callsOfWorkspace.slice(index * maxChangeCalls, (index + 1) * maxChangeCalls)
      }))
  ).flat()

const storeBatch = (
  storage: Storage["Service"],
  { calls, workspace_id }: Batch
): Effect.Effect<void, StorageUnavailable> => {
  const writes = calls.map(toStored)
  const store = (records: ReadonlyArray<Change.StoredRecord>) =>
    commit(storage, Change.make(workspace_id, { writes: records }))
  const storeOne = (record: Change.StoredRecord) =>
    store([record]).pipe(
      // An earlier commit whose outcome was unknown has already stored the call.
      Effect.catchTag("VersionConflict", () => Effect.void),
      // Storage will never accept this call, so drop it: other calls are waiting behind it.
      Effect.catchDefect((defect) => Effect.logError("Could not log a call", defect))
    )
  const storeEach = Effect.forEach(writes, storeOne, { discard: true })
  return store(writes).pipe(
    Effect.catchTag("VersionConflict", () => storeEach),
    Effect.catchDefect(() => storeEach)
  )
}

const warnOf = (lostCount: number) =>
  lostCount === 0
    ? Effect.void
    : Effect.logWarning(`Storage was unreachable; the request log is missing ${lostCount} calls`)

const list = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  seal: Seal["Service"],
  { caller: { workspace_id } }: Call,
  input: ListInput
) {
  const { limit = defaultLimit, cursor, ...filters } = input
  const scope = { list: "api_requests", workspace_id, filters }
  const after = cursor === undefined ? null : yield* Cursor.read(seal, scope, cursor)
  const page = yield* storage.page({
    workspace_id,
    kind: kind.name,
    order: "newest",
    after,
    limit,
    labels: labels(filters),
    about: aboutOf(filters),
    ...(filters.since !== undefined && { created_after: toMillis(filters.since) })
  })
  const nextCursor = page.next === null ? null : yield* Cursor.write(seal, scope, page.next)
  return Json.object<RequestLogPage>({
    requests: Json.array(page.records.map(kind.json)),
    next_cursor: Json.encode(nextCursor)
  })
})

const get = Effect.fnUntraced(function* (storage: Storage["Service"], { caller: { workspace_id } }: Call, id: string) {
  const storedEntry = yield* readOne(storage, kind, workspace_id, id)
  if (storedEntry === null) return yield* ApiError.make("not_found")
  const { agent: _, ...entry } = storedEntry
  return Json.encode<RequestLogEntry>(entry)
})

/**
 * A bounded buffer of calls that wait to be written, oldest first.
 *
 * When it is full, the oldest calls are dropped and counted as lost.
 */
export class CallBuffer<A> {
  private calls: Array<A> = []
  private lost = 0
  private readonly room: number

  constructor(room: number) {
    this.room = room
  }

  get size(): number {
    return this.calls.length
  }

  add(call: A): void {
    if (this.calls.length >= this.room) this.drop(Math.ceil(this.room / 10))
    this.calls.push(call)
  }

  /** Takes all calls out of the buffer. */
  take(): ReadonlyArray<A> {
    const taken = this.calls
    this.calls = []
    return taken
  }

  /** Puts back calls that could not be written, in front of newer calls that arrived in the meantime. */
  putBack(calls: ReadonlyArray<A>): void {
    this.calls = [...calls, ...this.calls]
    this.drop(this.calls.length - this.room)
  }

  /** How many calls the log has lost since `takeLost` was last called. */
  takeLost(): number {
    const { lost } = this
    this.lost = 0
    return lost
  }

  // Drops the oldest calls together, because every removal at the front moves all remaining calls.
  private drop(count: number): void {
    if (count > 0) this.lost += this.calls.splice(0, count).length
  }
}

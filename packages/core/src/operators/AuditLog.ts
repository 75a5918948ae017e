import { Context, Effect, Layer } from "effect"
import * as Cursor from "../access/Cursor.ts"
import { Seal } from "../access/sealing/Seal.ts"
import * as Change from "../storage/Change.ts"
import { commit, directoryWorkspace, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type * as ApiError from "../wire/ApiError.ts"
import * as Json from "../wire/Json.ts"
import { defaultLimit } from "../wire/Pagination.ts"
import { toMillis } from "../wire/Timestamp.ts"
import * as AuditEntry from "./AuditEntry.ts"

/**
 * Records what operators do. An entry is added once, and completed when its call ends; apart from that, it is never
 * changed, and only retention erases it.
 */
export class AuditLog extends Context.Service<
  AuditLog,
  {
    /** Adds an entry. */
    readonly add: (entry: AuditEntry.AuditEntry) => Effect.Effect<void, StorageUnavailable>
    /** Completes an entry with its call's outcome. */
    readonly end: (entry: AuditEntry.AuditEntry) => Effect.Effect<void, StorageUnavailable>
    /** Lists entries, newest first. */
    readonly list: (
      input: AuditEntry.ListInput
    ) => Effect.Effect<Json.Json<AuditEntry.AuditPage>, ApiError.ApiError<"invalid_cursor"> | StorageUnavailable>
  }
>()("@quotewire/core/AuditLog") {
  static readonly layer: Layer.Layer<AuditLog, never, Storage | Seal> = Layer.effect(
    AuditLog,
    Effect.gen(function* () {
      const storage = yield* Storage
      const seal = yield* Seal

      const write = (entry: AuditEntry.AuditEntry, version: 1 | 2) =>
        commit(storage, Change.make(directoryWorkspace, { writes: [AuditEntry.toStored(entry, version)] })).pipe(
          // This commit cannot conflict: the ID is new, and only this process knows it.
          Effect.catchTag("VersionConflict", (conflict) => Effect.die(conflict))
        )

      const list = Effect.fn("AuditLog.list")(function* (input: AuditEntry.ListInput) {
        const { limit = defaultLimit, cursor, ...filters } = input
        const scope = { list: "audit_log", workspace_id: directoryWorkspace, filters }
        const after = cursor === undefined ? null : yield* Cursor.read(seal, scope, cursor)
        const page = yield* storage.page({
          workspace_id: directoryWorkspace,
          kind: AuditEntry.kind.name,
          order: "newest",
          after,
          limit,
          labels: AuditEntry.labelsOf(filters),
          about: AuditEntry.aboutOf(filters),
          ...(filters.since !== undefined && { created_after: toMillis(filters.since) })
        })
        const nextCursor = page.next === null ? null : yield* Cursor.write(seal, scope, page.next)
        return Json.object<AuditEntry.AuditPage>({
          entries: Json.array(page.records.map(AuditEntry.kind.json)),
          next_cursor: Json.encode(nextCursor)
        })
      })

      return AuditLog.of({ add: (entry) => write(entry, 1), end: (entry) => write(entry, 2), list })
    })
  )
}

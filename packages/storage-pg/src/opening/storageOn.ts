import { type Change, Checks, Hints, type Ids, kinds, Storage } from "@quotewire/core"
import { Effect, Schema, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import * as ChangeWriter from "../changes/ChangeWriter.ts"
import { rewrite } from "../changes/rewrite.ts"
import { makeAddCounts } from "../counts/addCounts.ts"
import type { PlacedDatabase } from "../database/Database.ts"
import { erase } from "../erasure/erase.ts"
import * as Announcer from "../hints/Announcer.ts"
import type { Listen } from "../hints/Listener.ts"
import * as Claimer from "../jobs/Claimer.ts"
import { makeClaim, makeRelease } from "../jobs/claim.ts"
import { DueWork } from "../jobs/DueWork.ts"
import * as Reader from "../reads/Reader.ts"
import { someRowsReader } from "../rows/Columns.ts"

const nameHost = "select gen_random_uuid()::text as name"
const hostNames = someRowsReader(Schema.Struct({ name: Schema.String }))

/** What a storage backend needs besides its database. */
export interface Means {
  /** Listens to hints from other hosts. */
  readonly listen: Listen
  /** How many statements may write changes concurrently. */
  readonly writers: number
}

const aboutJobs = (workspace_id: Ids.WorkspaceId): Change.Hint => ({ about: "jobs", workspace_id })

/** Creates the storage that uses an open database. */
export const storageOn: (
  database: PlacedDatabase,
  means: Means
) => Effect.Effect<Storage.Storage["Service"], SqlError | Storage.StorageUnavailable, Scope.Scope> = Effect.fnUntraced(
  function* (database, means) {
    const [{ name }] = hostNames(yield* database.read(nameHost, []))
    const announce = yield* Announcer.make(name, database)
    const hints = new Hints.Hints()
    const due = new DueWork()
    yield* hints.watch(({ about }) => {
      if (about !== "record") due.hint()
    })
    // Whether this host claims jobs. If so, it reclaims released jobs itself, and other hosts hear of them only when it
    // stops. Otherwise a job that fails would go from host to host without a pause.
    let hasWorked = false
    const subscriber = { host: name, schema: database.schema, notify: hints.notify, works: () => hasWorked }
    let hasMoved = false
    yield* database.atEachPlace((connection) =>
      Effect.gen(function* () {
        yield* means.listen(connection, { ...subscriber, ...due.newsFromHere() })
        // Hints that were sent during the move were lost, so assume that everything changed.
        if (hasMoved) yield* hints.notify([{ about: "everything" }])
        hasMoved = true
      })
    )
    const announceAll = (pendingHints: ReadonlyArray<Change.Hint>): Effect.Effect<void> => {
      announce(pendingHints)
      return hints.notify(pendingHints)
    }
    const stored = (change: Change.Change) => Effect.suspend(() => announceAll(Hints.hintsOf(change, kinds)))
    const commit = yield* ChangeWriter.make(database, { queues: means.writers, stored })
    const released = new Set<Ids.WorkspaceId>()
    yield* Effect.addFinalizer(() => Effect.sync(() => announce([...released].map(aboutJobs))))
    const claim = yield* Claimer.make(makeClaim(database), due)
    const release = makeRelease(database)

    return Storage.Storage.of({
      ...(yield* Reader.make(database)),
      // Sends hints even if it is unknown whether the change was stored, because it may have stored jobs.
      commit: (change) =>
        Effect.suspend(() => {
          Checks.change(change, kinds)
          return Effect.tapErrorTag(commit(change), "StorageUnavailable", () =>
            Effect.sync(() => {
              due.hint()
              announce(Hints.hintsOf(change, kinds).filter(({ about }) => about === "jobs"))
            })
          )
        }),
      claim: (query) => {
        if (query.workspace_id === undefined) {
          hasWorked = true
          released.clear()
        }
        return claim(query)
      },
      release: (leases) =>
        Effect.map(release(leases), () => {
          due.hint()
          const workspaces = new Set(leases.map(({ workspace_id }) => workspace_id))
          if (!hasWorked) announce([...workspaces].map(aboutJobs))
          else for (const workspace_id of workspaces) released.add(workspace_id)
        }),
      erase: (erasure) => {
        const { what, workspace_id } = erasure
        const announced = Effect.suspend(() => announceAll(what === "workspace" ? [{ about: what, workspace_id }] : []))
        return Effect.tap(erase(database, erasure), announced)
      },
      rewrite: (workspaceId, rewrites) => rewrite(database, workspaceId, rewrites),
      addCounts: makeAddCounts(database),
      watch: hints.watch
    })
  }
)

import { type Change, Hints, kinds, Storage } from "@quotewire/core"
import { Effect, Schema, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import * as ChangeWriter from "../changes/ChangeWriter.ts"
import { rewrite } from "../changes/rewrite.ts"
import { makeTally } from "../counts/tallies.ts"
import type { PlacedDatabase } from "../database/Database.ts"
import { erase } from "../erasure/erase.ts"
import * as Announcer from "../hints/Announcer.ts"
import type { listen } from "../hints/Listener.ts"
import * as Claimer from "../jobs/Claimer.ts"
import { makeRelease } from "../jobs/claim.ts"
import * as Reader from "../reads/Reader.ts"
import { someRowsReader } from "../rows/Columns.ts"

const nameHost = "select gen_random_uuid()::text as name"
const hostNames = someRowsReader(Schema.Struct({ name: Schema.String }))

/** The dependencies of a storage besides its database. */
export interface Means {
  /** Listens to hints from other hosts. */
  readonly listen: typeof listen
  /** How many statements write changes at once. */
  readonly writers: number
}

/** The storage on an open database. */
export const storageOn: (
  database: PlacedDatabase,
  means: Means
) => Effect.Effect<Storage.Storage["Service"], SqlError | Storage.StorageUnavailable, Scope.Scope> = Effect.fnUntraced(
  function* (database, means) {
    const commit = yield* ChangeWriter.make(database, means.writers)
    const [{ name }] = hostNames(yield* database.read(nameHost, []))
    const announce = yield* Announcer.make(name, database)
    const hints = new Hints.Hints()
    let hasMoved = false
    yield* database.atEachPlace((connection) =>
      Effect.gen(function* () {
        yield* means.listen(name, connection, database.schema, hints.notify)
        // Hints that were sent during the move were lost.
        if (hasMoved) yield* hints.notify([{ about: "everything" }])
        hasMoved = true
      })
    )
    const announceAll = (all: ReadonlyArray<Change.Hint>): Effect.Effect<void> => {
      announce(all)
      return hints.notify(all)
    }

    return Storage.Storage.of({
      ...(yield* Reader.make(database)),
      commit: (change) =>
        Effect.andThen(
          commit(change),
          Effect.suspend(() => announceAll(Hints.hintsOf(change, kinds)))
        ),
      claim: yield* Claimer.make(database),
      release: makeRelease(database),
      erase: (erasure) => {
        const { what, workspace_id } = erasure
        const announced = Effect.suspend(() => announceAll(what === "workspace" ? [{ about: what, workspace_id }] : []))
        return Effect.tap(erase(database, erasure), announced)
      },
      rewrite: (workspaceId, rewrites) => rewrite(database, workspaceId, rewrites),
      addCounts: makeTally(database),
      watch: hints.watch
    })
  }
)

import type { Change, Ids, Storage } from "@quotewire/core"
import { Effect, Exit, Option, type Scope } from "effect"
import { texts } from "./columns.ts"
import type { Database } from "./Database.ts"
import * as Gatherer from "./Gatherer.ts"
import { placedRecords, recordColumns, records } from "./rows.ts"
import { unavailable } from "./StatementRefused.ts"

/** Names the newest version of a record. */
export interface Key {
  readonly workspace_id: Ids.WorkspaceId
  readonly kind: Change.RecordKind
  readonly id: string
}

type Found = Effect.Effect<Option.Option<Change.StoredRecord>, Storage.StorageUnavailable>

const alone = `select ${recordColumns} from quotewire.record where workspace_id = $1 and kind = $2 and id = $3`

// The limit keeps the planner from anything but looking each key up, while a table is small and has no statistics.
const together = `select k.place::int4, r.* from unnest($1::text[], $2::text[], $3::text[])
    with ordinality k (workspace_id, kind, id, place)
  cross join lateral (
    select ${recordColumns} from quotewire.record r
    where r.workspace_id = k.workspace_id and r.kind = k.kind and r.id = k.id limit 1
  ) r`

const nameOf = ({ workspace_id, kind, id }: Key): string => `${workspace_id} ${kind} ${id}`

/** So many statements look up at once what is gathered. */
const queues = 2

/**
 * Looks records up: one by itself, and those that come while it is under way together. What is read is never older than
 * the call.
 */
export const make = (database: Database): Effect.Effect<(key: Key) => Found, never, Scope.Scope> => {
  const send = (keys: ReadonlyArray<Key>): Effect.Effect<ReadonlyArray<Found>> => {
    const wanted = new Map(keys.map((key) => [nameOf(key), key]))
    const places = new Map([...wanted.keys()].map((name, index) => [name, index + 1]))
    const columns = [...wanted.values()]
    return database
      .read(together, [
        texts(columns.map(({ workspace_id }) => workspace_id)),
        texts(columns.map(({ kind }) => kind)),
        texts(columns.map(({ id }) => id))
      ])
      .pipe(
        Effect.map((rows) => new Map(placedRecords(rows).map(({ place, ...record }) => [place, record]))),
        Effect.exit,
        Effect.map((read) =>
          keys.map((key) => Exit.map(read, (found) => Option.fromUndefinedOr(found.get(places.get(nameOf(key)) ?? 0))))
        )
      )
  }
  let turn = 0
  return Effect.map(
    Gatherer.make<Key, Found>(queues, {
      queueOf: () => turn++ % queues,
      claimsOf: () => [],
      sizeOf: () => 0,
      send,
      refusal: Effect.fail(unavailable)
    }),
    (gather) => {
      let isOneAlone = false
      const enter = Effect.sync(() => {
        isOneAlone = true
      })
      const leave = Effect.sync(() => {
        isOneAlone = false
      })
      const lookUp = ({ workspace_id, kind, id }: Key): Found =>
        Effect.map(database.read(alone, [workspace_id, kind, id]), (rows) => Option.fromUndefinedOr(records(rows)[0]))
      return (key) =>
        Effect.suspend(() =>
          isOneAlone
            ? Effect.flatten(gather(key))
            : Effect.acquireUseRelease(
                enter,
                () => lookUp(key),
                () => leave
              )
        )
    }
  )
}

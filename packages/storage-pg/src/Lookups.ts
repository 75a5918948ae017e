import type { Change, Page, Storage } from "@quotewire/core"
import { Effect, Exit, type Scope } from "effect"
import { int4s, texts } from "./columns.ts"
import type { Database } from "./Database.ts"
import * as Gatherer from "./Gatherer.ts"
import { placedRecords, recordColumns, records } from "./rows.ts"
import { unavailable } from "./StatementRefused.ts"

/** Names the newest version of a record. */
export type Key = Omit<Storage.RecordKey, "version">

/** Names the first records of a parent behind an id, oldest first. */
export interface Children extends Pick<Page.RecordQuery, "workspace_id" | "kind"> {
  readonly parent: string
  readonly after: string
  readonly most: number
}

type Wanted = Key | Children

type Found = Effect.Effect<ReadonlyArray<Change.StoredRecord>, Storage.StorageUnavailable>

/** Looks up what is wanted: nothing or one record of a key, and the records of a parent in the order of their ids. */
export type LookUp = (wanted: Wanted) => Found

const alone = `select ${recordColumns} from quotewire.record where workspace_id = $1 and kind = $2 and id = $3`

// The limits keep the planner from anything but looking each of them up, while a table is small and has no statistics.
const together = `select k.place::int4, r.* from unnest($1::int4[], $2::text[], $3::text[], $4::text[])
    k (place, workspace_id, kind, id)
  cross join lateral (
    select ${recordColumns} from quotewire.record r
    where r.workspace_id = k.workspace_id and r.kind = k.kind and r.id = k.id limit 1
  ) r
  union all
  select c.place::int4, r.* from unnest($5::int4[], $6::text[], $7::text[], $8::text[], $9::text[], $10::int4[])
    c (place, workspace_id, kind, parent, after, most)
  cross join lateral (
    select ${recordColumns} from quotewire.record r
    where r.workspace_id = c.workspace_id and r.kind = c.kind and r.parent = c.parent and r.id > c.after
    order by r.id limit c.most
  ) r
  order by place, id`

const isKey = (wanted: Wanted): wanted is Key => "id" in wanted

const nameOf = (wanted: Wanted): string =>
  isKey(wanted)
    ? [wanted.workspace_id, wanted.kind, wanted.id].join(" ")
    : [wanted.workspace_id, wanted.kind, wanted.parent, wanted.after, wanted.most].join("\n")

// About what a record takes, and a page: most are asked for with room for many more records than there are.
const record_bytes = 4_000
const page_bytes = 80_000

/**
 * Looks records up, by their keys or by their parent: one by itself, and together those that come in the same turn of the
 * process or while a statement is under way. What several ask for is read once. What is read is never older than the call.
 */
export const make = (database: Database): Effect.Effect<LookUp, never, Scope.Scope> => {
  const lookUpAlone = ({ workspace_id, kind, id }: Key): Found =>
    Effect.map(database.read(alone, [workspace_id, kind, id]), records)

  const lookUp = (wanted: ReadonlyArray<Wanted>): Effect.Effect<ReadonlyArray<Found>> => {
    const places = new Map<string, number>()
    const placed = wanted.flatMap((one) => {
      const name = nameOf(one)
      if (places.has(name)) return []
      places.set(name, places.size)
      return [{ place: places.size - 1, one }]
    })
    const keys = placed.flatMap(({ place, one }) => (isKey(one) ? [{ ...one, place }] : []))
    const children = placed.flatMap(({ place, one }) => (isKey(one) ? [] : [{ ...one, place }]))
    return database
      .read(together, [
        int4s(keys.map(({ place }) => place)),
        texts(keys.map(({ workspace_id }) => workspace_id)),
        texts(keys.map(({ kind }) => kind)),
        texts(keys.map(({ id }) => id)),
        int4s(children.map(({ place }) => place)),
        texts(children.map(({ workspace_id }) => workspace_id)),
        texts(children.map(({ kind }) => kind)),
        texts(children.map(({ parent }) => parent)),
        texts(children.map(({ after }) => after)),
        int4s(children.map(({ most }) => most))
      ])
      .pipe(
        Effect.map((rows) => {
          const found = placed.map((): Array<Change.StoredRecord> => [])
          for (const { place, ...record } of placedRecords(rows)) found[place]?.push(record)
          return found
        }),
        Effect.exit,
        Effect.map((read) => wanted.map((one) => Exit.map(read, (found) => found[places.get(nameOf(one)) ?? -1] ?? [])))
      )
  }

  return Effect.map(
    Gatherer.make<Wanted, Found>(1, {
      queueOf: () => 0,
      claimsOf: () => [],
      needsOf: () => [],
      max_wait_ms: database.call_ms,
      sizeOf: (wanted) => (isKey(wanted) ? record_bytes : Math.min(page_bytes, record_bytes * wanted.most)),
      send: (wanted) => {
        const [first] = wanted
        return wanted.length === 1 && first !== undefined && isKey(first)
          ? Effect.map(Effect.exit(lookUpAlone(first)), (found) => [found])
          : lookUp(wanted)
      },
      refusal: Effect.fail(unavailable)
    }),
    (gather) => (wanted) => Effect.flatten(gather(wanted))
  )
}

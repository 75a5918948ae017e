import { Batcher, type Change, type Page, type Storage } from "@quotewire/core"
import { Effect, Exit, Schema, type Scope } from "effect"
import { unavailable } from "../connection/StatementRefused.ts"
import type { Database } from "../database/Database.ts"
import * as Columns from "../rows/Columns.ts"
import { leaseColumns } from "../rows/jobs.ts"
import { placedRecords, recordColumnList, recordColumns, records } from "../rows/records.ts"
import { query } from "../sql/files.ts"

/** The key of a record's newest version. */
export type Key = Omit<Storage.RecordKey, "version">

/** Asks for the first records of a parent after an ID, in ID order. */
export interface Children extends Pick<Page.RecordQuery, "workspace_id" | "kind"> {
  readonly parent: string
  readonly after: string
  readonly most: number
}

type Lookup = Key | Children
type LookupResult = ReadonlyArray<Change.StoredRecord>

/** Looks up one key, to find at most one record, or looks up a parent, to find its records in ID order. */
export type LookUp = Batcher.Batcher<Lookup, LookupResult, Storage.StorageUnavailable>

const readOne = `select ${recordColumnList} from quotewire.record where workspace_id = $1 and kind = $2 and id = $3`
const readMany = query("look_up", { record_columns: recordColumnList })

const { workspace_id } = leaseColumns
const { kind, id } = recordColumns
const placeColumn = Columns.int4(Schema.Int)
const keyColumns = { place: placeColumn, workspace_id, kind, id }
const childrenColumns = {
  place: placeColumn,
  workspace_id,
  kind,
  parent: id,
  after: id,
  most: Columns.int4(Schema.Int)
}

const isKey = (lookup: Lookup): lookup is Key => "id" in lookup

const nameOf = (lookup: Lookup): string =>
  isKey(lookup)
    ? [lookup.workspace_id, lookup.kind, lookup.id].join(" ")
    : [lookup.workspace_id, lookup.kind, lookup.parent, lookup.after, lookup.most].join("\n")

const maxBatch = 200
const maxWaiting = 5_000
const maxBatchBytes = 4_000_000
// The approximate size of a record and of a page, in bytes. Most batches find far fewer records than they have room
// for.
const recordBytes = 4_000
const pageBytes = 80_000

const bytesOf = (lookup: Lookup): number =>
  isKey(lookup) ? recordBytes : Math.min(pageBytes, recordBytes * lookup.most)

/** Looks up many keys and parents in one statement. Identical lookups are read only once. */
const lookUpMany = (database: Database, lookups: ReadonlyArray<Lookup>) => {
  const places = new Map<string, number>()
  const keys: Array<Columns.Row<typeof keyColumns>> = []
  const children: Array<Columns.Row<typeof childrenColumns>> = []
  for (const lookup of lookups) {
    const name = nameOf(lookup)
    if (places.has(name)) continue
    const place = places.size
    places.set(name, place)
    if (isKey(lookup)) keys.push({ ...lookup, place })
    else children.push({ ...lookup, place })
  }
  const parameters = [...Columns.arraysOf(keyColumns, keys), ...Columns.arraysOf(childrenColumns, children)]
  return Effect.map(database.read(readMany, parameters), (rows) => {
    const recordsByPlace = Array.from(places, (): Array<Change.StoredRecord> => [])
    for (const { place, ...record } of placedRecords(rows)) recordsByPlace[place]?.push(record)
    return lookups.map((lookup) => Exit.succeed<LookupResult>(recordsByPlace[places.get(nameOf(lookup)) ?? -1] ?? []))
  })
}

/**
 * Creates the function that looks up records by key or by parent. Lookups in the same turn of the event loop, or during
 * a running statement, share a statement, so that many callers need one round trip to the database. The data in a
 * response is never older than the call.
 */
export const make = (database: Database): Effect.Effect<LookUp, never, Scope.Scope> =>
  Batcher.make({
    send: (lookups: ReadonlyArray<Lookup>) => {
      const [first] = lookups
      return lookups.length === 1 && first !== undefined && isKey(first)
        ? Effect.map(database.read(readOne, [first.workspace_id, first.kind, first.id]), (rows) => [
            Exit.succeed<LookupResult>(records(rows))
          ])
        : lookUpMany(database, lookups)
    },
    unavailable,
    max_batch: maxBatch,
    max_waiting: maxWaiting,
    max_wait_ms: database.call_ms,
    size: { of: bytesOf, max: maxBatchBytes }
  })

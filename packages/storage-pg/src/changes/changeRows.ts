import { type Change, kinds } from "@quotewire/core"
import { Schema } from "effect"
import * as Columns from "../rows/Columns.ts"
import { jobColumns, leaseColumns, rowOfJob } from "../rows/jobs.ts"
import { recordColumns } from "../rows/records.ts"

/** A position, counted from 1 as in PostgreSQL arrays. */
const place = Columns.int4(Schema.Int)
const ofChange = { change: place, workspace: place }
const ofNumbered = { ...ofChange, place }

/** The columns of an event, except its workspace and its number. */
const eventColumns = {
  id: Columns.text(Schema.String),
  occurred_at: Columns.int8(Schema.Int),
  about: Columns.texts(Schema.Array(Schema.String)),
  body: Columns.text(Schema.String)
}

/**
 * The columns of the rows for changes that are sent together. `change` is the position of the change that a row belongs
 * to, and `workspace` the position of its workspace.
 */
export const changeColumns = {
  /** The workspaces, in locking order, and how many new events and jobs each gets. */
  workspaces: { id: leaseColumns.workspace_id, events: Columns.int4(Schema.Int), jobs: Columns.int4(Schema.Int) },
  /** The clocks that move. */
  clocks: { ...ofChange, offset_ms: Columns.int8(Schema.Int) },
  /** The times before which no ordered job may be due, except the jobs that the change finishes. */
  none_due: { ...ofChange, before: Columns.int8(Schema.Int) },
  finishes: { ...ofChange, number: leaseColumns.number, lease: leaseColumns.lease },
  /** Maps each change to the records that it expects. */
  expects: { change: place, record: place },
  /** The expected records without duplicates, because most changes expect the same records. */
  expected: { workspace: place, kind: recordColumns.kind, id: recordColumns.id, version: recordColumns.version },
  writes: { ...ofChange, keeps_history: Columns.bool(Schema.NullOr(Schema.Boolean)), ...recordColumns },
  /** New events and jobs. `place` is a row's position within its workspace. */
  events: { ...ofNumbered, ...eventColumns },
  jobs: { ...ofNumbered, ...jobColumns }
}

type ChangeColumns = typeof changeColumns
type RowOf<Kind extends keyof ChangeColumns> = Columns.Row<ChangeColumns[Kind]>

/** The rows for several changes, by kind. */
export type ChangeRows = { readonly [Kind in keyof ChangeColumns]: ReadonlyArray<RowOf<Kind>> }

const workspacesOf = ({ workspace_id, finishes }: Change.Change) => [
  workspace_id,
  ...finishes.map((lease) => lease.workspace_id)
]

/**
 * The expected version for a second write of the same record in one change. It equals no stored version, so the write
 * is refused.
 */
const followsNothing = 0

const versionsOf = ({ writes }: Change.Change): ReadonlyArray<number> => {
  const seenKeys = new Set<string>()
  return writes.map(({ kind, id, version }) => {
    const name = `${kind} ${id}`
    if (seenKeys.has(name)) return followsNothing
    seenKeys.add(name)
    return version
  })
}

const expectationsOf = (changes: ReadonlyArray<Change.Change>, workspaceOf: (change: Change.Change) => number) => {
  const places = new Map<string, number>()
  const expected: Array<RowOf<"expected">> = []
  const expects = changes.flatMap((change, index) => {
    const workspace = workspaceOf(change)
    return change.expects.map(({ kind, id, version }) => {
      const name = `${workspace} ${kind} ${version} ${id}`
      const record = places.get(name) ?? expected.push({ workspace, kind, id, version })
      places.set(name, record)
      return { change: index + 1, record }
    })
  })
  return { expects, expected }
}

/** Splits changes into rows. */
export const rowsOf = (changes: ReadonlyArray<Change.Change>): ChangeRows => {
  const ids = [...new Set(changes.flatMap(workspacesOf))].sort()
  const places = new Map(ids.map((id, index) => [id, index + 1]))
  const placeOf = (id: Change.Change["workspace_id"]) => places.get(id) ?? 0
  const counters = new Map(ids.map((id) => [id, { events: 0, jobs: 0 }]))
  const clocks: Array<RowOf<"clocks">> = []
  const none_due: Array<RowOf<"none_due">> = []
  const finishes: Array<RowOf<"finishes">> = []
  const writes: Array<RowOf<"writes">> = []
  const events: Array<RowOf<"events">> = []
  const jobs: Array<RowOf<"jobs">> = []

  for (const [index, change] of changes.entries()) {
    const { workspace_id, clock_offset_ms, none_due_before } = change
    const keys = { change: index + 1, workspace: placeOf(workspace_id) }
    const counter = counters.get(workspace_id) ?? { events: 0, jobs: 0 }
    if (clock_offset_ms !== null) clocks.push({ ...keys, offset_ms: clock_offset_ms })
    if (none_due_before !== null) none_due.push({ ...keys, before: none_due_before })
    for (const lease of change.finishes) finishes.push({ ...lease, ...keys, workspace: placeOf(lease.workspace_id) })
    const versions = versionsOf(change)
    for (const [at, record] of change.writes.entries()) {
      writes.push(rowOfWrite(record, keys, versions[at] ?? followsNothing))
    }
    for (const event of change.events) events.push({ ...keys, place: ++counter.events, ...event })
    for (const job of change.jobs) jobs.push({ ...keys, place: ++counter.jobs, ...rowOfJob(job) })
  }
  const workspaces = ids.map((id) => ({ id, ...(counters.get(id) ?? { events: 0, jobs: 0 }) }))
  const { expects, expected } = expectationsOf(changes, ({ workspace_id }) => placeOf(workspace_id))
  return { workspaces, clocks, none_due, finishes, expects, expected, writes, events, jobs }
}

// Copies field by field, because a record may compute some of its fields on access.
const rowOfWrite = (
  record: Change.StoredRecord,
  { change, workspace }: Pick<RowOf<"writes">, "change" | "workspace">,
  version: number
): RowOf<"writes"> => ({
  change,
  workspace,
  keeps_history: record.version > 1 && kinds.byName(record.kind).keeps_history ? true : null,
  kind: record.kind,
  id: record.id,
  version,
  parent: record.parent,
  status: record.status,
  line: record.line,
  labels: record.labels,
  about: record.about,
  created_at: record.created_at,
  updated_at: record.updated_at,
  expires_at: record.expires_at,
  body: record.body
})

import type { PgTypes } from "@effect/sql-pg"
import { Ids } from "@quotewire/core"
import { Schema } from "effect"
import { statement } from "../../../packages/storage-pg/src/changes/commit.ts"
import type { Rows } from "../../../packages/storage-pg/src/connection/Send.ts"
import type { Stored } from "../SimulatedStorage.ts"

/*
 * Reconstructs the rows that a statement stored, from the statement and its result on the server, because a host may die
 * before it gets the result.
 */

/** A column that is not null but has no value is sent as null. */
const columnOf = <A>(item: Schema.Codec<A, A>) => Schema.NullOr(Schema.Array(item))

const Columns = Schema.Struct({
  workspaces_id: columnOf(Schema.String),
  events_change: columnOf(Schema.Int),
  events_workspace: columnOf(Schema.Int),
  events_id: columnOf(Schema.String),
  writes_change: columnOf(Schema.Int),
  writes_workspace: columnOf(Schema.Int),
  writes_kind: columnOf(Schema.String),
  writes_id: columnOf(Schema.String),
  writes_body: columnOf(Schema.String)
})
const columnsOf = Schema.decodeUnknownSync(Columns)
const workspaceId = Schema.decodeUnknownSync(Ids.WorkspaceId)
const refusals = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ change: Schema.Int })))

/** The names of a commit's parameters, in order. */
const names = [...statement.matchAll(/(\w+) => \$\d+/g)].map(([, name = ""]) => name)

const isParameter = (value: unknown): value is PgTypes.Parameter =>
  typeof value === "object" && value !== null && "oid" in value && "value" in value

/** The values of a commit's parameters, by name. */
const namedOf = (params: ReadonlyArray<unknown>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    names.map((name, place) => {
      const parameter = params[place]
      return [name, isParameter(parameter) ? parameter.value : parameter]
    })
  )

/** The events and records that a statement stored; empty unless it was a commit. */
export const storedBy = (sql: string, params: ReadonlyArray<unknown>, rows: Rows): ReadonlyArray<Stored> => {
  if (sql !== statement) return []
  const sent = columnsOf(namedOf(params))
  const refused = new Set(refusals(rows).map(({ change }) => change))
  const stored = new Map<number, { workspace: number; events: Array<{ id: string }>; writes: Array<Written> }>()
  const changeAt = (change: number, workspace: number) => {
    const made = stored.get(change) ?? { workspace, events: [], writes: [] }
    stored.set(change, made)
    return made
  }
  for (const [at, change] of (sent.events_change ?? []).entries()) {
    if (refused.has(change)) continue
    changeAt(change, sent.events_workspace?.[at] ?? 0).events.push({ id: sent.events_id?.[at] ?? "" })
  }
  for (const [at, change] of (sent.writes_change ?? []).entries()) {
    if (refused.has(change)) continue
    const written = { kind: sent.writes_kind?.[at] ?? "", id: sent.writes_id?.[at] ?? "" }
    changeAt(change, sent.writes_workspace?.[at] ?? 0).writes.push({ ...written, body: sent.writes_body?.[at] ?? "" })
  }
  return [...stored.entries()]
    .toSorted(([one], [other]) => one - other)
    .map(([, { events, workspace, writes }]) => ({
      workspace_id: workspaceId(sent.workspaces_id?.[workspace - 1]),
      events,
      writes
    }))
}

type Written = Stored["writes"][number]

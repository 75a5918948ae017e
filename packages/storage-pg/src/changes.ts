import { type Change, kinds } from "@quotewire/core"
import { bools, filled, int4s, int8s, texts } from "./columns.ts"
import { laneLimit, laneName, laneUrgency } from "./laneName.ts"

/** Stores changes, each whole or not at all; a row for each that is refused. */
export const statement = `select change, write, finish, seen from quotewire.commit_1(${Array.from({ length: 41 }, (_, index) => `$${index + 1}`).join(", ")})`

/** What a change has for itself among those that are sent together: records, jobs, a clock. */
export const claimsOf = ({ workspace_id, writes, finishes, clock_offset_ms }: Change.Change): ReadonlyArray<string> => {
  const claims = writes.map(({ kind, id }) => `${workspace_id} ${kind} ${id}`)
  for (const lease of finishes) claims.push(`${lease.workspace_id} job ${lease.number}`)
  if (clock_offset_ms !== null) claims.push(`${workspace_id} clock`)
  return claims
}

/**
 * What must not be written by a change before it among those that are sent together: it rests on it. So the changes
 * of a statement could have been written one after the other, in their order.
 */
export const needsOf = ({ workspace_id, expects }: Change.Change): ReadonlyArray<string> =>
  expects.map(({ kind, id }) => `${workspace_id} ${kind} ${id}`)

/** A second write of the same record in one change follows nothing: no version is behind it. */
const followsNothing = 0

/** The version that each write of a change says it follows on, as the guard is to see it. */
const versionsOf = ({ writes }: Change.Change): ReadonlyArray<number> => {
  const seen = new Set<string>()
  return writes.map(({ kind, id, version }) => {
    const known = seen.size
    return seen.add(`${kind} ${id}`).size === known ? followsNothing : version
  })
}

const workspacesOf = ({ workspace_id, finishes }: Change.Change) => [
  workspace_id,
  ...finishes.map((lease) => lease.workspace_id)
]

/** Some part of all changes, with the place of its change. Places count from 1, as arrays of PostgreSQL do. */
const rowsOf = <A>(changes: ReadonlyArray<Change.Change>, part: (change: Change.Change) => ReadonlyArray<A>) =>
  changes.flatMap((change, index) => part(change).map((item) => ({ item, change: index + 1 })))

/** The same of what is numbered in its workspace: how many there are in each, and the place of each among them. */
const numberedOf = <A>(
  changes: ReadonlyArray<Change.Change>,
  workspaces: ReadonlyArray<string>,
  part: (change: Change.Change) => ReadonlyArray<A>
) => {
  const counts = new Map(workspaces.map((id) => [id, 0]))
  const rows = changes.flatMap((change, index) =>
    part(change).map((item) => {
      const place = (counts.get(change.workspace_id) ?? 0) + 1
      counts.set(change.workspace_id, place)
      return { item, change: index + 1, place }
    })
  )
  return { rows, counts: [...counts.values()] }
}

/** A record as changes of its workspace have seen it. */
interface SeenIn extends Change.Seen {
  readonly workspace_id: Change.Change["workspace_id"]
}

/** What changes rest on: each record once, as most have seen the same, and the places among them that each change names. */
export const restsOf = (changes: ReadonlyArray<Change.Change>) => {
  const places = new Map<string, number>()
  const seen: Array<SeenIn> = []
  const placeOf = (workspace_id: SeenIn["workspace_id"], { kind, id, version }: Change.Seen): number => {
    const name = `${workspace_id} ${kind} ${version} ${id}`
    const known = places.get(name)
    if (known !== undefined) return known
    const place = seen.push({ workspace_id, kind, id, version })
    places.set(name, place)
    return place
  }
  const named = rowsOf(changes, ({ workspace_id, expects }) => expects.map((one) => placeOf(workspace_id, one)))
  return { seen, named }
}

/** The parameters of the statement, a column each. */
export const parameters = (changes: ReadonlyArray<Change.Change>) => {
  const workspaces = [...new Set(changes.flatMap(workspacesOf))].sort()
  const finishes = rowsOf(changes, ({ finishes }) => finishes)
  const { seen, named } = restsOf(changes)
  const writes = rowsOf(changes, ({ writes }) => writes)
  const events = numberedOf(changes, workspaces, ({ events }) => events)
  const jobs = numberedOf(changes, workspaces, ({ jobs }) => jobs)
  return [
    texts(workspaces),
    int4s(events.counts),
    int4s(jobs.counts),
    int4s(changes.map(({ workspace_id }) => workspaces.indexOf(workspace_id) + 1)),
    filled(int8s, changes, ({ clock_offset_ms }) => clock_offset_ms),
    filled(int4s, finishes, ({ change }) => change),
    filled(texts, finishes, ({ item }) => item.workspace_id),
    filled(int8s, finishes, ({ item }) => item.number),
    filled(int4s, finishes, ({ item }) => item.lease),
    filled(int4s, named, ({ change }) => change),
    filled(int4s, named, ({ item }) => item),
    filled(int4s, seen, ({ workspace_id }) => workspaces.indexOf(workspace_id) + 1),
    filled(texts, seen, ({ kind }) => kind),
    filled(texts, seen, ({ id }) => id),
    filled(int4s, seen, ({ version }) => version),
    filled(int4s, writes, ({ change }) => change),
    filled(texts, writes, ({ item }) => item.kind),
    filled(texts, writes, ({ item }) => item.id),
    filled(int4s, changes.flatMap(versionsOf), (version) => version),
    filled(bools, writes, ({ item }) => (item.version > 1 && kinds.named(item.kind).keeps_history ? true : null)),
    filled(texts, writes, ({ item }) => item.parent),
    filled(texts, writes, ({ item }) => item.status),
    filled(texts, writes, ({ item }) => item.line),
    filled(texts, writes, ({ item }) => (item.labels.length === 0 ? null : item.labels.join("\n"))),
    filled(int8s, writes, ({ item }) => item.created_at),
    filled(int8s, writes, ({ item }) => item.updated_at),
    filled(int8s, writes, ({ item }) => item.expires_at),
    filled(texts, writes, ({ item }) => item.body),
    filled(int4s, events.rows, ({ change }) => change),
    filled(int4s, events.rows, ({ place }) => place),
    filled(texts, events.rows, ({ item }) => item.id),
    filled(int8s, events.rows, ({ item }) => item.occurred_at),
    filled(texts, events.rows, ({ item }) => item.body),
    filled(int4s, jobs.rows, ({ change }) => change),
    filled(int4s, jobs.rows, ({ place }) => place),
    filled(texts, jobs.rows, ({ item }) => item.kind),
    filled(int8s, jobs.rows, ({ item }) => item.due_at),
    filled(texts, jobs.rows, ({ item }) => laneName(item)),
    filled(int4s, jobs.rows, ({ item }) => laneLimit(item)),
    filled(bools, jobs.rows, ({ item }) => laneUrgency(item)),
    filled(texts, jobs.rows, ({ item }) => item.payload)
  ]
}

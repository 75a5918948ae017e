import { Change } from "@quotewire/core"
import { bools, int4s, int8s, texts } from "./columns.ts"
import { laneLimit, laneName } from "./laneName.ts"

/** Stores changes, each whole or not at all; a row for each that is refused. */
export const statement = `select change, write, finish from quotewire.commit_2(${Array.from({ length: 31 }, (_, index) => `$${index + 1}`).join(", ")})`

/** What a change has for itself among those that are sent together: records, jobs, a clock. */
export const claimsOf = ({ workspace_id, writes, finishes, clock_offset_ms }: Change.Change): ReadonlyArray<string> => {
  const claims = writes.map(({ kind, id }) => `${workspace_id} ${kind} ${id}`)
  for (const lease of finishes) claims.push(`${lease.workspace_id} job ${lease.number}`)
  if (clock_offset_ms !== null) claims.push(`${workspace_id} clock`)
  return claims
}

/** A second write of the same record in one change follows nothing: no version is behind it. */
const followsNothing = 0

const workspacesOf = ({ workspace_id, finishes }: Change.Change) => [
  workspace_id,
  ...finishes.map((lease) => lease.workspace_id)
]

/** The parameters of the statement, a column each. */
export const parameters = (changes: ReadonlyArray<Change.Change>) => {
  // Places count from 1, as arrays of PostgreSQL do.
  const of = <A>(part: (change: Change.Change) => ReadonlyArray<A>) =>
    changes.flatMap((change, index) => part(change).map((item) => ({ item, place: index + 1 })))
  const writes = of(({ writes }) => {
    const seen = new Set<string>()
    return writes.map((record) => {
      const name = `${record.kind} ${record.id}`
      const version = seen.has(name) ? followsNothing : record.version
      seen.add(name)
      return { ...record, version }
    })
  })
  const finishes = of(({ finishes }) => finishes)
  const events = of(({ events }) => events)
  const jobs = of(({ jobs }) => jobs)
  return [
    texts([...new Set(changes.flatMap(workspacesOf))].sort()),
    texts(changes.map(({ workspace_id }) => workspace_id)),
    int8s(changes.map(({ clock_offset_ms }) => clock_offset_ms)),
    int4s(finishes.map(({ place }) => place)),
    texts(finishes.map(({ item }) => item.workspace_id)),
    int8s(finishes.map(({ item }) => item.number)),
    int4s(finishes.map(({ item }) => item.lease)),
    int4s(writes.map(({ place }) => place)),
    texts(writes.map(({ item }) => item.kind)),
    texts(writes.map(({ item }) => item.id)),
    int4s(writes.map(({ item }) => item.version)),
    bools(writes.map(({ item }) => Change.keepsHistory(item.kind))),
    texts(writes.map(({ item }) => item.parent)),
    texts(writes.map(({ item }) => item.status)),
    texts(writes.map(({ item }) => item.line)),
    texts(writes.map(({ item }) => item.labels.join("\n"))),
    int8s(writes.map(({ item }) => item.created_at)),
    int8s(writes.map(({ item }) => item.updated_at)),
    int8s(writes.map(({ item }) => item.expires_at)),
    texts(writes.map(({ item }) => item.body)),
    int4s(events.map(({ place }) => place)),
    texts(events.map(({ item }) => item.id)),
    int8s(events.map(({ item }) => item.occurred_at)),
    texts(events.map(({ item }) => item.body)),
    int4s(jobs.map(({ place }) => place)),
    texts(jobs.map(({ item }) => item.kind)),
    int8s(jobs.map(({ item }) => item.due_at)),
    texts(jobs.map(({ item }) => laneName(item))),
    int4s(jobs.map(({ item }) => laneLimit(item))),
    bools(jobs.map(({ item }) => item.lane?.urgent ?? false)),
    texts(jobs.map(({ item }) => item.payload))
  ]
}

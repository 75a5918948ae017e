import type { Change } from "@quotewire/core"
import { escapeLiteral } from "pg"
import { counted } from "./start.ts"

/** Creates a sequence that numbers a database's changes. */
export const counter = "create sequence change_number cache 100"

/** Creates the workspace rows whose counters each change updates. */
export const workspaces = `insert into quotewire.workspace (workspace_id)
  select 'wks_' || lpad(n::text, 26, '0') from generate_series(1, $1::integer) n on conflict do nothing`

// Writes colons as `chr(58)`, because pgbench would take text after a colon for a variable.
const literal = (value: string | number | null): string =>
  typeof value === "string"
    ? escapeLiteral(value.replaceAll(":", "\uE000")).replaceAll("\uE000", "'||chr(58)||'")
    : `${value}`

const idOf = (id: string): string => `${literal(id.slice(0, -counted))} || lpad(c.n::text, ${counted}, '0')`

const texts = (values: ReadonlyArray<string>): string => `array[${values.map(literal).join(", ")}]::text[]`

const columns =
  "workspace_id, kind, id, version, parent, status, line, labels, about, created_at, updated_at, expires_at, body"

/**
 * One data-modifying statement that writes the same rows as a change, as a program without batches would. It locks and
 * updates the workspace's row, which counts events and jobs. Its parameters are the workspace's number and the texts
 * from `textsOf`.
 */
export const statement = ({ writes, events, jobs }: Change.Change): string => {
  let parameter = 1
  const records = writes.map(
    (r) => `select c.workspace_id, ${literal(r.kind)}, ${idOf(r.id)}, ${r.version}, ${literal(r.parent)},
      ${literal(r.status)}, ${literal(r.line)}, '{}'::text[], ${texts(r.about)}, ${r.created_at}::bigint, ${r.updated_at}::bigint,
      ${r.expires_at}::bigint, $${++parameter}::text from counted c`
  )
  const appended = events.map(
    (e) => `select c.workspace_id, c.last_event, ${idOf(e.id)}, ${e.occurred_at}::bigint, ${texts(e.about)},
      $${++parameter}::text from counted c`
  )
  const waiting = jobs.map(
    (j) => `select c.workspace_id, c.last_job, ${literal(j.kind)}, ${j.due_at}::bigint, ${j.due_at} - c.clock_offset_ms,
      $${++parameter}::text from counted c`
  )
  return `with counted as (
    update quotewire.workspace set last_event = last_event + ${events.length}, last_job = last_job + ${jobs.length}
    where workspace_id = 'wks_' || lpad($1::text, 26, '0')
    returning workspace_id, last_event, last_job, clock_offset_ms, nextval('change_number') as n
  ), written as (
    insert into quotewire.record (${columns}) ${records.join(" union all ")}
  ), appended as (
    insert into quotewire.event (workspace_id, number, id, occurred_at, about, body) ${appended.join(" union all ")}
  )
  insert into quotewire.job (workspace_id, number, kind, due_at, ready_at, payload) ${waiting.join(" union all ")}`
}

/** The texts that are sent with each statement: bodies and payloads. */
export const textsOf = ({ writes, events, jobs }: Change.Change): ReadonlyArray<string> => [
  ...writes.map(({ body }) => body),
  ...events.map(({ body }) => body),
  ...jobs.map(({ payload }) => payload)
]

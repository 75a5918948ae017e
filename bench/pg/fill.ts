import { Client } from "pg"
import { counted, workspaceOf } from "./start.ts"

/** What to copy, and how many times. */
export interface FillOptions {
  readonly url: string
  /** The workspace whose rows are copied. */
  readonly from_workspace: string
  /** How many workspaces share the copies: the original workspace and additional ones. */
  readonly workspaces: number
  /** The range of copies, from the first (inclusive) to the last (exclusive). */
  readonly from: number
  readonly to: number
  /**
   * `events` copies only events. `requests` copies whole requests: their records, one of their quotes, an event, and a
   * job that is due much later.
   */
  readonly kind: "events" | "requests"
}

const copyOf = (id: string): string => `left(${id}, -${counted}) || lpad(g::text, ${counted}, '0')`

// The additional workspaces are numbered from 1, as in `workspaceOf` in start.ts.
const place = `case g % $2 when 0 then $1 else 'wks_' || lpad((g % $2)::text, 26, '0') end`

const records = `insert into quotewire.record
  (workspace_id, kind, id, version, parent, status, line, labels, created_at, updated_at, expires_at, body)
  select ${place}, r.kind, ${copyOf("r.id")}, r.version, ${copyOf("r.parent")}, r.status, r.line, r.labels,
    r.created_at, r.updated_at, r.expires_at, r.body
  from generate_series($3::bigint, $4::bigint - 1) g cross join sample_record r order by g`

const events = `insert into quotewire.event (workspace_id, number, id, occurred_at, body)
  select ${place}, (select last_event from quotewire.workspace w where w.workspace_id = ${place})
      + (g - $3) / $2 + 1, ${copyOf("e.id")}, e.occurred_at, e.body
  from generate_series($3::bigint, $4::bigint - 1) g cross join sample_event e order by g`

const jobs = `insert into quotewire.job (workspace_id, number, kind, due_at, ready_at, payload)
  select ${place}, (select last_job from quotewire.workspace w where w.workspace_id = ${place})
      + (g - $3) / $2 + 1, 'expire_quote', j.due_at + g, j.due_at + g, '{}'
  from generate_series($3::bigint, $4::bigint - 1) g
  cross join (select (extract(epoch from now()) * 1000)::bigint + 86400000 as due_at) j order by g`

const count = (jobs: boolean) => `update quotewire.workspace w set last_event = last_event + n.count
    ${jobs ? ", last_job = last_job + n.count" : ""}
  from (
    select ${place} as workspace_id, count(*) as count from generate_series($3::bigint, $4::bigint - 1) g group by 1
  ) n where w.workspace_id = n.workspace_id`

// The rows to copy: a whole request, one of its quotes, and the workspace's first event.
const samples = [
  `create table if not exists sample_record as select r.* from quotewire.record r
    where workspace_id = $1 and (kind in ('quote_request', 'application', 'consent', 'request_key') or (kind, id) in (
      select kind, min(id) from quotewire.record where workspace_id = $1 and kind = 'quote' group by kind))`,
  `create table if not exists sample_event as select e.* from quotewire.event e
    where workspace_id = $1 order by number limit 1`
]

const atOnce = 50_000

/** Copies the rows of a real request under new IDs, each ending in a number. */
export const fill = async ({ url, from_workspace, workspaces, from, to, kind }: FillOptions): Promise<void> => {
  const client = new Client(url)
  await client.connect()
  try {
    await client.query("set synchronous_commit = off")
    const literal = client.escapeLiteral(from_workspace)
    for (const sample of samples) await client.query(sample.replaceAll("$1", literal))
    for (let place = 1; place < workspaces; place++) {
      await client.query("insert into quotewire.workspace (workspace_id) values ($1) on conflict do nothing", [
        workspaceOf(place)
      ])
    }
    for (let first = from; first < to; first += atOnce) {
      const values = [from_workspace, workspaces, first, Math.min(to, first + atOnce)]
      const steps = kind === "events" ? [events, count(false)] : [records, events, jobs, count(true)]
      for (const step of steps) await client.query(step, values)
    }
    await client.query("vacuum analyze")
    await client.query("checkpoint")
  } finally {
    await client.end()
  }
}

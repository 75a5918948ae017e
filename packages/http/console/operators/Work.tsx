import { Facts, Outside, Show, Tag, Time } from "../parts/basics.tsx"
import { ListTable } from "../parts/ListTable.tsx"
import { useLive } from "../state/loading.ts"
import type { Call, OperatorAnswer } from "../state/operatorCalls.ts"
import { count, duration, title } from "../words/format.ts"

type WorkReport = OperatorAnswer<"get_work">

/** Waiting work by kind of job, the connected processes, the state of each cell, and the retention periods. */
export const Work = ({ call }: { readonly call: Call }) => {
  const work = useLive("work", { read: (signal) => call("get_work", {}, signal), next: () => 5_000 })
  return (
    <section class="page">
      <h1 tabIndex={-1}>Work</h1>
      <Show of={work}>
        {({ backlog, cells, next_due_at, processes, retention, waits_ms }) => (
          <>
            <Waiting waits_ms={waits_ms} next_due_at={next_due_at} />
            {backlog !== null && backlog.length > 0 && <Backlog backlog={backlog} />}
            {processes !== null && <Processes processes={processes} />}
            {cells.length > 0 && <Cells cells={cells} />}
            <RetentionPeriods retention={retention} />
          </>
        )}
      </Show>
    </section>
  )
}

/** How long the oldest due job has waited, and when the next job is due. */
const Waiting = ({ next_due_at, waits_ms }: Pick<WorkReport, "next_due_at" | "waits_ms">) => (
  <div class="card">
    <Facts
      of={[
        [
          "Oldest due job",
          waits_ms === 0 ? (
            <Tag key="waits" tone="good" text="none waiting" />
          ) : (
            <Tag key="waits" tone={waits_ms > 60_000 ? "bad" : "odd"} text={`waiting for ${duration(waits_ms)}`} />
          )
        ],
        ["Next job", next_due_at === null ? "none" : <Time key="next" at={next_due_at} />]
      ]}
    />
  </div>
)

/** The due jobs of each kind. */
const Backlog = ({ backlog }: { readonly backlog: NonNullable<WorkReport["backlog"]> }) => (
  <div class="card">
    <h2>Due jobs</h2>
    <ListTable
      label="Due jobs"
      columns={["Kind", "Due", "Oldest"]}
      items={backlog}
      row={({ due, kind, oldest_due_at }) => (
        <tr key={kind}>
          <td>{title(kind)}</td>
          <td class="number">{due.toLocaleString("en-US")}</td>
          <td>
            <Time at={oldest_due_at} />
          </td>
        </tr>
      )}
    />
  </div>
)

/** The processes that are connected to the storage. */
const Processes = ({ processes }: { readonly processes: NonNullable<WorkReport["processes"]> }) => (
  <div class="card">
    <h2>Processes</h2>
    <ul class="list">
      {processes.map(({ name, since }) => (
        <li key={name} class="row">
          <code>
            <Outside text={name} />
          </code>{" "}
          <span class="minor">
            connected since <Time at={since} />
          </span>
        </li>
      ))}
    </ul>
  </div>
)

/** The state of each cell: whether it can be reached, and whether it is being moved. */
const Cells = ({ cells }: Pick<WorkReport, "cells">) => (
  <div class="card">
    <h2>Cells</h2>
    <ul class="list">
      {cells.map(({ moving, name, ready }) => (
        <li key={name} class="row">
          <code>{name}</code> <Tag tone={ready ? "good" : "bad"} text={ready ? "ready" : "not reachable"} />
          {moving && <Tag tone="odd" text="being moved" />}
        </li>
      ))}
    </ul>
  </div>
)

/** How long each kind of data is kept. */
const RetentionPeriods = ({ retention }: Pick<WorkReport, "retention">) => (
  <div class="card">
    <h2>Data retention</h2>
    <Facts
      of={Object.entries(retention).map(([name, days]) => [title(name.replace(/_days$/, "")), count(days, "day")])}
    />
  </div>
)

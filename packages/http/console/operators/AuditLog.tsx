import { Empty, Id, Outside, Show, Tag, Time } from "../parts/basics.tsx"
import { ListTable } from "../parts/ListTable.tsx"
import { useLive } from "../state/loading.ts"
import type { Call } from "../state/operatorCalls.ts"
import { to } from "../state/route.ts"
import { words } from "../words/format.ts"
import type { State } from "../words/states.ts"

const outcomes: Readonly<Record<string, State>> = {
  begun: { tone: "odd", text: "Begun" },
  succeeded: { tone: "good", text: "Done" },
  refused: { tone: "bad", text: "Refused" }
}

/** The audit log: which operator did what, newest first. */
export const AuditLog = ({ call }: { readonly call: Call }) => {
  const page = useLive("audit", { read: (signal) => call("list_audit_log", { limit: 100 }, signal), next: () => 5_000 })
  return (
    <section class="page">
      <h1 tabIndex={-1}>Audit log</h1>
      <div class="card">
        <Show of={page}>
          {({ entries }) =>
            entries.length === 0 ? (
              <Empty>The audit log is empty.</Empty>
            ) : (
              <ListTable
                label="Audit log"
                columns={["At (real time)", "Who", "What", "Outcome", "About"]}
                items={entries}
                row={(entry) => (
                  <tr key={entry.id}>
                    <td>
                      <Time at={entry.at} />
                    </td>
                    <td>
                      <Outside text={entry.token_name} />
                      <div class="minor">{entry.scope}</div>
                    </td>
                    <td>{words(entry.operation)}</td>
                    <td>
                      <Tag {...(outcomes[entry.outcome] ?? { tone: "none", text: entry.outcome })} />
                      {entry.error_code !== null && (
                        <div class="minor">
                          <code>{entry.error_code}</code>
                        </div>
                      )}
                    </td>
                    <td>
                      {entry.quote_request_id !== null && (
                        <a href={to(["requests", entry.quote_request_id])}>{entry.quote_request_id}</a>
                      )}
                      {entry.organization_id !== null && (
                        <div class="minor">
                          <Id id={entry.organization_id} />
                        </div>
                      )}
                    </td>
                  </tr>
                )}
              />
            )
          }
        </Show>
      </div>
    </section>
  )
}

import type { AnswerOf } from "../../src/client/index.ts"
import { to } from "../state/route.ts"
import { duration } from "../words/format.ts"
import { ofHttp } from "../words/states.ts"
import { Id, Tag, Time } from "./basics.tsx"
import { ListTable } from "./ListTable.tsx"

/** An entry of the request log: one call of the API. */
export type Call = AnswerOf<"list_api_requests">["requests"][number]

/** A table of calls, newest first. */
export const CallTable = ({ calls }: { readonly calls: ReadonlyArray<Call> }) => (
  <ListTable
    label="Calls"
    columns={["Status", "Operation", "Took", "At (real time)", "About"]}
    items={calls}
    row={(call) => (
      <tr key={call.request_id}>
        <td>
          <Tag {...ofHttp(call.status)} />
        </td>
        <td>
          <a href={to(["calls", call.request_id])}>{call.operation ?? `${call.method} ${call.route}`}</a>
          {call.error_code !== null && (
            <div class="minor">
              <code>{call.error_code}</code>
            </div>
          )}
        </td>
        <td class="number">{duration(call.duration_ms)}</td>
        <td>
          <Time at={call.created_at} />
        </td>
        <td>
          {call.quote_request_id === null ? <span class="minor">nothing</span> : <Id id={call.quote_request_id} />}
        </td>
      </tr>
    )}
  />
)

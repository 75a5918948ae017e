import { useState } from "preact/hooks"
import { Empty, Facts, Failure, Id, Outside, Show, Tag, Time } from "../parts/basics.tsx"
import { ListTable } from "../parts/ListTable.tsx"
import { useAction, useOnce } from "../state/loading.ts"
import type { Call, OperatorAnswer } from "../state/operatorCalls.ts"
import { to } from "../state/route.ts"
import { duration, title, words } from "../words/format.ts"
import { ofDelivery, ofFailure, ofOutcome, ofRequest, type State } from "../words/states.ts"
import { ShareAsOperator } from "./ShareAsOperator.tsx"

type Timeline = OperatorAnswer<"get_quote_request_timeline">
type Entry = Timeline["entries"][number]

const limit = 1_000

/** The timeline of any organization's request and, on demand, the exchanges with its carriers. */
export const TimelinePage = ({ call, id }: { readonly call: Call; readonly id: string }) => {
  const timeline = useOnce(`timeline ${id}`, (signal) => call("get_quote_request_timeline", { id, limit }, signal))
  const [whole, setWhole] = useState<Timeline | null>(null)
  const { busy, error, run } = useAction()
  const showExchanges = () => run(async () => setWhole(await call("read_quote_request_exchanges", { id, limit })))
  return (
    <section class="page">
      <nav class="minor row tight" aria-label="Where you are">
        <a href={to(["requests"])}>Requests</a> / <Id id={id} />
      </nav>
      <h1 tabIndex={-1}>What happened</h1>
      <Show of={timeline}>
        {(short) => (
          <>
            <Head timeline={short} />
            {whole === null && (
              <div class="card stack">
                <p>
                  What carriers were sent and what they wrote can hold facts about the person. It is shown only to
                  tokens with the scope <code>facts</code>, and the audit log records that you have read it.
                </p>
                <button type="button" onClick={showExchanges} disabled={busy}>
                  {busy ? "Reading…" : "Read the exchanges"}
                </button>
                <Failure error={error} />
              </div>
            )}
            <ShareAsOperator call={call} of={short} sharedId={id} />
            <div class="card">
              <Entries timeline={whole ?? short} />
              {(whole ?? short).next !== null && <p class="minor">Only the first {limit} entries are shown.</p>}
              {(whole ?? short).incomplete.length > 0 && (
                <p class="minor">May be incomplete: {(whole ?? short).incomplete.map(words).join(", ")}.</p>
              )}
            </div>
          </>
        )}
      </Show>
    </section>
  )
}

const Head = ({ timeline }: { readonly timeline: Timeline }) => (
  <Facts
    of={[
      ["State", <Tag key="state" {...ofRequest(timeline.status)} />],
      ["Because", title(timeline.reason)],
      ["Line", `${title(timeline.line)}, ${timeline.environment}`],
      ["Organization", <Id key="organization" id={timeline.organization_id} />]
    ]}
  />
)

const text = (value: unknown): string =>
  typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value)

/** Describes why the latest attempt got no complete response; empty if it got a complete response. */
const failureOf = (attempts: unknown): string => {
  const [newest]: ReadonlyArray<unknown> = Array.isArray(attempts) ? attempts : []
  const hasFailure = typeof newest === "object" && newest !== null && "failure" in newest
  return hasFailure && typeof newest.failure === "string" ? ofFailure(newest.failure) : ""
}

/** The sentence that describes an entry of the timeline. */
const saysOf = ({ details, what }: Entry): string => {
  const reason = text(details.reason)
  const because = reason === "" ? "" : `: ${words(reason)}`
  switch (what) {
    case "outcome":
      return [reason === "" ? "" : title(reason), text(details.message) === "" ? "" : `“${text(details.message)}”`]
        .filter(Boolean)
        .join(": ")
    case "not_asked":
      return reason === "" ? "" : title(reason)
    case "asked":
      return "Asked"
    case "circuit":
      return `Circuit ${words(text(details.circuit))}: ${words(text(details.why))}`
    case "quote":
      return `Quote, version ${text(details.version)}, ${text(details.status)}${because}`
    case "event":
      return text(details.type)
    case "delivery": {
      const failure = failureOf(details.attempts)
      const state = ofDelivery(text(details.status)).text.toLowerCase()
      return `${text(details.event_type)} to ${text(details.subscription_id)}: ${state}${failure === "" ? "" : `, ${failure}`}`
    }
    case "call":
      return `${text(details.operation)}, ${text(details.status)}`
    default:
      return title(what)
  }
}

const stateOf = ({ details, what }: Entry): State | null => {
  if (what === "outcome") return ofOutcome(text(details.outcome))
  if (what === "delivery") return ofDelivery(text(details.status))
  if (what === "not_asked") return ofOutcome("not_asked")
  return null
}

const Entries = ({ timeline: { entries, environment, organization_id } }: { readonly timeline: Timeline }) => {
  const start = Date.parse(entries[0]?.at ?? "")
  if (entries.length === 0) return <Empty>This request's history is no longer stored.</Empty>
  return (
    <ListTable
      label="What happened"
      columns={["After", "What", "Carrier", "Says", "Details"]}
      items={entries}
      row={(entry, index) => {
        const state = stateOf(entry)
        return (
          <tr key={index}>
            <td class="number">
              <Time at={entry.at}>{duration(Date.parse(entry.at) - start)}</Time>
            </td>
            <td>{title(entry.what)}</td>
            <td>
              <Outside text={text(entry.details.carrier_id)} />
            </td>
            <td>
              {state !== null && <Tag {...state} />} <Outside text={saysOf(entry)} />
              {entry.what === "delivery" && (
                <div class="minor">
                  <a href={to(["endpoints", organization_id, environment, text(entry.details.subscription_id)])}>
                    Send its deliveries again
                  </a>
                </div>
              )}
            </td>
            <td>
              <details>
                <summary>All</summary>
                <pre>
                  <Outside text={JSON.stringify(entry.details, null, 2)} />
                </pre>
              </details>
            </td>
          </tr>
        )
      }}
    />
  )
}

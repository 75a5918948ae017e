import { Empty, Id, Show, Tag, Time } from "../parts/basics.tsx"
import { ListTable } from "../parts/ListTable.tsx"
import { MoreButton } from "../parts/MoreButton.tsx"
import { useOnce } from "../state/loading.ts"
import { useOlder } from "../state/older.ts"
import type { Call, OperatorAnswer } from "../state/operatorCalls.ts"
import { go, to } from "../state/route.ts"
import { count, title } from "../words/format.ts"
import { ofOutcome, ofRequest } from "../words/states.ts"

type Page = OperatorAnswer<"find_quote_requests">
type Found = Page["quote_requests"][number]

/** The names of the filters in the page's query string. */
const names = [
  "organization_id",
  "environment",
  "status",
  "ended",
  "carrier_outcome",
  "line",
  "created_after",
  "id"
] as const

const dayAgo = (): string => new Date(Date.now() - 86_400_000).toISOString()

/** Filters for the questions that support gets most often. */
const questions = [
  { text: "All", filter: (): Record<string, string> => ({}) },
  { text: "Ended without a quote, last day", filter: () => ({ ended: "without_quotes", created_after: dayAgo() }) },
  { text: "Failed, last day", filter: () => ({ status: "failed", created_after: dayAgo() }) },
  { text: "A carrier gave no answer", filter: () => ({ carrier_outcome: "no_answer" }) },
  { text: "In progress", filter: () => ({ status: "in_progress" }) }
] as const

/** Finds requests of all organizations that the operator's token reaches. */
export const Find = ({ call, query }: { readonly call: Call; readonly query: URLSearchParams }) => {
  const filter = Object.fromEntries(names.flatMap((name) => (query.has(name) ? [[name, query.get(name) ?? ""]] : [])))
  const page = useOnce(`find ${query}`, (signal) => call("find_quote_requests", { ...filter, limit: 50 }, signal))
  return (
    <section class="page">
      <h1 tabIndex={-1}>Requests of all organizations</h1>
      <nav class="row" aria-label="Questions">
        {questions.map((question) => (
          <a key={question.text} class="choice" href={to(["requests"], question.filter())}>
            {question.text}
          </a>
        ))}
      </nav>
      <Filters filter={filter} />
      <div class="card">
        <Show of={page}>{(first) => <List call={call} filter={filter} first={first} />}</Show>
      </div>
    </section>
  )
}

const fields = [
  { name: "id", label: "Part of an id", placeholder: "qreq_…, or its last characters" },
  { name: "organization_id", label: "Organization", placeholder: "org_…" },
  { name: "line", label: "Line", placeholder: "renters" },
  { name: "carrier_outcome", label: "A carrier's outcome", placeholder: "no_answer" },
  { name: "created_after", label: "Created after", placeholder: "2026-11-27T00:00:00Z" }
] as const

const Filters = ({ filter }: { readonly filter: Readonly<Record<string, string>> }) => {
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget
    if (!(form instanceof HTMLFormElement)) return
    const given = Object.fromEntries(
      Array.from(new FormData(form), ([name, value]) => [name, String(value).trim()] as const)
    )
    go(["requests"], { ...filter, ...given })
  }
  return (
    <search>
      <form class="row" onSubmit={submit}>
        {fields.map(({ label, name, placeholder }) => (
          <label key={name} class="field">
            <span class="minor">{label}</span>
            <input name={name} defaultValue={filter[name] ?? ""} placeholder={placeholder} spellcheck={false} />
          </label>
        ))}
        <button type="submit">Find</button>
      </form>
    </search>
  )
}

const idOf = ({ id }: Found): string => id

const List = ({
  call,
  filter,
  first
}: {
  readonly call: Call
  readonly filter: Readonly<Record<string, string>>
  readonly first: Page
}) => {
  const older = useOlder({ items: first.quote_requests, next: first.next_cursor }, idOf, async (cursor) => {
    const { next_cursor, quote_requests } = await call("find_quote_requests", { ...filter, limit: 50, cursor })
    return { items: quote_requests, next: next_cursor }
  })
  return (
    <>
      {older.items.length === 0 ? (
        <Empty>{older.more === null ? "Nothing matches." : "Nothing on this page."}</Empty>
      ) : (
        <Table requests={older.items} />
      )}
      <MoreButton label="Search further" of={older} />
    </>
  )
}

const Table = ({ requests }: { readonly requests: ReadonlyArray<Found> }) => (
  <ListTable
    label="Requests"
    columns={["Request", "State", "Carriers", "Organization", "Started"]}
    items={requests}
    row={(request) => (
      <tr key={request.id}>
        <td>
          <a href={to(["requests", request.id])}>{title(request.reason)}</a>
          <div class="minor">
            <Id id={request.id} />
          </div>
        </td>
        <td>
          <Tag {...ofRequest(request.status)} />
          <div class="minor">
            {title(request.line)}, {request.environment}
          </div>
        </td>
        <td>{carriersInWords(request)}</td>
        <td>
          <Id id={request.organization_id} />
        </td>
        <td>
          <Time at={request.created_at} />
        </td>
      </tr>
    )}
  />
)

const carriersInWords = ({ carriers, quotes }: Found): string => {
  const others = carriers.filter(({ outcome }) => outcome !== "quoted")
  const why = others.map(
    ({ carrier_id, outcome, reason }) =>
      `${carrier_id} ${ofOutcome(outcome).text.toLowerCase()}${reason === null ? "" : ` (${reason})`}`
  )
  return [count(quotes, "quote"), ...why].join("; ")
}

import { useState } from "preact/hooks"
import type { AnswerOf } from "../../src/client/index.ts"
import { Empty, Id, Show, Tag, Time } from "../parts/basics.tsx"
import { ListTable } from "../parts/ListTable.tsx"
import { MoreButton } from "../parts/MoreButton.tsx"
import { bump } from "../state/clock.ts"
import { useLive } from "../state/loading.ts"
import { useOlder } from "../state/older.ts"
import { go, to } from "../state/route.ts"
import type { Session } from "../state/session.ts"
import { count, title, words } from "../words/format.ts"
import { ofRequest } from "../words/states.ts"

type Request = AnswerOf<"list_quote_requests">["quote_requests"][number]

const statuses = ["in_progress", "action_required", "completed", "failed"] as const
const isStatus = (text: string | null): text is (typeof statuses)[number] => statuses.some((one) => one === text)

/** The workspace's quote requests, newest first. */
export const Requests = ({ query, session }: { readonly session: Session; readonly query: URLSearchParams }) => {
  const asked = query.get("status")
  const status = isStatus(asked) ? asked : null
  const filter = { limit: 50, ...(status !== null && { status }) }
  const page = useLive(`requests ${status} ${bump.value}`, {
    read: (signal) => session.client.list_quote_requests(filter, { signal }),
    next: () => 5_000
  })
  return (
    <section class="page">
      <div class="spread">
        <h1 tabIndex={-1}>Requests</h1>
        <Find />
      </div>
      <nav class="row" aria-label="Filter by status">
        <a class="choice" href={to(["requests"])} aria-current={status === null ? "true" : undefined}>
          All
        </a>
        {statuses.map((one) => (
          <a
            key={one}
            class="choice"
            href={to(["requests"], { status: one })}
            aria-current={status === one ? "true" : undefined}
          >
            {ofRequest(one).text}
          </a>
        ))}
      </nav>
      <div class="card">
        <Show of={page}>
          {({ next_cursor, quote_requests: first }) =>
            first.length === 0 ? (
              <Empty>
                {status === null ? "There are no requests yet." : "No request has this status."}{" "}
                {session.environment === "sandbox" && <a href={to(["try"])}>Start one in the sandbox.</a>}
              </Empty>
            ) : (
              <List session={session} first={first} cursor={next_cursor} filter={filter} key={`${status}`} />
            )
          }
        </Show>
      </div>
    </section>
  )
}

/** A search field that opens the request, call or endpoint with a given ID. */
const Find = () => {
  const [id, setId] = useState("")
  const [wrong, setWrong] = useState(false)
  const submit = (event: Event) => {
    event.preventDefault()
    const text = id.trim()
    const section = text.startsWith("qreq_")
      ? "requests"
      : text.startsWith("req_")
        ? "calls"
        : text.startsWith("sub_")
          ? "webhooks"
          : null
    setWrong(section === null)
    if (section !== null) go([section, text])
  }
  return (
    <search>
      <form class="row" onSubmit={submit}>
        <label class="hidden" for="find">
          Find by id
        </label>
        <input
          id="find"
          placeholder="qreq_…, req_… or sub_…"
          value={id}
          onInput={(event) => setId(event.currentTarget.value)}
          aria-invalid={wrong}
          aria-describedby="find-says"
          spellcheck={false}
          autocomplete="off"
        />
        <button type="submit">Find</button>
        <span id="find-says" class="minor" role="status">
          {wrong ? "Ids begin with qreq_, req_ or sub_." : ""}
        </span>
      </form>
    </search>
  )
}

const idOf = ({ id }: Request): string => id

/** The newest page of the list, kept up to date, and the older pages that the user has loaded. */
const List = ({
  cursor,
  filter,
  first,
  session
}: {
  readonly session: Session
  readonly first: ReadonlyArray<Request>
  readonly cursor: string | null
  readonly filter: Parameters<Session["client"]["list_quote_requests"]>[0]
}) => {
  const older = useOlder({ items: first, next: cursor }, idOf, async (from) => {
    const { next_cursor, quote_requests } = await session.client.list_quote_requests({ ...filter, cursor: from })
    return { items: quote_requests, next: next_cursor }
  })
  return (
    <>
      <ListTable
        label="Requests"
        columns={["Request", "Line", "State", "Carriers", "Started"]}
        items={older.items}
        row={rowOf}
      />
      <MoreButton label="Older requests" of={older} />
    </>
  )
}

const rowOf = (request: Request) => {
  const quoted = request.carriers.filter(({ outcome }) => outcome === "quoted").length
  return (
    <tr key={request.id}>
      <td>
        <a href={to(["requests", request.id])}>{title(request.status_details.reason)}</a>
        <div class="minor">
          <Id id={request.id} />
        </div>
      </td>
      <td>{title(request.line)}</td>
      <td>
        <Tag {...ofRequest(request.status)} />
      </td>
      <td>
        {request.carriers.length === 0
          ? "not asked yet"
          : `${quoted} of ${count(request.carriers.length, "carrier")} quoted`}
        {request.scenario !== null && <div class="minor">scenario {words(request.scenario)}</div>}
      </td>
      <td>
        <Time at={request.created_at} />
      </td>
    </tr>
  )
}

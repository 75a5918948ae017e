import { Empty, Facts, Id, Show, Tag, Time } from "../parts/basics.tsx"
import { type Call, CallTable } from "../parts/CallTable.tsx"
import { MoreButton } from "../parts/MoreButton.tsx"
import { useLive, useOnce } from "../state/loading.ts"
import { useOlder } from "../state/older.ts"
import { to } from "../state/route.ts"
import type { Session } from "../state/session.ts"
import { duration } from "../words/format.ts"
import { ofHttp } from "../words/states.ts"

const choices = [
  { name: "", text: "All" },
  { name: "422", text: "Wrong input" },
  { name: "404", text: "Not found" },
  { name: "409", text: "Conflicts" },
  { name: "429", text: "Limited" },
  { name: "503", text: "Unavailable" }
] as const

/** The request log, newest first. */
export const Calls = ({ query, session }: { readonly session: Session; readonly query: URLSearchParams }) => {
  const asked = query.get("status") ?? ""
  const status = choices.some(({ name }) => name === asked) ? asked : ""
  const filter = { limit: 50, ...(status !== "" && { status: Number(status) }) }
  const page = useLive(`calls ${status}`, {
    read: (signal) => session.client.list_api_requests(filter, { signal }),
    next: () => 5_000
  })
  return (
    <section class="page">
      <h1 tabIndex={-1}>Calls</h1>
      <nav class="row" aria-label="Filter by status">
        {choices.map(({ name, text }) => (
          <a
            key={name}
            class="choice"
            href={to(["calls"], { status: name })}
            aria-current={status === name ? "true" : undefined}
          >
            {text}
          </a>
        ))}
      </nav>
      <div class="card">
        <Show of={page}>
          {({ next_cursor, requests }) =>
            requests.length === 0 ? (
              <Empty>No calls. A call appears within a second of its answer.</Empty>
            ) : (
              <List session={session} first={requests} cursor={next_cursor} filter={filter} key={status} />
            )
          }
        </Show>
      </div>
    </section>
  )
}

const idOf = ({ request_id }: Call): string => request_id

const List = ({
  cursor,
  filter,
  first,
  session
}: {
  readonly session: Session
  readonly first: ReadonlyArray<Call>
  readonly cursor: string | null
  readonly filter: Parameters<Session["client"]["list_api_requests"]>[0]
}) => {
  const older = useOlder({ items: first, next: cursor }, idOf, async (from) => {
    const { next_cursor, requests } = await session.client.list_api_requests({ ...filter, cursor: from })
    return { items: requests, next: next_cursor }
  })
  return (
    <>
      <CallTable calls={older.items} />
      <MoreButton label="Older calls" of={older} />
    </>
  )
}

/** One call from the request log. It shows no bodies, because they are not stored. */
export const CallPage = ({ id, session }: { readonly session: Session; readonly id: string }) => {
  const call = useOnce(`call ${id}`, (signal) => session.client.get_api_request({ id }, { signal }))
  return (
    <section class="page">
      <nav class="minor row tight" aria-label="Where you are">
        <a href={to(["calls"])}>Calls</a> / <Id id={id} />
      </nav>
      <h1 tabIndex={-1}>Call</h1>
      <div class="card">
        <Show of={call}>{(one) => <Whole call={one} />}</Show>
      </div>
    </section>
  )
}

const Whole = ({ call }: { readonly call: Omit<Call, "agent"> }) => (
  <Facts
    of={[
      ["Status", <Tag key="status" {...ofHttp(call.status)} />],
      ["Operation", call.operation ?? "none"],
      ["Route", <code key="route">{`${call.method} ${call.route}`}</code>],
      ["Error", call.error_code === null ? "none" : <code key="error">{call.error_code}</code>],
      ["At (real time)", <Time key="at" at={call.created_at} />],
      ["Took", duration(call.duration_ms)],
      ["Key", <Id key="key" id={call.key_id} />],
      [
        "Quote request",
        call.quote_request_id === null ? (
          "none"
        ) : (
          <a key="request" href={to(["requests", call.quote_request_id])}>
            {call.quote_request_id}
          </a>
        )
      ]
    ]}
  />
)

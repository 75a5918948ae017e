import type { AnswerOf } from "../../src/client/index.ts"
import { Empty, Id, Show, Time } from "../parts/basics.tsx"
import { ListTable } from "../parts/ListTable.tsx"
import { bump } from "../state/clock.ts"
import { useLive } from "../state/loading.ts"
import { to } from "../state/route.ts"
import type { Session } from "../state/session.ts"
import { title } from "../words/format.ts"

type Event = AnswerOf<"list_events">["events"][number]

/** How many events are kept and shown. Older events are dropped. */
const maxShown = 10_000

/** The part of the event feed that has been read so far. */
interface Feed {
  /** The newest event comes first. */
  readonly events: ReadonlyArray<Event>
  readonly cursor: string | null
  readonly caughtUp: boolean
}

const begun: Feed = { events: [], cursor: null, caughtUp: false }

/** The latest events, and each new one as it arrives, newest first. */
export const Events = ({ query, session }: { readonly session: Session; readonly query: URLSearchParams }) => {
  const type = query.get("type") ?? ""
  const feed = useLive(`feed ${bump.value}`, {
    read: async (signal, last: Feed | null): Promise<Feed> => {
      const { cursor, events } = last ?? begun
      const page = await session.client.list_events(
        { limit: 100, ...(cursor === null ? { from: "newest" } : { cursor }) },
        { signal }
      )
      return {
        events: [...page.events.toReversed(), ...events].slice(0, maxShown),
        cursor: page.next_cursor,
        caughtUp: page.events.length === 0
      }
    },
    next: ({ caughtUp }) => (caughtUp ? 2_000 : 0)
  })
  return (
    <section class="page">
      <h1 tabIndex={-1}>Events</h1>
      <Show of={feed}>{({ events }) => <List events={events} type={type} />}</Show>
    </section>
  )
}

const List = ({ events, type }: { readonly events: ReadonlyArray<Event>; readonly type: string }) => {
  const types = [...new Set(events.map((event) => event.type))].sort()
  const shown = type === "" ? events : events.filter((event) => event.type === type)
  return (
    <>
      <nav class="row" aria-label="Filter by type">
        {["", ...types].map((one) => (
          <a
            key={one}
            class="choice"
            href={to(["events"], { type: one })}
            aria-current={one === type ? "true" : undefined}
          >
            {one === "" ? "All" : one}
          </a>
        ))}
      </nav>
      <div class="card">
        {shown.length === 0 ? (
          <Empty>No events yet. Each change to a request or a quote creates an event.</Empty>
        ) : (
          <Table events={shown} />
        )}
        {events.length === maxShown && (
          <p class="minor">Only the latest {maxShown.toLocaleString("en-US")} events are shown.</p>
        )}
      </div>
    </>
  )
}

const Table = ({ events }: { readonly events: ReadonlyArray<Event> }) => (
  <ListTable
    label="Events"
    columns={["At", "Event", "About", "Line", "Id"]}
    items={events}
    row={(event) => (
      <tr key={event.id}>
        <td>
          <Time at={event.occurred_at} />
        </td>
        <td>
          <code>{event.type}</code>
        </td>
        <td>
          {event.resource.type === "quote_request" ? (
            <a href={to(["requests", event.resource.id])}>request</a>
          ) : (
            "quote"
          )}
          , version {event.resource.version}
          <div class="minor">
            <Id id={event.resource.id} />
          </div>
        </td>
        <td>{title(event.line)}</td>
        <td>
          <Id id={event.id} />
        </td>
      </tr>
    )}
  />
)

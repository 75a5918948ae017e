import { type Client, isApiError } from "../../src/client/index.ts"
import { Empty, Facts, Show, Tag } from "../parts/basics.tsx"
import { Happened } from "../parts/Happened.tsx"
import { type Loaded, useLive } from "../state/loading.ts"
import type { Place } from "../state/route.ts"
import { sharedClient } from "../state/shared.ts"
import { title } from "../words/format.ts"
import { ofEndpoint, ofRequest } from "../words/states.ts"
import { type Answer, EventTable, Head, Quotes, slowMs, useRequest } from "./RequestPage.tsx"
import { Attempts, Deliveries, useHealth } from "./Webhooks.tsx"

/** The page that a partner link opens: one request or one endpoint, read-only. */
export const SharedPage = ({ place: { path } }: { readonly place: Place }) => {
  const client = sharedClient.value
  const [, id, event] = path
  if (client === null || id === undefined) {
    return <NoLink says="The link is incomplete, or was altered. Open the whole link, as you received it." />
  }
  return id.startsWith("sub_") ? (
    <SharedEndpoint client={client} id={id} event={event} key={id} />
  ) : (
    <SharedRequest client={client} id={id} key={id} />
  )
}

const NoLink = ({ says }: { readonly says: string }) => (
  <section class="page">
    <h1 tabIndex={-1}>This link shows nothing</h1>
    <p>{says}</p>
    <p>Ask whoever sent it for a new one.</p>
  </section>
)

/** Explains why a link does not work; null if it works or the error has nothing to do with the link. */
const refusalOf = ({ error }: Loaded<unknown>): string | null => {
  if (!isApiError(error)) return null
  if (error.code === "authentication_failed") return "The link has expired, or was altered."
  return error.code === "not_found" || error.code === "forbidden" ? "The link is for a different page." : null
}

const SharedRequest = ({ client, id }: { readonly client: Client; readonly id: string }) => {
  const request = useRequest(client, id)
  const refusal = refusalOf(request)
  if (refusal !== null) return <NoLink says={refusal} />
  return (
    <section class="page">
      <p class="minor">Read-only partner link.</p>
      <div class="row">
        <h1 tabIndex={-1}>{request.value === null ? "Request" : title(request.value.quote_request.line)}</h1>
        <span aria-live="polite">
          {request.value !== null && <Tag {...ofRequest(request.value.quote_request.status)} />}
        </span>
      </div>
      <Show of={request}>{(answer) => <WholeRequest client={client} answer={answer} />}</Show>
    </section>
  )
}

const WholeRequest = ({
  answer: { quote_request: request, quotes },
  client
}: {
  readonly client: Client
  readonly answer: Answer
}) => {
  const events = useLive(`shared events ${request.id} ${request.version}`, {
    read: async (signal) => (await client.list_events({ quote_request_id: request.id, limit: 100 }, { signal })).events,
    next: () => slowMs
  })
  return (
    <>
      <Head request={request} />
      <div class="card">
        <Happened request={request} events={events.value ?? []} deliveries={[]} />
      </div>
      <Quotes quote_request={request} quotes={quotes} />
      <div class="card">
        <h2>Events</h2>
        <Show of={events}>{(all) => <EventTable request={request} events={all} deliveries={null} />}</Show>
      </div>
    </>
  )
}

const SharedEndpoint = ({
  client,
  event,
  id
}: {
  readonly client: Client
  readonly id: string
  readonly event: string | undefined
}) => {
  const health = useHealth({ client }, id)
  const deliveries = useLive(`shared deliveries ${id}`, {
    read: async (signal) => (await client.list_event_deliveries({ id, limit: 100 }, { signal })).deliveries,
    next: () => slowMs
  })
  const refusal = refusalOf(health)
  if (refusal !== null) return <NoLink says={refusal} />
  const path = ["link", id]
  return (
    <section class="page">
      <p class="minor">Read-only partner link.</p>
      <h1 tabIndex={-1}>Endpoint</h1>
      <div class="card">
        <Show of={health}>
          {({ reason, state }) => (
            <Facts
              of={[
                ["Health", <Tag key="state" {...ofEndpoint(state)} />],
                ["Because", title(reason)]
              ]}
            />
          )}
        </Show>
      </div>
      {event !== undefined && (
        <Attempts readOnly session={{ client }} path={path} subscription={id} event={event} key={event} />
      )}
      <div class="card">
        <h2>Deliveries</h2>
        <Show of={deliveries}>
          {(all) =>
            all.length === 0 ? <Empty>None yet.</Empty> : <Deliveries path={path} deliveries={all} shown={event} />
          }
        </Show>
      </div>
    </section>
  )
}

import type { AnswerOf, Client } from "../../src/client/index.ts"
import { Empty, Facts, Id, Outside, Show, Tag, Time, Wide } from "../parts/basics.tsx"
import { CallTable } from "../parts/CallTable.tsx"
import { Happened } from "../parts/Happened.tsx"
import { QuoteTable } from "../parts/QuoteTable.tsx"
import { Share } from "../parts/Share.tsx"
import { bump } from "../state/clock.ts"
import { type DeliveryTo, deliveriesOf } from "../state/deliveries.ts"
import { useLive, useOnce } from "../state/loading.ts"
import { to } from "../state/route.ts"
import type { Session } from "../state/session.ts"
import { count, duration, title } from "../words/format.ts"
import { ofDelivery, ofRequest } from "../words/states.ts"

export type Answer = AnswerOf<"get_quote_request">
type Request = Answer["quote_request"]

/**
 * How often a page checks a finished request for later changes, such as retried deliveries and expired quotes, in
 * milliseconds.
 */
export const slowMs = 10_000

/**
 * Loads a quote request with its quotes and keeps it up to date. While carriers are being asked, it long-polls the
 * host.
 */
export const useRequest = (client: Client, id: string) =>
  useLive(`request ${id} ${bump.value}`, {
    read: (signal, last: Answer | null) =>
      client.get_quote_request(
        last === null ? { id, wait_seconds: 0 } : { id, since_version: last.quote_request.version },
        { signal }
      ),
    next: ({ quote_request: { status } }) => (status === "in_progress" ? 0 : slowMs)
  })

/** Everything about one quote request, on one page. */
export const RequestPage = ({ id, session }: { readonly session: Session; readonly id: string }) => {
  const request = useRequest(session.client, id)
  return (
    <section class="page">
      <nav class="minor row tight" aria-label="Where you are">
        <a href={to(["requests"])}>Requests</a> / <Id id={id} />
      </nav>
      <div class="row">
        {/* The same heading element is used before and after loading, so that it keeps the focus. */}
        <h1 tabIndex={-1}>{request.value === null ? "Request" : title(request.value.quote_request.line)}</h1>
        <span aria-live="polite">
          {request.value !== null && <Tag {...ofRequest(request.value.quote_request.status)} />}
        </span>
      </div>
      <Show of={request}>{(answer) => <Whole session={session} answer={answer} />}</Show>
    </section>
  )
}

const Whole = ({
  answer: { quote_request: request, quotes },
  session
}: {
  readonly session: Session
  readonly answer: Answer
}) => {
  const read = { quote_request_id: request.id, limit: 100 }
  const key = `${request.id} ${request.version} ${bump.value}`
  const events = useLive(`events ${key}`, {
    read: async (signal) => (await session.client.list_events(read, { signal })).events,
    next: () => slowMs
  })
  const deliveries = useLive(`deliveries ${key}`, {
    read: (signal) => deliveriesOf(session, request.id, signal),
    next: () => slowMs
  })
  const calls = useOnce(
    `calls ${key}`,
    async (signal) => (await session.client.list_api_requests(read, { signal })).requests
  )
  return (
    <>
      <Head request={request} />
      <div class="card">
        <Happened request={request} events={events.value ?? []} deliveries={deliveries.value ?? []} />
      </div>
      <Quotes quote_request={request} quotes={quotes} />
      <div class="card">
        <h2>Events and deliveries</h2>
        <Show of={events}>
          {(all) => <EventTable request={request} events={all} deliveries={deliveries.value ?? []} />}
        </Show>
      </div>
      <div class="card">
        <h2>Calls about this request</h2>
        <Show of={calls}>
          {(all) =>
            all.length === 0 ? (
              <Empty>The request log has no calls about this request.</Empty>
            ) : (
              <CallTable calls={all} />
            )
          }
        </Show>
      </div>
      <Share
        id={request.id}
        make={(expires_in_days) => session.client.create_partner_link({ shared_id: request.id, expires_in_days })}
      />
    </>
  )
}

/** A request's quotes, in the order in which they arrived. */
export const Quotes = ({ quote_request: request, quotes }: Answer) => (
  <div class="card">
    <div class="spread">
      <h2>{count(quotes.length, "quote")}</h2>
      {quotes.length > 1 && <span class="minor">In the order of arrival, which is not a ranking</span>}
    </div>
    {quotes.length === 0 ? (
      <Empty>{request.status === "in_progress" ? "None yet." : "No carrier has quoted. The reasons are above."}</Empty>
    ) : (
      <QuoteTable quotes={quotes} now={Date.parse(request.updated_at)} />
    )}
  </div>
)

/** A request's status, times, and the number of carriers with each outcome. */
export const Head = ({ request }: { readonly request: Request }) => {
  const of = (outcome: string) => request.carriers.filter((one) => one.outcome === outcome).length
  const counts = [
    [of("quoted"), "quoted"],
    [of("declined"), "declined"],
    [of("no_answer"), "without an answer"],
    [of("needs_information"), "with a question"],
    [of("not_asked"), "not asked"],
    [of("pending"), "asked"]
  ] as const
  const isFinal = request.status === "completed" || request.status === "failed"
  return (
    <header class="stack">
      <p>
        <Outside text={request.status_details.message} />{" "}
        <span class="minor">
          Reason <code>{request.status_details.reason}</code>
          {request.scenario !== null && (
            <>
              {" "}
              · scenario <code>{request.scenario}</code>
            </>
          )}{" "}
          · version {request.version}
        </span>
      </p>
      <Facts
        of={[
          ["Started", <Time key="at" at={request.created_at} />],
          ...(isFinal
            ? [["Took", duration(Date.parse(request.updated_at) - Date.parse(request.created_at))] as const]
            : []),
          [
            "Carriers",
            counts.every(([number]) => number === 0)
              ? "not asked yet"
              : counts
                  .filter(([number]) => number > 0)
                  .map(([number, what]) => `${number} ${what}`)
                  .join(", ")
          ],
          ["Facts", "encrypted; never shown here"]
        ]}
      />
    </header>
  )
}

/** A request's events, and the state of their deliveries if it is known. */
export const EventTable = ({
  deliveries,
  events,
  request
}: {
  readonly request: Request
  readonly events: ReadonlyArray<AnswerOf<"list_events">["events"][number]>
  readonly deliveries: ReadonlyArray<DeliveryTo> | null
}) => {
  const start = Date.parse(request.created_at)
  return (
    <Wide label={deliveries === null ? "Events" : "Events and deliveries"}>
      <table>
        <thead>
          <tr>
            <th scope="col">After</th>
            <th scope="col">Event</th>
            <th scope="col">About</th>
            {deliveries !== null && <th scope="col">Deliveries</th>}
          </tr>
        </thead>
        <tbody>
          {events.map((event) => {
            const sent = deliveries?.filter(({ delivery }) => delivery.event_id === event.id)
            return (
              <tr key={event.id}>
                <td class="number">
                  <Time at={event.occurred_at}>{duration(Date.parse(event.occurred_at) - start)}</Time>
                </td>
                <td>
                  <code>{event.type}</code>
                </td>
                <td>
                  {event.resource.type === "quote" ? "quote" : "request"}, version {event.resource.version}
                </td>
                {sent !== undefined && (
                  <td>
                    {sent.length === 0 ? (
                      <span class="minor">no endpoint subscribes to this event type</span>
                    ) : (
                      sent.map((one) => <Sent key={one.subscription_id} one={one} />)
                    )}
                  </td>
                )}
              </tr>
            )
          })}
        </tbody>
      </table>
    </Wide>
  )
}

const Sent = ({ one: { delivery, subscription_id, url } }: { readonly one: DeliveryTo }) => (
  <div class="row tight">
    <Tag {...ofDelivery(delivery.status)} />
    <a href={to(["webhooks", subscription_id, delivery.event_id])}>
      <Outside text={hostOf(url)} />
    </a>
  </div>
)

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url)

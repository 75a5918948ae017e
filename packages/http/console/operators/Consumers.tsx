import { Empty, Failure, Id, Outside, Show, Tag, Time, Wide } from "../parts/basics.tsx"
import { useAction, useLive } from "../state/loading.ts"
import type { Call, OperatorAnswer } from "../state/operatorCalls.ts"
import { to } from "../state/route.ts"
import { count } from "../words/format.ts"

type Parked = OperatorAnswer<"list_parked_events">["events"][number]

/** The event consumers in the service's own processes, and the events that they have parked. */
export const Consumers = ({ call, name }: { readonly call: Call; readonly name: string | undefined }) => {
  const page = useLive("consumers", { read: (signal) => call("list_consumers", {}, signal), next: () => 5_000 })
  return (
    <section class="page">
      <h1 tabIndex={-1}>Consumers</h1>
      <div class="card">
        <Show of={page}>
          {({ consumers }) =>
            consumers.length === 0 ? (
              <Empty>No program consumes events in this service.</Empty>
            ) : (
              <Wide label="Consumers">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">Name</th>
                      <th scope="col">Behind</th>
                      <th scope="col">Parked</th>
                      <th scope="col">Since</th>
                    </tr>
                  </thead>
                  <tbody>
                    {consumers.map((consumer) => (
                      <tr key={consumer.name} aria-current={consumer.name === name ? "true" : undefined}>
                        <td>
                          <a href={to(["consumers", consumer.name])}>
                            <Outside text={consumer.name} />
                          </a>
                        </td>
                        <td>{count(consumer.behind, "event")}</td>
                        <td>
                          {consumer.parked === 0 ? "none" : <Tag tone="bad" text={count(consumer.parked, "event")} />}
                        </td>
                        <td>
                          <Time at={consumer.started_at} />
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Wide>
            )
          }
        </Show>
      </div>
      {name !== undefined && <ParkedEvents call={call} name={name} />}
    </section>
  )
}

const ParkedEvents = ({ call, name }: { readonly call: Call; readonly name: string }) => {
  const page = useLive(`parked ${name}`, {
    read: (signal) => call("list_parked_events", { name, limit: 100 }, signal),
    next: () => 5_000
  })
  const { busy, error, run } = useAction()
  const decide = (
    what: "retry_parked_event" | "drop_parked_event",
    { environment, event_id, organization_id }: Parked
  ) =>
    run(async () => {
      await call(what, { name, event_id, organization_id, environment })
      page.reload()
    })
  return (
    <div class="card stack">
      <h2>
        Parked by <Outside text={name} />
      </h2>
      <Failure error={error} />
      <Show of={page}>
        {({ events }) =>
          events.length === 0 ? (
            <Empty>No event is parked.</Empty>
          ) : (
            <ul class="attempts">
              {events.map((parked) => (
                <li key={`${parked.organization_id} ${parked.event_id}`} class="bad">
                  <div class="row">
                    <code>{parked.event?.type ?? "an event that is no longer kept"}</code> <Id id={parked.event_id} />
                  </div>
                  <p>
                    <Outside text={parked.error} />
                  </p>
                  <p class="minor">
                    {count(parked.attempts, "attempt")}, parked <Time at={parked.parked_at} />, {parked.organization_id}
                    , {parked.environment}
                  </p>
                  <div class="row">
                    {parked.retrying && <Tag tone="none" text="retrying" />}
                    <button type="button" disabled={busy} onClick={() => decide("retry_parked_event", parked)}>
                      Retry
                    </button>
                    <button type="button" disabled={busy} onClick={() => decide("drop_parked_event", parked)}>
                      Drop
                    </button>
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </Show>
    </div>
  )
}

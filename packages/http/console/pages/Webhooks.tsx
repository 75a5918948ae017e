import { useState } from "preact/hooks"
import type { AnswerOf } from "../../src/client/index.ts"
import { Copy, Empty, Facts, Failure, Id, Outside, Show, Tag, Time } from "../parts/basics.tsx"
import { ListTable } from "../parts/ListTable.tsx"
import { Share } from "../parts/Share.tsx"
import { bump } from "../state/clock.ts"
import { useAction, useLive } from "../state/loading.ts"
import { to } from "../state/route.ts"
import { idempotently, type Session } from "../state/session.ts"
import { duration, title, words } from "../words/format.ts"
import { ofDelivery, ofEndpoint, ofHttp } from "../words/states.ts"

type Subscription = AnswerOf<"list_event_subscriptions">["event_subscriptions"][number]
type Delivery = AnswerOf<"get_event_delivery">

/** The workspace's webhook endpoints. */
export const Webhooks = ({ session }: { readonly session: Session }) => {
  const [secret, setSecret] = useState<string | null>(null)
  const page = useLive(`endpoints ${bump.value}`, {
    read: async (signal) =>
      (await session.client.list_event_subscriptions({ limit: 100 }, { signal })).event_subscriptions,
    next: () => 10_000
  })
  return (
    <section class="page">
      <h1 tabIndex={-1}>Webhooks</h1>
      {secret !== null && (
        <div class="card stack" role="status">
          <p>The endpoint's signing secret, shown only now. Keep it where your endpoint checks signatures:</p>
          <div class="row">
            <code>{secret}</code>
            <Copy label="Copy" text={secret} />
          </div>
        </div>
      )}
      <Show of={page}>
        {(all) =>
          all.length === 0 ? (
            <div class="card">
              <Empty>There are no endpoints. Add the address of yours:</Empty>
              <Create session={session} onCreated={setSecret} />
            </div>
          ) : (
            <>
              {all.map((subscription) => (
                <div class="card" key={subscription.id}>
                  <Endpoint session={session} subscription={subscription} />
                </div>
              ))}
              <details class="card">
                <summary>Add an endpoint</summary>
                <Create session={session} onCreated={setSecret} />
              </details>
            </>
          )
        }
      </Show>
    </section>
  )
}

const Endpoint = ({ session, subscription }: { readonly session: Session; readonly subscription: Subscription }) => {
  const health = useHealth(session, subscription.id)
  return (
    <>
      <div class="spread">
        <h2>
          <a href={to(["webhooks", subscription.id])}>
            <Outside text={subscription.url} />
          </a>
        </h2>
        {health.value !== null && <Tag {...ofEndpoint(health.value.state)} />}
      </div>
      <Show of={health}>{({ reason }) => <p class="minor">{title(reason)}</p>}</Show>
      <p class="minor">{subscription.event_types.join(", ")}</p>
    </>
  )
}

/** Loads an endpoint's health and keeps it up to date. */
export const useHealth = ({ client }: Pick<Session, "client">, id: string) =>
  useLive(`health ${id} ${bump.value}`, {
    read: (signal) => client.get_event_subscription_health({ id }, { signal }),
    next: () => 10_000
  })

const eventTypes = [
  "quote_request.completed",
  "quote_request.failed",
  "quote.created",
  "quote.updated",
  "quote.expired"
] as const

const Create = ({
  onCreated,
  session
}: {
  readonly session: Session
  readonly onCreated: (secret: string | null) => void
}) => {
  const { busy, error, run } = useAction()
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget
    if (!(form instanceof HTMLFormElement)) return
    const url = new FormData(form).get("url")
    run(async () => {
      const created = await session.client.create_event_subscription(
        { url: String(url), event_types: [...eventTypes] },
        idempotently()
      )
      onCreated(created.signing_secret)
      form.reset()
      bump.value++
    })
  }
  return (
    <form class="stack" onSubmit={submit}>
      <label for="url">Address</label>
      <input id="url" name="url" type="url" required placeholder="https://hooks.example.com/quotewire" />
      <p class="minor">Event types: {eventTypes.join(", ")}.</p>
      <button type="submit" disabled={busy}>
        {busy ? "Adding…" : "Add the endpoint"}
      </button>
      <Failure error={error} />
    </form>
  )
}

/** The page of one endpoint: its health, its deliveries, and the attempts of the selected delivery. */
export const EndpointPage = ({
  event,
  id,
  session
}: {
  readonly session: Session
  readonly id: string
  readonly event: string | undefined
}) => {
  const found = useLive(`endpoint ${id} ${bump.value}`, {
    read: async (signal) => {
      const { event_subscriptions } = await session.client.list_event_subscriptions({ limit: 100 }, { signal })
      return event_subscriptions.find((one) => one.id === id) ?? null
    },
    next: () => null
  })
  return (
    <section class="page">
      <nav class="minor row tight" aria-label="Where you are">
        <a href={to(["webhooks"])}>Webhooks</a> / <Id id={id} />
      </nav>
      <h1 tabIndex={-1}>Endpoint</h1>
      <Show of={found}>
        {(subscription) =>
          subscription === null ? (
            <Empty>This workspace has no endpoint with this id.</Empty>
          ) : (
            <Whole session={session} subscription={subscription} event={event} />
          )
        }
      </Show>
    </section>
  )
}

const Whole = ({
  event,
  session,
  subscription
}: {
  readonly session: Session
  readonly subscription: Subscription
  readonly event: string | undefined
}) => {
  const { id } = subscription
  return (
    <>
      <Overview session={session} subscription={subscription} />
      {event !== undefined && (
        <Attempts session={session} path={["webhooks", id]} subscription={id} event={event} key={event} />
      )}
      <RecentDeliveries session={session} id={id} shown={event} />
      <Share
        id={id}
        make={(expires_in_days) => session.client.create_partner_link({ shared_id: id, expires_in_days })}
      />
    </>
  )
}

/** An endpoint's address and health, and a button that sends a test event. */
const Overview = ({ session, subscription }: { readonly session: Session; readonly subscription: Subscription }) => {
  const { event_types, id, url } = subscription
  const health = useHealth(session, id)
  const testing = useAction()
  const test = () =>
    testing.run(async () => {
      await session.client.send_test_event({ id }, idempotently())
      bump.value++
    })
  return (
    <div class="card stack">
      <div class="spread">
        <p>
          <Outside text={url} />
        </p>
        <button type="button" onClick={test} disabled={testing.busy}>
          {testing.busy ? "Sending…" : "Send a test event"}
        </button>
      </div>
      <Failure error={testing.error} />
      <Show of={health}>
        {({ last_attempt, reason, state }) => (
          <Facts
            of={[
              ["Health", <Tag key="state" {...ofEndpoint(state)} />],
              ["Because", title(reason)],
              [
                "Last attempt",
                last_attempt === null ? (
                  "none"
                ) : (
                  <span key="last" class="row tight">
                    <Tag {...ofHttp(last_attempt.response_status_code)} /> <Time at={last_attempt.attempted_at} />
                  </span>
                )
              ],
              ["Gets", event_types.join(", ")]
            ]}
          />
        )}
      </Show>
      <details>
        <summary>Check a signature</summary>
        <Recipe />
      </details>
    </div>
  )
}

/** An endpoint's latest deliveries, kept up to date. */
const RecentDeliveries = ({
  id,
  session,
  shown
}: {
  readonly session: Session
  readonly id: string
  readonly shown: string | undefined
}) => {
  const deliveries = useLive(`deliveries ${id} ${bump.value}`, {
    read: async (signal) => (await session.client.list_event_deliveries({ id, limit: 100 }, { signal })).deliveries,
    next: () => 5_000
  })
  return (
    <div class="card">
      <div class="spread">
        <h2>Deliveries</h2>
        <a href={to(["webhooks", id, "recoveries"])}>Resend many deliveries</a>
      </div>
      <Show of={deliveries}>
        {(all) =>
          all.length === 0 ? (
            <Empty>None yet. Send a test event to see one.</Empty>
          ) : (
            <Deliveries path={["webhooks", id]} deliveries={all} shown={shown} />
          )
        }
      </Show>
    </div>
  )
}

const recipe = `import { verifyWebhook } from "@quotewire/core"

// body: the text as it arrived, before anything has parsed it
const { ok } = await verifyWebhook({ secrets: [secret], headers, body })`

const Recipe = () => (
  <>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: people without a mouse must be able to scroll it */}
    <pre tabIndex={0}>{recipe}</pre>
    <Copy label="Copy the recipe" text={recipe} />
  </>
)

/** An endpoint's deliveries. Each links to a page below the endpoint's own. */
export const Deliveries = ({
  deliveries,
  path,
  shown
}: {
  readonly path: ReadonlyArray<string>
  readonly deliveries: AnswerOf<"list_event_deliveries">["deliveries"]
  readonly shown: string | undefined
}) => (
  <ListTable
    label="Deliveries"
    columns={["Made", "Event", "State", "Next attempt"]}
    items={deliveries}
    row={({ created_at, event_id, event_type, next_attempt_at, status }) => (
      <tr key={event_id} aria-current={event_id === shown ? "true" : undefined}>
        <td>
          <Time at={created_at} />
        </td>
        <td>
          <a href={to([...path, event_id])}>{event_type}</a>
        </td>
        <td>
          <Tag {...ofDelivery(status)} />
        </td>
        <td>{next_attempt_at === null ? <span class="minor">none</span> : <Time at={next_attempt_at} />}</td>
      </tr>
    )}
  />
)

/** The attempts of one delivery, newest first. Partners do not get the button that resends it. */
export const Attempts = ({
  event,
  path,
  readOnly = false,
  session,
  subscription
}: {
  readonly session: Pick<Session, "client">
  readonly path: ReadonlyArray<string>
  readonly readOnly?: boolean
  readonly subscription: string
  readonly event: string
}) => {
  const call = { id: subscription, event_id: event }
  const delivery = useLive(`delivery ${subscription} ${event} ${bump.value}`, {
    read: (signal) => session.client.get_event_delivery(call, { signal }),
    next: () => 5_000
  })
  const replaying = useAction()
  const replay = () =>
    replaying.run(async () => {
      await session.client.replay_event_delivery(call, idempotently())
      bump.value++
    })
  return (
    <section class="card stack" aria-label="One delivery">
      <div class="spread">
        <h2>
          {delivery.value?.event_type ?? "Delivery"} <Id id={event} />
        </h2>
        <div class="row">
          {!readOnly && (
            <button type="button" onClick={replay} disabled={replaying.busy}>
              {replaying.busy ? "Sending…" : "Send again"}
            </button>
          )}
          <a href={to(path)}>Close</a>
        </div>
      </div>
      <Failure error={replaying.error} />
      <Show of={delivery}>{(one) => <AttemptList delivery={one} />}</Show>
    </section>
  )
}

const AttemptList = ({ delivery }: { readonly delivery: Delivery }) => (
  <>
    <p class="row">
      <Tag {...ofDelivery(delivery.status)} />
      {delivery.next_attempt_at !== null && (
        <span>
          Next attempt at <Time at={delivery.next_attempt_at} />
        </span>
      )}
    </p>
    {delivery.attempts.length === 0 ? (
      <Empty>No attempt yet.</Empty>
    ) : (
      <ol class="attempts">
        {delivery.attempts.map((attempt, index) => (
          <li key={`${attempt.attempted_at} ${index}`} class={ofDelivery(attempt.status).tone}>
            <strong>Attempt {delivery.attempts.length - index}</strong>{" "}
            <Tag {...ofHttp(attempt.response_status_code)} /> in {duration(attempt.response_duration_ms)}
            <div class="minor">
              <Time at={attempt.attempted_at} /> · {words(attempt.trigger)}
            </div>
          </li>
        ))}
      </ol>
    )}
  </>
)

import { type Client, Event } from "@quotewire/core"
import { Receiver } from "@quotewire/core/testing"
import { Effect } from "effect"

/** An event as a webhook delivers it. */
export type ReceivedEvent = Receiver.ReceivedEvent

/** A webhook that arrived: its event, whether it is genuine, duplicate or late, and the response it got. */
export type ReceivedWebhook = Receiver.Arrival

/** Options of an inbox. */
export interface InboxOptions {
  /** The types of events to subscribe to; all by default. */
  readonly event_types?: ReadonlyArray<Event.EventType>
  /**
   * How the inbox responds, such as `{ in_order: [Receiver.fail(503), Receiver.hang] }`. By default it confirms
   * everything.
   */
  readonly script?: Receiver.Script
}

/** An endpoint that receives the sandbox's webhooks in memory, verifies their signatures, and keeps them. */
export interface Inbox {
  readonly url: string
  readonly subscription_id: string
  /** Every webhook that has arrived, in order, including retries and duplicates. */
  readonly webhooks: () => ReadonlyArray<ReceivedWebhook>
  /** The events with a valid signature, without duplicates, in the order in which they first arrived. */
  readonly events: () => ReadonlyArray<ReceivedEvent>
  /** Waits until enough webhooks have arrived, or the signal is aborted. There is no timeout. */
  readonly until: (
    isEnough: (webhooks: ReadonlyArray<ReceivedWebhook>) => boolean,
    options?: { readonly signal?: AbortSignal }
  ) => Promise<ReadonlyArray<ReceivedWebhook>>
  /** Changes how the inbox responds from now on. */
  readonly play: (script: Receiver.Script) => void
}

/** A sandbox's endpoints, and what a copy of the sandbox needs to open them again. */
export class Inboxes {
  /** The receivers by URL. The sandbox's webhook sender finds them here. */
  readonly receivers: Record<string, Receiver.Receiver> = {}
  private readonly subscriptions: Map<string, Subscribed>

  constructor(subscriptions: ReadonlyMap<string, Subscribed> = new Map()) {
    this.subscriptions = new Map(subscriptions)
    for (const [url, { secret }] of subscriptions) this.receivers[url] = Receiver.make({ secrets: [secret] })
  }

  copy(): Inboxes {
    return new Inboxes(this.subscriptions)
  }

  /** Opens the endpoint with this name. Subscribes it to events, unless it is already subscribed. */
  async open(client: Subscriber, name: string, { event_types, script }: InboxOptions): Promise<Inbox> {
    const url = `https://inbox.example/${encodeURIComponent(name.toWellFormed())}`
    const receiver = this.receivers[url] ?? Receiver.make()
    this.receivers[url] = receiver
    if (script !== undefined) receiver.play(script)
    const { id, secret } = this.subscriptions.get(url) ?? (await this.subscribe(client, url, event_types ?? allTypes))
    receiver.trust(secret)
    return {
      url,
      subscription_id: id,
      webhooks: receiver.arrivals,
      events: () =>
        receiver
          .arrivals()
          .flatMap(({ event, isDuplicate, verification }) =>
            verification.ok && !isDuplicate && event !== null ? [event] : []
          ),
      until: (isEnough, { signal } = {}) =>
        Effect.runPromise(receiver.until(isEnough), signal === undefined ? {} : { signal }),
      play: receiver.play
    }
  }

  private async subscribe(client: Subscriber, url: string, event_types: ReadonlyArray<string>): Promise<Subscribed> {
    const created = await client.create_event_subscription(
      { url, event_types },
      { idempotency_key: `subscribe-${url.slice(url.lastIndexOf("/") + 1)}` }
    )
    const subscribed = { id: created.id, secret: created.signing_secret ?? "" }
    this.subscriptions.set(url, subscribed)
    return subscribed
  }
}

/** All event types except the test event, which arrives even without a subscription to it. */
const allTypes = Event.types.filter((type) => type !== "webhook.test")

type Subscriber = Pick<Client, "create_event_subscription">

interface Subscribed {
  readonly id: string
  readonly secret: string
}

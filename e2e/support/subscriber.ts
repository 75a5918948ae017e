import { ExampleApplications, type Receiver } from "@quotewire/core/testing"
import { NodeReceiver } from "@quotewire/http/testing"
import { Effect } from "effect"
import { eventually } from "../../test/support/eventually.ts"
import { Host } from "../host.ts"
import type { CallOptions, Keys } from "./Call.ts"

/** Every event type that is sent. */
export const everyType: ReadonlyArray<string> = [
  ...["queued", "updated", "completed", "failed", "cancelled", "incomplete"].map((type) => `quote_request.${type}`),
  ...["created", "updated", "expired"].map((type) => `quote.${type}`)
]

/** A delivery in the log. */
export interface Listed {
  readonly event_id: string
  readonly event_type: string
  readonly status: string
  readonly created_at: string
  readonly next_attempt_at: string | null
}

/** One of the attempts of a delivery. */
export interface Attempted {
  readonly attempted_at: string
  readonly status: string
  readonly response_status_code: number | null
  readonly response_duration_ms: number
  readonly trigger: string
}

/** Repeats a query until its response is sufficient. If that never happens, the log shows the last response. */
export const askUntil = <A>(ask: Effect.Effect<A, never, Host>, isEnough: (answer: A) => boolean) =>
  eventually(
    Effect.flatMap(ask, (answer) =>
      isEnough(answer)
        ? Effect.succeed(answer)
        : Effect.die(new Error(`The last response: ${JSON.stringify(answer).slice(0, 4_000)}`))
    )
  )

/** An organization's calls about one subscription. */
export const of = (keys: Keys, id: string) => {
  const call = (operation: string, input: object = {}, options: CallOptions = {}) =>
    Effect.flatMap(Host, (host) => host.call(keys, operation, { id, ...input }, options))
  const log = Effect.map(
    call("list_event_deliveries", { limit: 100 }),
    ({ body }): ReadonlyArray<Listed> => body.deliveries
  )
  return {
    call,
    /** The delivery log, newest first. */
    log,
    /** Waits until the log meets a condition. */
    logUntil: (isEnough: (log: ReadonlyArray<Listed>) => boolean) => askUntil(log, isEnough),
    /** Waits until the log has this many deliveries and all have this status. */
    allAre: (status: string, count: number) =>
      askUntil(log, (all) => all.length === count && all.every((delivery) => delivery.status === status)),
    attempts: (event_id: string) =>
      Effect.map(call("get_event_delivery", { event_id }), ({ body }): ReadonlyArray<Attempted> => body.attempts),
    health: Effect.map(call("get_event_subscription_health"), ({ body }) => body),
    /** The subscription as the list shows it. */
    listed: Effect.flatMap(Host, (host) => host.call(keys, "list_event_subscriptions", { limit: 100 })).pipe(
      Effect.map(({ body }) => body.event_subscriptions.find((one: { readonly id: string }) => one.id === id))
    )
  }
}

/** Subscribes a new receiver, which from then on accepts the secret. */
export const subscribe = Effect.fnUntraced(function* (
  keys: Keys,
  script: Receiver.Script = {},
  event_types: ReadonlyArray<string> = everyType
) {
  const host = yield* Host
  const receiver = yield* NodeReceiver.start({ script })
  const created = yield* host.call(keys, "create_event_subscription", { url: receiver.url, event_types })
  if (created.status !== 201) return yield* Effect.die(new Error(JSON.stringify(created.body)))
  receiver.trust(created.body.signing_secret)
  const id: string = created.body.id
  const secret: string = created.body.signing_secret
  return { id, secret, receiver, ...of(keys, id) }
})

/** Moves the clock of the organization's sandbox. */
export const advance = (keys: Keys, seconds: number) =>
  Effect.flatMap(Host, (host) => host.call(keys, "advance_time", { seconds }))

let requests = 0

/** Starts a quote request for an apartment in New York, which produces eight events within a minute. Returns its id. */
export const startRequest = (keys: Keys, more: object = {}) =>
  Effect.flatMap(Host, (host) =>
    host.call(keys, "start_quote_request", {
      line: "renters",
      consent_receipt_id: "receipt-0001",
      request_key: `request-${++requests}`,
      application: ExampleApplications.smallest.renters,
      ...more
    })
  ).pipe(Effect.map(({ body }): string => body.id))

/** An event in the feed. */
interface Listing {
  readonly id: string
  readonly type: string
  readonly occurred_at: string
}

/** The feed from its oldest event. */
export const feed = (keys: Keys) =>
  Effect.flatMap(Host, (host) => host.call(keys, "list_events", { limit: 100 })).pipe(
    Effect.map(({ body }): ReadonlyArray<Listing> => body.events)
  )

import { assert } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { kinds } from "../../src/kinds.ts"
import * as operations from "../../src/operations.ts"
import type { StoredRecord } from "../../src/storage/Change.ts"
import { directoryWorkspace, Storage } from "../../src/storage/Storage.ts"
import { type CallOptions, World } from "../../src/testing/World.ts"
import * as Webhooks from "../../src/webhooks/WebhookOperations.ts"
import { type LookUp, type SendOutcome, type WebhookRequest, WebhookSender } from "../../src/webhooks/WebhookSender.ts"
import { type InWorld, testInWorld, type world } from "../support/world.ts"

/** A POST that an endpoint received, and when, in milliseconds of real time. */
export interface Sent {
  readonly at: number
  readonly request: WebhookRequest
}

/** An endpoint that confirms. */
export const confirmed: SendOutcome = { response_status_code: 200, duration_ms: 12, failure: null }

/** An endpoint's response with a status. */
export const answered = (response_status_code: number, duration_ms = 0): SendOutcome => ({
  response_status_code,
  duration_ms,
  failure: null
})

/** An endpoint that does not respond. */
export const silence: SendOutcome = { response_status_code: null, duration_ms: 15_000, failure: "timeout" }

/** How endpoints and name servers behave in a test; by default everything succeeds. */
export interface Script {
  /** Receives the number of the POST, from 1. */
  readonly send?: (request: WebhookRequest, nth: number) => SendOutcome
  readonly lookUp?: (url: string, nth: number) => LookUp
  /** How long a POST and a lookup take, in milliseconds of real time. */
  readonly send_takes_ms?: (nth: number, request: WebhookRequest) => number
  readonly look_up_takes_ms?: (nth: number) => number
}

/** The receiving side of webhooks: it records what it received, and responds by a script. */
export const endpoints = (script: Script = {}) => {
  const sent: Array<Sent> = []
  const lookedUp: Array<string> = []
  const underWay = new Map<string, number>()
  const most = new Map<string, number>()
  const count = (to: string, by: number) => {
    const now = (underWay.get(to) ?? 0) + by
    underWay.set(to, now)
    most.set(to, Math.max(now, most.get(to) ?? 0))
  }
  const after = <A>(takesMs: number, answer: () => A) =>
    takesMs === 0 ? Effect.sync(answer) : Effect.delay(Effect.sync(answer), takesMs)
  const layer = Layer.succeed(WebhookSender, {
    send: (request) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) => {
        const nth = sent.push({ at, request })
        count(request.url, 1)
        return after(script.send_takes_ms?.(nth, request) ?? 0, () => {
          count(request.url, -1)
          return script.send?.(request, nth) ?? confirmed
        })
      }),
    lookUp: (to) =>
      Effect.suspend(() => {
        const nth = lookedUp.push(to)
        return after(script.look_up_takes_ms?.(nth) ?? 0, () => script.lookUp?.(to, nth) ?? "public")
      })
  })
  return {
    layer,
    sent,
    lookedUp,
    /** The largest number of concurrent POSTs to a url. */
    most: (to: string) => most.get(to) ?? 0
  }
}

type Endpoints = ReturnType<typeof endpoints>
type Options = Omit<NonNullable<Parameters<typeof world>[0]>, "webhooks">

/** What a webhook test uses: its body, how the endpoints respond, and the options of its world. */
interface Scripted extends Options {
  readonly body: Body
  readonly script?: Script
}

type Body = (endpoints: Endpoints) => InWorld<unknown>

/** A webhook test in its own world. Its body gets the endpoints, with everything that they received. */
export const testWebhooks = (name: string, body: Body, script: Script = {}, options: Options = {}): void =>
  testScripted(name, () => ({ ...options, body, script }))

/** A webhook test whose body and world share state, which is made anew for each run. */
export const testScripted = (name: string, make: () => Scripted): void =>
  testInWorld(name, () => {
    const { body, script, ...options } = make()
    const webhooks = endpoints(script)
    return { ...options, webhooks: webhooks.layer, body: Effect.suspend(() => body(webhooks)) }
  })

/** The default url of subscriptions. */
export const url = "https://hooks.acme.dev/quotewire"

/** Makes a subscription, by default to accepted requests. */
export const create = (changes: object = {}, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) =>
    call(Webhooks.createEventSubscription, { url, event_types: ["quote_request.queued"], ...changes }, options)
  )
export const list = (input: object = {}, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(Webhooks.listEventSubscriptions, input, options))
export const update = (id: string, changes: object, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(Webhooks.updateEventSubscription, { id, ...changes }, options))
export const disable = (id: string, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(Webhooks.disableEventSubscription, { id }, options))
export const rotate = (id: string, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(Webhooks.rotateEventSubscriptionSecret, { id }, options))
export const sendTest = (id: string, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(Webhooks.sendTestEvent, { id }, options))
export const deliveries = (id: string, input: object = {}, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(Webhooks.listEventDeliveries, { id, ...input }, options))
export const delivery = (id: string, event_id: string, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(Webhooks.getEventDelivery, { id, event_id }, options))
export const replay = (id: string, event_id: string, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(Webhooks.replayEventDelivery, { id, event_id }, options))
export const recover = (id: string, choice: object = {}, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(Webhooks.startEventRecovery, { id, ...choice }, options))
export const health = (id: string, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(Webhooks.getEventSubscriptionHealth, { id }, options))
export const replayEvents = (input: object = {}, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(operations.replayEvents, input, options))

/** The whole delivery log with its attempts, newest first. */
export const log = Effect.fnUntraced(function* (id: string, options?: CallOptions) {
  const all: Array<Effect.Success<ReturnType<typeof delivery>>> = []
  let cursor: string | null = null
  do {
    const page: Effect.Success<ReturnType<typeof deliveries>> = yield* deliveries(
      id,
      { limit: 100, ...(cursor !== null && { cursor }) },
      options
    )
    for (const entry of page.deliveries) {
      const one = yield* delivery(id, entry.event_id, options)
      const { attempts: _, ...rest } = one
      assert.deepStrictEqual(rest, entry)
      all.push(one)
    }
    cursor = page.next_cursor
  } while (cursor !== null)
  return all
})

/** The only delivery in a log. */
export const only = Effect.fnUntraced(function* (id: string, options?: CallOptions) {
  const all = yield* log(id, options)
  assert.lengthOf(all, 1)
  return all[0] ?? assert.fail("no delivery")
})

/** The event that a POST carries. */
export const bodyOf = ({ request }: Sent): { readonly [field: string]: unknown } => JSON.parse(request.body)

/** Everything stored in the world's workspaces except jobs. */
export const stored = Effect.gen(function* () {
  const storage = yield* Storage
  const { organization } = yield* World
  const records: Array<StoredRecord> = []
  for (const workspace_id of [directoryWorkspace, ...Object.values(organization.workspaces)]) {
    for (const kind of kinds.all.map(({ name }) => name)) {
      const page = yield* storage.page({ workspace_id, kind, order: "oldest", after: null, limit: 1_000 })
      records.push(...page.records)
    }
  }
  return records
})

/** The stored subscriptions with a status. */
export const kept = (status: string) =>
  Effect.map(stored, (records) =>
    records.filter((record) => record.kind === "subscription" && record.status === status)
  )

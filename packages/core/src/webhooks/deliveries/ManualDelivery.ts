import { Effect, Option } from "effect"
import { Allowance } from "../../access/limits/Allowance.ts"
import { commitAt, Workspaces } from "../../access/Workspaces.ts"
import type { Call } from "../../calls/Call.ts"
import type { StoredRecord } from "../../storage/Change.ts"
import type { Kind } from "../../storage/Kind.ts"
import { Storage } from "../../storage/Storage.ts"
import * as ApiError from "../../wire/ApiError.ts"
import { secondMs } from "../../wire/Timestamp.ts"
import * as Delivery from "../records/Delivery.ts"
import * as StoredSubscription from "../records/StoredSubscription.ts"
import * as Refusals from "../subscriptions/SubscriptionRefusals.ts"
import { WebhookSender } from "../WebhookSender.ts"

/** The error for a test or replay that exceeds its limit. */
export const limited = (action: string, leftMs: number) =>
  ApiError.make("rate_limited", {
    message: `The limit of ${action} was reached.`,
    retry_after_seconds: Math.max(1, Math.ceil(leftMs / secondMs))
  })

/** Makes the functions that tests and replays share. Both are queued at most once for each idempotency key. */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const allowance = yield* Allowance
  const sender = yield* WebhookSender.loggable

  /** The stored response of an earlier call with the same key; null if there was no such call. */
  const storedAnswer = <A>(call: Call, kind: Kind<string, A>, id: string) =>
    Effect.map(storage.get({ workspace_id: call.moment.workspace.id, kind: kind.name, id }), (record) =>
      Option.isNone(record) ? null : kind.json(record.value)
    )

  /** Queues a test or a replay. The same change stores the response, in case the caller never receives it. */
  const enqueue = <A>(
    call: Call,
    delivery: Delivery.StoredDelivery,
    writes: ReadonlyArray<StoredRecord>,
    answer: { readonly kind: Kind<string, A>; readonly id: string; readonly result: A }
  ) => {
    const { now } = call.moment
    const record = answer.kind.record(answer.result, { id: answer.id, version: 1, created_at: now, updated_at: now })
    const change = { writes: [...writes, record], jobs: [Delivery.manualJob(delivery)] }
    const stored = commitAt({ storage, workspaces }, call.moment, change)
    return Effect.as(allowance.chargeOnSuccess(call.caller, stored), answer.kind.json(record))
  }

  /** Checks that the subscription receives events, and that its host is still public. */
  const checkReceives = Effect.fnUntraced(function* (subscription: StoredSubscription.StoredSubscription) {
    if (!StoredSubscription.receives(subscription)) {
      return yield* ApiError.make("conflict", {
        message: "The subscription is disabled, or its delivery is turned off.",
        retry_action: "none"
      })
    }
    yield* Refusals.requireSender(sender)
    const lookedUp = yield* sender.lookUp(subscription.url)
    if (lookedUp === "unavailable") {
      return yield* ApiError.make("service_unavailable", {
        message: "The subscription's host name does not resolve right now.",
        retry_after_seconds: 5
      })
    }
    if (lookedUp === "refused") {
      return yield* ApiError.make("conflict", {
        message: "The subscription's host is no longer public; change the subscription's url.",
        retry_action: "none"
      })
    }
  })

  return { storedAnswer, enqueue, checkReceives }
})

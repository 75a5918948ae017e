import { Context, Effect, Layer } from "effect"
import type { Mac } from "effect/crypto"
import type { Allowance } from "../../access/limits/Allowance.ts"
import type { Seal } from "../../access/sealing/Seal.ts"
import { Workspaces } from "../../access/Workspaces.ts"
import type { Call } from "../../calls/Call.ts"
import { decideAtMoment } from "../../calls/decideAtMoment.ts"
import type { Revisions } from "../../calls/Revision.ts"
import type { JobHandler, JobHandlers } from "../../runner/JobHandler.ts"
import type { Storage, StorageUnavailable } from "../../storage/Storage.ts"
import type * as ApiError from "../../wire/ApiError.ts"
import type { Ids } from "../../wire/Ids.ts"
import type * as Json from "../../wire/Json.ts"
import type * as Delivery from "../records/Delivery.ts"
import type { SubscriptionHealth } from "../records/SubscriptionHealth.ts"
import type { WebhookSender } from "../WebhookSender.ts"
import * as Attempts from "./Attempts.ts"
import * as DeliveryLog from "./DeliveryLog.ts"
import * as DeliveryReplays from "./DeliveryReplays.ts"
import type { DeliveriesInput, DeliveryInput, DeliveryPage, ReplayResult, TestResult } from "./DeliveryViews.ts"
import * as TestEvents from "./TestEvents.ts"

type DeliveryRefusal<Code extends ApiError.ErrorCode> = ApiError.ApiError<Code> | StorageUnavailable

/** Delivers events to subscriptions, and reports on deliveries (api.md, Deliveries). */
export class Deliveries extends Context.Service<
  Deliveries,
  {
    /** Lists the stored deliveries, newest first, including deliveries of test events. */
    readonly list: (
      call: Call,
      input: DeliveriesInput
    ) => Effect.Effect<Json.Json<DeliveryPage>, DeliveryRefusal<"not_found" | "invalid_cursor">>
    /** Reads one delivery with its latest attempts. */
    readonly get: (
      call: Call,
      input: DeliveryInput
    ) => Effect.Effect<Json.Json<Delivery.Delivery>, DeliveryRefusal<"not_found">>
    readonly health: (
      call: Call,
      id: string
    ) => Effect.Effect<Json.Json<SubscriptionHealth>, DeliveryRefusal<"not_found">>
    /** Queues a test event for delivery. Each subscription may have ten tests a minute. */
    readonly test: (
      call: Call,
      id: string
    ) => Effect.Effect<
      Json.Json<TestResult>,
      DeliveryRefusal<"not_found" | "conflict" | "rate_limited" | "service_unavailable" | "invalid_input">
    >
    /** Replays a delivery from the log. Each event may be replayed five times a day. */
    readonly replay: (
      call: Call,
      input: DeliveryInput
    ) => Effect.Effect<
      Json.Json<ReplayResult>,
      DeliveryRefusal<"not_found" | "conflict" | "rate_limited" | "service_unavailable" | "invalid_input">
    >
    readonly jobs: JobHandlers<"deliver">
    /** Abandons an attempt whose job failed too many times. */
    readonly abandon: JobHandler
  }
>()("@quotewire/core/Deliveries") {
  static readonly layer: Layer.Layer<
    Deliveries,
    never,
    Storage | Workspaces | Seal | Ids | Allowance | Revisions | Mac.Mac | WebhookSender
  > = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const workspaces = yield* Workspaces
      const log = yield* DeliveryLog.make
      const attempts = yield* Attempts.make
      const test = yield* TestEvents.make
      const replay = yield* DeliveryReplays.make
      return Deliveries.of({
        ...log,
        test: (call, id) => decideAtMoment(workspaces, call, (callAtMoment) => test(callAtMoment, id)),
        replay: (call, input) => decideAtMoment(workspaces, call, (callAtMoment) => replay(callAtMoment, input)),
        jobs: { deliver: attempts.attempt },
        abandon: attempts.abandon
      })
    })
  )
}

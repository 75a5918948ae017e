import { createHash } from "node:crypto"
import { type Operation, operations, PublicUrl, type Quotewire, Timestamp, WebhookSender } from "@quotewire/core"
import { Runner, World } from "@quotewire/core/testing"
import { NodeCrypto, OpenApi } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer, Predicate } from "effect"
import { SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"

/*
 * The examples of the OpenAPI document. They come from a fixed story that is played in a sandbox: each operation's
 * input and response are recorded. Time and randomness are fixed, so the same service always gives the same examples.
 */

/** Reproducible randomness: the SHA-256 of a counter. */
const chance = Layer.sync(SecureRandom.SecureRandom, () => {
  let drawn = 0
  return SecureRandom.make((size) => {
    const blocks = Array.from({ length: Math.ceil(size / 32) }, () =>
      createHash("sha256").update(String(drawn++)).digest()
    )
    return new Uint8Array(Buffer.concat(blocks).subarray(0, size))
  })
})

/** A webhook endpoint that immediately confirms everything. */
const endpoints = Layer.succeed(WebhookSender.WebhookSender, {
  send: () => Effect.succeed({ response_status_code: 200, duration_ms: 42, failure: null }),
  lookUp: () => Effect.succeed("public")
})

const world = World.World.layer(MemoryStorage.layer, {
  cryptography: Layer.merge(NodeCrypto.layer, chance),
  webhooks: endpoints
})

const allOperations: ReadonlyArray<Operation.Operation<string, unknown, unknown, Quotewire.Services>> = operations

/** Reads the value at a path of names and indexes in a response. */
const valueAt = (value: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>((node, name) => (Predicate.hasProperty(node, name) ? node[name] : undefined), value)

const tell = Effect.gen(function* () {
  const { call } = yield* World.World
  const runner = yield* Runner.Runner
  const examples: Record<string, OpenApi.Example> = {}

  /**
   * Calls an operation and keeps its first response. An operation gets no example if this service does not offer it or
   * refuses the call.
   */
  const play = Effect.fnUntraced(function* (name: string, input: Record<string, unknown> = {}) {
    const operation = allOperations.find((candidate) => candidate.name === name)
    if (operation === undefined) return undefined
    const answer = yield* Effect.orElseSucceed(call(operation, input), () => undefined)
    if (answer !== undefined) examples[name] ??= { input, answer }
    return answer
  })

  yield* TestClock.setTime(Timestamp.toMillis("2026-11-20T12:00:00.000Z"))
  yield* play("get_capabilities", { line: "pet" })
  yield* play("list_sandbox_scenarios")
  const id = valueAt(yield* play("create_event_subscription", { url, event_types: eventTypes }), "id")
  const request = valueAt(yield* play("start_quote_request", start), "id")
  yield* play("get_sandbox")
  yield* play("advance_time", { seconds: 60 })
  yield* runner.runDue()
  const read = yield* play("get_quote_request", { id: request, since_version: 1 })
  yield* play("get_quote", { id: valueAt(read, "quotes", 0, "id"), version: 1 })
  yield* play("get_quote_request_timeline", { id: request, limit: 10 })
  yield* play("create_partner_link", { shared_id: request, expires_in_days: 1 })
  yield* play("preview_revisions", { id: valueAt(read, "quotes", 0, "id") })
  yield* play("list_quote_requests", { limit: 10, status: "completed" })
  yield* play("list_events", { limit: 3 })
  const otherRequest = yield* play("start_quote_request", { ...start, request_key: "quote-0002" })
  yield* play("cancel_quote_request", { id: valueAt(otherRequest, "id") })

  yield* play("list_event_subscriptions", { limit: 10 })
  yield* play("update_event_subscription", { id, event_types: [...eventTypes, "quote_request.failed"] })
  yield* play("rotate_event_subscription_secret", { id })
  yield* play("send_test_event", { id })
  yield* runner.runDue()
  const log = yield* play("list_event_deliveries", { id, limit: 10 })
  const event_id = valueAt(log, "deliveries", 1, "event_id")
  yield* play("get_event_delivery", { id, event_id })
  yield* play("replay_event_delivery", { id, event_id })
  yield* play("get_event_subscription_health", { id })
  yield* play("preview_event_recovery", { id, statuses: ["succeeded"], per_minute: 30 })
  const recovery = valueAt(yield* play("start_event_recovery", { id, statuses: ["succeeded"], per_minute: 30 }), "id")
  yield* play("list_event_recoveries", { id })
  yield* play("change_event_recovery", { id, recovery_id: recovery, action: "stop" })
  yield* play("disable_event_subscription", { id })

  const report = yield* play("send_feedback", feedback)
  yield* play("get_feedback", { id: valueAt(report, "feedback_id") })
  const calls = yield* play("list_api_requests", { limit: 2 })
  yield* play("get_api_request", { id: valueAt(calls, "requests", 0, "request_id") })

  yield* play("select_scenario", { scenario: "zero_quotes" })
  yield* play("force_expiry")
  yield* play("replay_events", { scenario: "duplicated" })
  yield* play("reset_sandbox")
  return examples
})

const url = "https://hooks.agency.example/quotewire"
const eventTypes = ["quote_request.completed", "quote.created", "quote.updated", "quote.expired"]
const start = {
  line: "renters",
  request_key: "quote-0001",
  consent_receipt_id: "receipt-0001",
  application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
}
const feedback = {
  kind: "unclear_docs",
  summary: "What does a null premium mean?",
  expected: "A sentence that says when a premium is null.",
  actual: "The reference says that it can be null, and not when."
}

/** Plays the story, and returns an example for each operation in it. */
export const examples = (): Promise<OpenApi.Examples> =>
  tell.pipe(
    Effect.provide(world),
    Effect.provideService(PublicUrl.PublicUrl, Effect.succeed(OpenApi.recorded_at)),
    Effect.provide(TestClock.layer()),
    Effect.scoped,
    Effect.runPromise
  )

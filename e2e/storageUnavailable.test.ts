import { assert, layer } from "@effect/vitest"
import { operations, Storage } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer } from "effect"
import { Host, http } from "./host.ts"
import type { Keys } from "./support/Call.ts"
import { advance, startRequest } from "./support/subscriber.ts"

/*
 * Storage that becomes unavailable in the middle of a call, at each of its steps. Each response is also checked against
 * the OpenAPI document, which requires Retry-After with a 503.
 */

/** After how many more calls storage becomes unavailable; null for never. */
const state: { left: number | null; isShort: boolean } = { left: null, isShort: false }

const failing = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | Storage.StorageUnavailable, R> =>
  Effect.suspend((): Effect.Effect<A, E | Storage.StorageUnavailable, R> => {
    if (state.left === null) return effect
    if (state.left > 0) {
      state.left--
      return effect
    }
    // Unavailable for one call, or until told otherwise.
    if (state.isShort) state.left = null
    return Effect.fail(new Storage.StorageUnavailable({ retry_after_seconds: 7 }))
  })

const storage = Layer.effect(
  Storage.Storage,
  Effect.map(Storage.Storage, (memory) => ({
    ...memory,
    commit: (change) => failing(memory.commit(change)),
    get: (key) => failing(memory.get(key)),
    page: (query) => failing(memory.page(query)),
    feed: (query) => failing(memory.feed(query)),
    claim: (query) => failing(memory.claim(query)),
    erase: (erasure) => failing(memory.erase(erasure)),
    rewrite: (workspaceId, rewrites) => failing(memory.rewrite(workspaceId, rewrites)),
    addCounts: (now, additions) => failing(memory.addCounts(now, additions))
  }))
).pipe(Layer.provide(MemoryStorage.layer))

/** At least one of everything, and the input of each operation that leads to it. */
const furnished = Effect.fnUntraced(function* (keys: Keys) {
  const { call } = yield* Host
  const url = "http://127.0.0.1:4711/hook"
  const subscription = yield* call(keys, "create_event_subscription", { url, event_types: ["quote.created"] })
  const id: string = subscription.body.id
  const request = yield* startRequest(keys)
  yield* advance(keys, 60)
  const { body } = yield* call(keys, "get_quote_request", { id: request, wait_seconds: 0 })
  const test = yield* call(keys, "send_test_event", { id })
  const event_id: string = test.body.event.id
  let starts = 0
  const inputs: Readonly<Record<string, () => object>> = {
    get_capabilities: () => ({ line: "pet" }),
    start_quote_request: () => ({
      line: "renters",
      consent_receipt_id: "receipt-0001",
      request_key: `away-${++starts}`,
      application: ExampleApplications.smallest.renters
    }),
    get_quote_request: () => ({ id: request, wait_seconds: 0 }),
    cancel_quote_request: () => ({ id: request }),
    get_quote: () => ({ id: body.quotes[0].id }),
    select_scenario: () => ({ scenario: "all_decline" }),
    advance_time: () => ({ seconds: 1 }),
    get_api_request: () => ({ id: "req_x" }),
    send_feedback: () => ({ kind: "bug", summary: "It is away", expected: "A response", actual: "None" }),
    get_feedback: () => ({ id: "fb_x" }),
    create_event_subscription: () => ({ url, event_types: ["quote.expired"] }),
    update_event_subscription: () => ({ id, url }),
    disable_event_subscription: () => ({ id }),
    rotate_event_subscription_secret: () => ({ id }),
    send_test_event: () => ({ id }),
    list_event_deliveries: () => ({ id }),
    get_event_delivery: () => ({ id, event_id }),
    replay_event_delivery: () => ({ id, event_id }),
    get_event_subscription_health: () => ({ id }),
    create_partner_link: () => ({ shared_id: request })
  }
  return (name: string) => inputs[name]?.() ?? {}
})

layer(http(storage), { excludeTestServices: true })("unavailable storage", (it) => {
  it.effect.each(operations.map(({ name }) => name))(
    "%s returns 503 with Retry-After, and never 500, whichever storage step fails",
    (name) =>
      Effect.gen(function* () {
        const { call, newOrganization } = yield* Host
        const keys = yield* newOrganization
        const inputOf = yield* furnished(keys)
        const statuses = new Set<number>()
        for (let left = 0; left < 14; left++) {
          const answer = yield* Effect.ensuring(
            Effect.andThen(
              Effect.sync(() => {
                state.left = left
              }),
              call(keys, name, inputOf(name))
            ),
            Effect.sync(() => {
              state.left = null
            })
          )
          statuses.add(answer.status)
          if (left === 0) assert.strictEqual(answer.status, 503)
          if (answer.status === 503) {
            assert.strictEqual(answer.body.error.code, "service_unavailable")
            assert.strictEqual(answer.body.error.retry_action.type, "retry")
          }
        }
        assert.notInclude([...statuses], 500)
      })
  )

  it.effect("an interrupted clock advance continues if repeated with the same key, and moves the clock only once", () =>
    Effect.gen(function* () {
      const { call, newOrganization } = yield* Host
      const keys = yield* newOrganization
      const statuses: Array<number> = []
      for (let left = 0; left < 12; left++) {
        const idempotency_key = `broken-off-${left}`
        const advanceOnce = call(keys, "advance_time", { seconds: 60 }, { idempotency_key })
        yield* Effect.sync(() => {
          state.left = left
          state.isShort = true
        })
        const { status } = yield* Effect.ensuring(
          advanceOnce,
          Effect.sync(() => {
            state.left = null
            state.isShort = false
          })
        )
        statuses.push(status)
        if (status === 503) assert.strictEqual((yield* advanceOnce).status, 200)
        const { body } = yield* call(keys, "get_sandbox", {})
        assert.strictEqual(body.clock_offset_seconds, 60 * (left + 1), `after ${left} questions`)
      }
      assert.include(statuses, 503)
    })
  )
})

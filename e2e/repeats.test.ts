import { assert } from "@effect/vitest"
import { operations } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { NodeReceiver } from "@quotewire/http/testing"
import { Effect } from "effect"
import { Host } from "./host.ts"
import { onEveryStorage } from "./hosts.ts"
import type { Keys } from "./support/Call.ts"
import { askUntil, feed, startRequest, subscribe } from "./support/subscriber.ts"

/** How many callers send the same call concurrently. */
const crowd = 100

/** A response to one caller: the original response, a replay of it, or a refusal that says to wait. */
interface Answered {
  readonly status: number
  readonly isReplay: boolean
  readonly body: Readonly<Record<string, unknown>>
  readonly retry: string | null
}

/** Sends the same call a hundred times concurrently, with one `Idempotency-Key`. */
const sendAtOnce = Effect.fnUntraced(function* (keys: Keys, path: string, body: object | null) {
  const { base_url } = yield* Host
  const send = Effect.promise(async (): Promise<Answered> => {
    const response = await fetch(`${base_url}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${keys.server}`,
        "idempotency-key": "the-same",
        ...(body !== null && { "content-type": "application/json" })
      },
      ...(body !== null && { body: JSON.stringify(body) })
    })
    const answer = await response.json()
    return {
      status: response.status,
      isReplay: response.headers.get("idempotent-replayed") === "true",
      body: answer,
      retry: answer.error?.retry_action.type ?? null
    }
  })
  const answers = yield* Effect.all(
    Array.from({ length: crowd }, () => send),
    { concurrency: "unbounded" }
  )
  return { answers, later: yield* send }
})

const withoutSecret = ({ signing_secret: _, ...rest }: Answered["body"]) => rest

/** Exactly one call ran. Callers that arrived while it ran were told to wait, and later callers got its response. */
const ranOnce = ({ answers, later }: Effect.Success<ReturnType<typeof sendAtOnce>>, status: number) => {
  const ran = answers.filter((answer) => answer.status === status && !answer.isReplay)
  assert.lengthOf(ran, 1, JSON.stringify(answers[0]))
  const [first = later] = ran
  for (const answer of answers.filter((one) => one !== first)) {
    if (answer.isReplay) assert.deepStrictEqual(withoutSecret(answer.body), withoutSecret(first.body))
    else assert.deepStrictEqual([answer.status, answer.retry], [409, "wait"])
  }
  assert.deepStrictEqual([later.status, later.isReplay], [status, true])
  assert.deepStrictEqual(withoutSecret(later.body), withoutSecret(first.body))
}

const sandbox = (keys: Keys) =>
  Effect.flatMap(Host, (host) => host.call(keys, "get_sandbox", {})).pipe(Effect.map(({ body }) => body))

onEveryStorage("idempotency keys", (it) => {
  it.effect("a hundred identical concurrent calls create one subscription", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* host.newOrganization
      const { url } = yield* NodeReceiver.start()
      const body = { url, event_types: ["quote.created"] }
      ranOnce(yield* sendAtOnce(keys, "/v1/event-subscriptions", body), 201)
      const listed = yield* host.call(keys, "list_event_subscriptions", { limit: 100 })
      assert.lengthOf(listed.body.event_subscriptions, 1)
    })
  )

  it.effect(
    "a hundred identical concurrent calls rotate a secret, send a test event, or replay a delivery only once",
    () =>
      Effect.gen(function* () {
        const host = yield* Host
        const keys = yield* host.newOrganization
        const { id, log, receiver } = yield* subscribe(keys, {}, ["quote_request.queued"])
        const path = `/v1/event-subscriptions/${id}`
        yield* startRequest(keys)
        const [event] = yield* feed(keys)
        const arrivedAre = (count: number) =>
          askUntil(
            Effect.sync(() => receiver.arrivals().length),
            (arrived) => arrived >= count
          )
        yield* arrivedAre(1)
        ranOnce(yield* sendAtOnce(keys, `${path}/replay`, { event_id: event?.id }), 202)
        yield* arrivedAre(2)
        ranOnce(yield* sendAtOnce(keys, `${path}/test`, null), 202)
        yield* arrivedAre(3)
        assert.lengthOf(yield* log, 2)
        const rotated = yield* sendAtOnce(keys, `${path}/rotate`, null)
        ranOnce(rotated, 200)
        const secrets = new Set(rotated.answers.map(({ body }) => body.signing_secret).filter((one) => one != null))
        assert.strictEqual(secrets.size, 1)
      })
  )

  it.effect("a hundred identical concurrent calls start one recovery", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* host.newOrganization
      const { id } = yield* subscribe(keys, {}, ["quote_request.queued"])
      ranOnce(yield* sendAtOnce(keys, `/v1/event-subscriptions/${id}/recoveries`, {}), 201)
      const listed = yield* host.call(keys, "list_event_recoveries", { id })
      assert.lengthOf(listed.body.recoveries, 1)
    })
  )

  it.effect("a hundred identical concurrent calls run each sandbox control once", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* host.newOrganization
      ranOnce(yield* sendAtOnce(keys, "/v1/sandbox/time", { seconds: 60 }), 200)
      assert.strictEqual((yield* sandbox(keys)).clock_offset_seconds, 60)
      ranOnce(yield* sendAtOnce(keys, "/v1/sandbox/scenarios", { scenario: "zero_quotes" }), 200)
      assert.strictEqual((yield* sandbox(keys)).active_scenario, "zero_quotes")
      ranOnce(yield* sendAtOnce(keys, "/v1/sandbox/expiry", null), 200)
      ranOnce(yield* sendAtOnce(keys, "/v1/sandbox/replays", null), 200)
      ranOnce(yield* sendAtOnce(keys, "/v1/sandbox/reset", null), 200)
      assert.strictEqual((yield* sandbox(keys)).reset_count, 1)
    })
  )

  it.effect("a hundred identical concurrent calls start one quote request", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* host.newOrganization
      const input = {
        line: "renters",
        consent_receipt_id: "receipt-0001",
        request_key: "crowd",
        application: ExampleApplications.smallest.renters
      }
      const answers = yield* Effect.all(
        Array.from({ length: crowd }, () => host.call(keys, "start_quote_request", input)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([202]))
      assert.strictEqual(new Set(answers.map(({ body }) => body.id)).size, 1)
      const queued = (yield* feed(keys)).filter(({ type }) => type === "quote_request.queued")
      assert.lengthOf(queued, 1)
      const listed = yield* host.call(keys, "list_quote_requests", { limit: 100 })
      assert.lengthOf(listed.body.quote_requests, 1)
      const other = yield* host.call(keys, "start_quote_request", { ...input, consent_receipt_id: "receipt-0002" })
      assert.deepStrictEqual([other.status, other.body.error.retry_action.type], [409, "use_new_request_key"])
    })
  )

  it("each operation that needs an idempotency key is tested with identical calls", () => {
    const needing = operations.filter(({ idempotent }) => idempotent).map(({ name }) => name)
    assert.sameMembers(needing, [
      "create_event_subscription",
      "rotate_event_subscription_secret",
      "send_test_event",
      "replay_event_delivery",
      "start_event_recovery",
      "select_scenario",
      "advance_time",
      "force_expiry",
      "replay_events",
      "reset_sandbox"
    ])
  })
})

import { assert } from "@effect/vitest"
import { verifyWebhook } from "@quotewire/core"
import { Receiver } from "@quotewire/core/testing"
import { NodeReceiver } from "@quotewire/http/testing"
import { Effect } from "effect"
import { Host } from "./host.ts"
import { onEveryHost } from "./hosts.ts"
import { advance, askUntil, feed, of, startRequest, subscribe } from "./support/subscriber.ts"

const dayS = 86_400
const newKeys = Effect.flatMap(Host, (host) => host.newOrganization)
const headerOf = ({ headers }: Receiver.Incoming, name: string): string => {
  const value = new Map(Object.entries(headers)).get(name)
  return typeof value === "string" ? value : assert.fail(`${name} is missing`)
}

onEveryHost("webhooks", (it) => {
  it.effect("a subscriber sees its secret only once", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* newKeys
      const { url } = yield* NodeReceiver.start()
      const input = { url, event_types: ["quote.created"] }
      const create = () => host.call(keys, "create_event_subscription", input, { idempotency_key: "mine" })
      const created = yield* create()
      assert.strictEqual(created.status, 201)
      assert.match(created.body.signing_secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
      const again = yield* create()
      assert.deepStrictEqual(again, { status: 201, body: { ...created.body, signing_secret: null } })
      const listed = yield* host.call(keys, "list_event_subscriptions", {})
      assert.deepStrictEqual(listed.body.event_subscriptions, [again.body])
      const changed = yield* host.call(keys, "update_event_subscription", { id: created.body.id, url })
      assert.isNull(changed.body.signing_secret)
    })
  )

  it.effect("a subscriber gets every feed event in order, signed and with the revision", () =>
    Effect.gen(function* () {
      const beganMs = Date.now()
      const keys = yield* newKeys
      const { receiver, allAre } = yield* subscribe(keys)
      yield* startRequest(keys)
      for (let count = 1, seconds = 0; seconds < 20; seconds++) {
        yield* advance(keys, 1)
        count = (yield* feed(keys)).length
        yield* allAre("succeeded", count)
      }
      const events = yield* feed(keys)
      const arrivals = receiver.arrivals()
      assert.lengthOf(events, 8)
      // Events from one step may overtake each other in transit; the test waited for those from different steps.
      assert.deepStrictEqual(
        arrivals.map(({ text }) => JSON.parse(text)).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
        events.map((event) => ({ ...event, schema_version: "2026-09-26" })).toSorted((a, b) => (a.id < b.id ? -1 : 1))
      )
      assert.isTrue(
        arrivals.every(({ verification, isDuplicate, isLate }) => verification.ok && !isDuplicate && !isLate)
      )
      for (const arrival of arrivals) {
        assert.strictEqual(headerOf(arrival, "content-type"), "application/json")
        assert.match(headerOf(arrival, "user-agent"), /^Quotewire-Webhooks\/\d/)
        for (const name of ["id", "timestamp", "signature"]) {
          assert.strictEqual(headerOf(arrival, `quotewire-${name}`), headerOf(arrival, `webhook-${name}`))
        }
        assert.strictEqual(headerOf(arrival, "webhook-id"), arrival.event?.id)
        // Real time, however far the sandbox's clock has advanced.
        const signedMs = Number(headerOf(arrival, "webhook-timestamp")) * 1_000
        assert.isTrue(signedMs > beganMs - 1_000 && signedMs <= Date.now())
      }
    })
  )

  it.effect("a subscriber gets only its selected event types, even after changing the selection", () =>
    Effect.gen(function* () {
      const keys = yield* newKeys
      const { receiver, call, logUntil } = yield* subscribe(keys, {}, ["quote_request.completed"])
      yield* startRequest(keys)
      yield* advance(keys, 60)
      yield* logUntil((all) => all.length === 1 && all[0]?.status === "succeeded")
      yield* call("update_event_subscription", { event_types: ["quote.created"] })
      yield* startRequest(keys)
      yield* advance(keys, 60)
      yield* logUntil((all) => all.length === 4 && all.every(({ status }) => status === "succeeded"))
      assert.deepStrictEqual(
        receiver.arrivals().map(({ event }) => event?.type),
        ["quote_request.completed", "quote.created", "quote.created", "quote.created"]
      )
    })
  )

  it.effect("a subscriber gets seven retries on schedule, with the same bytes each time", () =>
    Effect.gen(function* () {
      const keys = yield* newKeys
      const elsewhere = yield* NodeReceiver.start()
      const script = [Receiver.reset, Receiver.garbage, Receiver.fail(500), Receiver.redirect(elsewhere.url)]
      const subscriber = yield* subscribe(keys, { in_order: script, otherwise: Receiver.fail(429) }, ["quote.expired"])
      const { receiver, call, attempts, logUntil } = subscriber
      const sent = yield* call("send_test_event")
      const eventId = sent.body.event.id
      const [first] = yield* logUntil((all) => all[0]?.status === "retrying")
      // The wait begins when the attempt has ended.
      assert.isAtLeast(Date.parse(first?.next_attempt_at ?? ""), Date.parse(first?.created_at ?? "") + 5_000)
      yield* advance(keys, 2 * dayS)
      const [last] = yield* logUntil((all) => all[0]?.status === "failed")
      assert.isNull(last?.next_attempt_at)
      const made = (yield* attempts(eventId)).toReversed()
      assert.deepStrictEqual(
        made.map(({ response_status_code }) => response_status_code),
        [null, null, 500, 307, 429, 429, 429, 429]
      )
      assert.isTrue(made.every(({ status }) => status === "failed"))
      const waits = made.slice(1).map(({ attempted_at }, index) => {
        const before = made[index]
        if (before === undefined) return Number.NaN
        return Date.parse(attempted_at) - Date.parse(before.attempted_at) - before.response_duration_ms
      })
      assert.deepStrictEqual(
        waits,
        [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000].map((seconds) => seconds * 1_000)
      )
      assert.lengthOf(new Set(receiver.arrivals().map(({ text }) => text)), 1)
      assert.deepStrictEqual(receiver.ids(), [eventId])
      assert.lengthOf(receiver.arrivals(), 8)
      assert.deepStrictEqual(elsewhere.arrivals(), [])
    })
  )

  it.effect("a subscriber gets the missed events when its endpoint recovers", () =>
    Effect.gen(function* () {
      const keys = yield* newKeys
      const script = { by_type: { "quote.created": Receiver.times(2, Receiver.fail(503)) } }
      const { receiver, health, allAre, logUntil, attempts } = yield* subscribe(keys, script, ["quote.created"])
      const quiet = yield* health
      assert.deepStrictEqual([quiet.state, quiet.last_attempt], ["healthy", null])
      yield* startRequest(keys, { scenario: "single_quote" })
      yield* advance(keys, 20)
      const [delivery] = yield* logUntil((all) => all[0]?.status === "retrying")
      const failing = yield* health
      assert.deepStrictEqual(
        [failing.state, failing.last_attempt.status, failing.last_attempt.response_status_code],
        ["failing", "failed", 503]
      )
      yield* advance(keys, 3_600)
      yield* allAre("succeeded", 1)
      assert.strictEqual((yield* health).state, "healthy")
      const made = yield* attempts(delivery?.event_id ?? "")
      assert.deepStrictEqual(
        made.map(({ status, trigger }) => [status, trigger]),
        [
          ["succeeded", "scheduled"],
          ["failed", "scheduled"],
          ["failed", "scheduled"]
        ]
      )
      assert.lengthOf(receiver.arrivals(), 3)
    })
  )

  it.effect("a subscriber that rotates a secret gets both signatures for a day, and then only the new signature", () =>
    Effect.gen(function* () {
      const keys = yield* newKeys
      const { receiver, secret, call, listed, logUntil } = yield* subscribe(keys)
      const rotate = () => call("rotate_event_subscription_secret", {}, { idempotency_key: "turn" })
      const beganMs = Date.now()
      const rotated = yield* rotate()
      const next: string = rotated.body.signing_secret
      assert.notStrictEqual(next, secret)
      const until = Date.parse(rotated.body.previous_secret_expires_at)
      assert.isTrue(until >= beganMs + dayS * 1_000 - 1_000 && until <= Date.now() + dayS * 1_000 + 1_000)
      assert.deepStrictEqual(yield* rotate(), { status: 200, body: { ...rotated.body, signing_secret: null } })
      const trustedWith = Effect.fnUntraced(function* () {
        receiver.trust(secret, next)
        const count = receiver.arrivals().length
        yield* call("send_test_event")
        const arrival = (yield* receiver.until((arrivals) => arrivals.length > count)).at(-1) ?? assert.fail("nothing")
        const check = (one: string) =>
          Effect.promise(() => verifyWebhook({ secrets: [one], headers: arrival.headers, body: arrival.body }))
        const entries = headerOf(arrival, "webhook-signature").split(" ").length
        return { entries, old: (yield* check(secret)).ok, next: (yield* check(next)).ok }
      })
      assert.deepStrictEqual(yield* trustedWith(), { entries: 2, old: true, next: true })
      yield* advance(keys, dayS - 60)
      assert.deepStrictEqual(yield* trustedWith(), { entries: 2, old: true, next: true })
      yield* advance(keys, 120)
      assert.deepStrictEqual(yield* trustedWith(), { entries: 1, old: false, next: true })
      yield* logUntil((all) => all.length === 3 && all.every(({ status }) => status === "succeeded"))
      assert.notProperty(yield* listed, "previous_secret_expires_at")
    })
  )

  it.effect("a subscriber gets no events after five failing days until an update sets the URL again", () =>
    Effect.gen(function* () {
      const keys = yield* newKeys
      const { receiver, id, call, health, listed, log, logUntil } = yield* subscribe(keys, {
        otherwise: Receiver.fail(500)
      })
      yield* call("send_test_event")
      yield* logUntil((all) => all[0]?.status === "retrying")
      yield* advance(keys, 5 * dayS - 60)
      yield* logUntil((all) => all[0]?.status === "failed")
      assert.strictEqual((yield* health).state, "failing")
      yield* startRequest(keys)
      yield* logUntil((all) => all[0]?.status === "retrying")
      yield* advance(keys, 600)
      yield* askUntil(health, ({ state }) => state === "disabled")
      yield* logUntil((all) => all.every(({ status }) => status === "failed" || status === "cancelled"))
      const subscription = yield* listed
      assert.deepStrictEqual([subscription.status, subscription.delivery_enabled], ["active", false])
      for (const [operation, input] of [
        ["send_test_event", {}],
        ["replay_event_delivery", { event_id: (yield* log)[0]?.event_id }]
      ] as const) {
        const refused = yield* call(operation, input)
        assert.deepStrictEqual([refused.status, refused.body.error.code], [409, "conflict"])
      }
      const count = receiver.arrivals().length
      const deliveries = (yield* log).length
      yield* startRequest(keys)
      yield* advance(keys, dayS)
      assert.lengthOf(yield* log, deliveries)
      assert.lengthOf(receiver.arrivals(), count)
      receiver.play({})
      const types = yield* call("update_event_subscription", { event_types: ["quote.created"] })
      assert.isFalse(types.body.delivery_enabled)
      const changed = yield* call("update_event_subscription", { url: receiver.url })
      assert.deepStrictEqual([changed.body.id, changed.body.delivery_enabled], [id, true])
      yield* call("send_test_event")
      yield* logUntil((all) => all[0]?.status === "succeeded")
      assert.strictEqual((yield* health).state, "healthy")
    })
  )

  it.effect("a subscriber gets no events after it deletes the subscription", () =>
    Effect.gen(function* () {
      const keys = yield* newKeys
      const { receiver, call, health, allAre, logUntil } = yield* subscribe(keys, { otherwise: Receiver.fail(500) })
      yield* startRequest(keys)
      yield* advance(keys, 2)
      const count = (yield* feed(keys)).length
      yield* logUntil((all) => all.length === count && all.every(({ status }) => status === "retrying"))
      const deleted = yield* call("disable_event_subscription")
      assert.deepStrictEqual([deleted.status, deleted.body.status], [200, "disabled"])
      const cancelled = yield* allAre("cancelled", count)
      assert.isTrue(cancelled.every(({ next_attempt_at }) => next_attempt_at === null))
      assert.strictEqual((yield* health).state, "disabled")
      assert.deepStrictEqual(yield* call("disable_event_subscription"), deleted)
      assert.strictEqual((yield* call("send_test_event")).status, 409)
      const arrived = receiver.arrivals().length
      yield* advance(keys, dayS)
      yield* allAre("cancelled", count)
      assert.lengthOf(receiver.arrivals(), arrived)
    })
  )

  it.effect("a subscriber can request a test event that reaches no feed and no other subscriber", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* newKeys
      const one = yield* subscribe(keys)
      const other = yield* subscribe(keys)
      const test = () => one.call("send_test_event", {}, { idempotency_key: "test-1" })
      const sent = yield* test()
      assert.strictEqual(sent.status, 202)
      assert.match(sent.body.event.id, /^evt_test/)
      yield* one.allAre("succeeded", 1)
      assert.deepStrictEqual(yield* test(), sent)
      const [arrival] = one.receiver.arrivals()
      assert.deepStrictEqual(JSON.parse(arrival?.text ?? ""), sent.body.event)
      assert.lengthOf(one.receiver.arrivals(), 1)
      assert.deepStrictEqual(yield* feed(keys), [])
      assert.deepStrictEqual(yield* other.log, [])
      const made = yield* one.attempts(sent.body.event.id)
      assert.deepStrictEqual([made.length, made[0]?.trigger, made[0]?.response_status_code], [1, "manual", 204])
      for (const _ of Array.from({ length: 9 })) yield* one.call("send_test_event")
      const limited = yield* one.call("send_test_event")
      assert.deepStrictEqual([limited.status, limited.body.error.code], [429, "rate_limited"])
      const widget = yield* host.call(keys, "send_test_event", { id: one.id }, { key: keys.widget })
      assert.strictEqual(widget.status, 403)
    })
  )

  it.effect("a subscriber can replay an event from its own log up to five times a day", () =>
    Effect.gen(function* () {
      const keys = yield* newKeys
      const { receiver, call, allAre, attempts } = yield* subscribe(keys, {}, ["quote_request.completed"])
      const stranger = yield* newKeys
      yield* startRequest(keys)
      yield* advance(keys, 60)
      const [delivery] = yield* allAre("succeeded", 1)
      const event_id = delivery?.event_id ?? ""
      for (let replays = 1; replays <= 5; replays++) {
        const replayed = yield* call("replay_event_delivery", { event_id })
        assert.deepStrictEqual(replayed, { status: 202, body: replayed.body })
        yield* askUntil(attempts(event_id), (made) => made.length === replays + 1)
      }
      const sixth = yield* call("replay_event_delivery", { event_id })
      assert.deepStrictEqual([sixth.status, sixth.body.error.code], [429, "rate_limited"])
      const made = yield* attempts(event_id)
      assert.deepStrictEqual(
        made.map(({ trigger }) => trigger),
        [...Array.from({ length: 5 }, () => "manual"), "scheduled"]
      )
      assert.lengthOf(receiver.arrivals(), 6)
      assert.lengthOf(new Set(receiver.arrivals().map(({ text }) => text)), 1)
      const unsubscribed = (yield* feed(keys)).find(({ type }) => type === "quote.created")?.id
      for (const unknown of [unsubscribed, "evt_00000000000000000000000000", "x", "evt_test"]) {
        const refused = yield* call("replay_event_delivery", { event_id: unknown })
        assert.deepStrictEqual([refused.status, refused.body.error.code], [404, "not_found"], unknown)
      }
      const foreign = yield* of(stranger, delivery?.event_id ?? "").call("replay_event_delivery", { event_id })
      assert.strictEqual(foreign.status, 404)
    })
  )

  it.effect("a subscriber can list its delivery log in pages, newest first, and only with the log's own cursors", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* newKeys
      const { call, log, allAre } = yield* subscribe(keys)
      const other = yield* subscribe(keys)
      yield* startRequest(keys)
      yield* advance(keys, 60)
      const events = yield* feed(keys)
      yield* allAre("succeeded", events.length)
      const read: Array<string> = []
      const cursors: Array<string> = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = yield* call("list_event_deliveries", { limit: 4, ...(cursor !== undefined && { cursor }) })
        read.push(...page.body.deliveries.map(({ event_id }: { readonly event_id: string }) => event_id))
        cursor = page.body.next_cursor
        if (typeof cursor === "string") cursors.push(cursor)
      }
      assert.deepStrictEqual(
        read,
        (yield* log).map(({ event_id }) => event_id)
      )
      assert.deepStrictEqual(read, events.map(({ id }) => id).toReversed())
      const [cursor = ""] = cursors
      const { next_cursor } = (yield* host.call(keys, "list_events", {})).body
      for (const foreign of [next_cursor, cursor.slice(0, -2), "x"]) {
        const refused = yield* call("list_event_deliveries", { cursor: foreign })
        assert.deepStrictEqual([refused.status, refused.body.error.code], [400, "invalid_cursor"])
      }
      assert.strictEqual((yield* other.call("list_event_deliveries", { cursor })).status, 400)
      assert.strictEqual((yield* call("list_event_deliveries", { limit: 101 })).status, 422)
      const reset = yield* host.call(keys, "reset_sandbox", {})
      assert.strictEqual(reset.body.removed.deliveries, 2 * events.length)
      assert.deepStrictEqual((yield* call("list_event_deliveries")).body, { deliveries: [], next_cursor: null })
      assert.strictEqual((yield* call("get_event_delivery", { event_id: read[0] })).status, 404)
      yield* startRequest(keys)
      yield* allAre("succeeded", (yield* feed(keys)).length)
    })
  )
})

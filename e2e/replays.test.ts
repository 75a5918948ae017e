import { assert } from "@effect/vitest"
import type { Receiver } from "@quotewire/core/testing"
import { Effect } from "effect"
import { Host } from "./host.ts"
import { onEveryStorage } from "./hosts.ts"
import { advance, everyType, feed, startRequest, subscribe } from "./support/subscriber.ts"

const idsOf = (arrivals: ReadonlyArray<Receiver.Arrival>) => arrivals.map(({ event }) => event?.id)

/** A subscriber whose endpoint has confirmed all events of a quote request. */
const confirmedSubscriber = Effect.fnUntraced(function* (eventTypes: ReadonlyArray<string> = everyType) {
  const host = yield* Host
  const keys = yield* host.newOrganization
  const subscriber = yield* subscribe(keys, {}, eventTypes)
  yield* startRequest(keys)
  yield* advance(keys, 60)
  const events = yield* feed(keys)
  const chosen = events.filter(({ type }) => eventTypes.includes(type)).map(({ id }) => id)
  yield* subscriber.allAre("succeeded", chosen.length)
  const { receiver } = subscriber
  const first = receiver.arrivals()
  return {
    ...subscriber,
    keys,
    chosen,
    replay: (scenario?: string) =>
      Effect.map(host.call(keys, "replay_events", scenario === undefined ? {} : { scenario }), ({ status, body }) => {
        assert.strictEqual(status, 200)
        assert.strictEqual(body.control, "replay_events")
        return body.replay
      }),
    /** The deliveries since then, once this many have arrived. */
    after: (count: number) =>
      Effect.map(
        receiver.until((arrivals) => arrivals.length >= first.length + count),
        (arrivals) => arrivals.slice(first.length)
      ),
    bodies: new Map(first.map(({ event, text }) => [event?.id, text]))
  }
})

onEveryStorage("sandbox replays", (it) => {
  it.effect("a sandbox replay can send every event as recorded, and explains how to handle duplicates", () =>
    Effect.gen(function* () {
      const { replay, after, chosen, bodies, attempts, allAre, receiver } = yield* confirmedSubscriber()
      const { scenarioCode, deliveries, notice, recovery } = yield* replay()
      assert.deepStrictEqual([scenarioCode, deliveries], ["as_recorded", chosen.length])
      assert.match(notice, /\.$/)
      assert.strictEqual(recovery, "Drop events whose resource.version is not newer than the one you hold.")
      const again = yield* after(chosen.length)
      assert.deepStrictEqual(idsOf(again), chosen)
      assert.isTrue(again.every(({ verification, isDuplicate }) => verification.ok && isDuplicate))
      for (const { event, text } of again) assert.strictEqual(text, bodies.get(event?.id))
      yield* allAre("succeeded", chosen.length)
      assert.lengthOf(receiver.ids(), chosen.length)
      const [newest, oldest] = yield* attempts(chosen[0] ?? "")
      assert.deepStrictEqual([newest?.trigger, oldest?.trigger], ["manual", "scheduled"])
    })
  )

  it.effect("a sandbox replay can send every event twice", () =>
    Effect.gen(function* () {
      const { replay, after, chosen } = yield* confirmedSubscriber()
      assert.strictEqual((yield* replay("duplicated")).deliveries, 2 * chosen.length)
      assert.deepStrictEqual(
        idsOf(yield* after(2 * chosen.length)),
        chosen.flatMap((id) => [id, id])
      )
    })
  )

  it.effect("a sandbox replay can send events in reverse order", () =>
    Effect.gen(function* () {
      const { replay, after, chosen } = yield* confirmedSubscriber()
      assert.strictEqual((yield* replay("reversed")).deliveries, chosen.length)
      const again = yield* after(chosen.length)
      assert.deepStrictEqual(idsOf(again), chosen.toReversed())
      assert.isAbove(again.filter(({ isLate }) => isLate).length, 0)
    })
  )

  it.effect("a sandbox replay can send every event 15 minutes late", () =>
    Effect.gen(function* () {
      const { replay, after, chosen, keys, receiver, call, logUntil } = yield* confirmedSubscriber()
      assert.strictEqual((yield* replay("delayed")).deliveries, chosen.length)
      yield* advance(keys, 895)
      // The event that is sent in the meantime shows that the replay could have arrived too early.
      yield* call("send_test_event")
      yield* logUntil((all) => all[0]?.event_type === "webhook.test" && all[0].status === "succeeded")
      assert.lengthOf(receiver.arrivals(), chosen.length + 1)
      yield* advance(keys, 10)
      assert.deepStrictEqual(idsOf(yield* after(chosen.length + 1)).slice(1), chosen)
    })
  )

  it.effect("a sandbox replay can omit the first event, but the feed keeps the event", () =>
    Effect.gen(function* () {
      const { replay, after, chosen, keys } = yield* confirmedSubscriber()
      const { deliveries, recovery } = yield* replay("gap")
      assert.strictEqual(deliveries, chosen.length - 1)
      assert.strictEqual(recovery, "Read GET /v1/events from your stored cursor.")
      assert.deepStrictEqual(idsOf(yield* after(chosen.length - 1)), chosen.slice(1))
      assert.strictEqual((yield* feed(keys))[0]?.id, chosen[0])
    })
  )

  it.effect("a sandbox replay sends each subscription only the event types that the subscription selected", () =>
    Effect.gen(function* () {
      const { replay, after, chosen } = yield* confirmedSubscriber(["quote.created"])
      assert.lengthOf(chosen, 3)
      assert.strictEqual((yield* replay("reversed")).deliveries, 3)
      assert.deepStrictEqual(idsOf(yield* after(3)), chosen.toReversed())
    })
  )

  it.effect("a sandbox replay reaches a subscription that was created after the events", () =>
    Effect.gen(function* () {
      const { replay, keys, chosen } = yield* confirmedSubscriber()
      const late = yield* subscribe(keys)
      assert.deepStrictEqual(yield* late.log, [])
      assert.strictEqual((yield* replay()).deliveries, 2 * chosen.length)
      const arrivals = yield* late.receiver.until((all) => all.length === chosen.length)
      assert.deepStrictEqual(idsOf(arrivals), chosen)
      yield* late.allAre("succeeded", chosen.length)
    })
  )

  it.effect("a sandbox replay accepts five modes, and refuses any other mode", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* host.newOrganization
      const refused = yield* host.call(keys, "replay_events", { scenario: "sideways" })
      assert.strictEqual(refused.status, 422)
      assert.deepStrictEqual(refused.body.error.field_errors[0].allowed_values, [
        "as_recorded",
        "duplicated",
        "reversed",
        "delayed",
        "gap"
      ])
      assert.strictEqual((yield* host.call(keys, "replay_events", {})).body.replay.deliveries, 0)
    })
  )
})

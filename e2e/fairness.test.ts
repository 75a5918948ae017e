import { assert, layer } from "@effect/vitest"
import { Receiver } from "@quotewire/core/testing"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Clock, Effect } from "effect"
import { Host, http } from "./host.ts"
import { advance, feed, startRequest, subscribe } from "./support/subscriber.ts"

layer(http(MemoryStorage.layer), { excludeTestServices: true })("twenty subscribers", (it) => {
  it.effect("healthy webhook endpoints get every event in time while half of all endpoints never respond", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const organizations = [yield* host.newOrganization, yield* host.newOrganization]
      const beganAt = yield* Clock.currentTimeMillis
      // Two organizations, each with five endpoints that never respond and five that do.
      const workspaces = yield* Effect.forEach(organizations, (keys) =>
        Effect.gen(function* () {
          const hanging = yield* Effect.forEach(Array.from({ length: 5 }), () =>
            subscribe(keys, { otherwise: Receiver.hang })
          )
          const answering = yield* Effect.forEach(Array.from({ length: 5 }), () => subscribe(keys))
          return { keys, hanging, answering }
        })
      )
      yield* Effect.forEach(
        workspaces,
        ({ keys }) => Effect.forEach([1, 2, 3, 4], () => startRequest(keys), { concurrency: "unbounded" }),
        { concurrency: "unbounded" }
      )
      yield* Effect.forEach(organizations, (keys) => advance(keys, 60), { concurrency: "unbounded" })
      for (const { keys, hanging, answering } of workspaces) {
        const events = yield* feed(keys)
        assert.lengthOf(events, 32)
        for (const { allAre, receiver, attempts } of answering) {
          yield* allAre("succeeded", events.length)
          assert.sameMembers(
            [...receiver.ids()],
            events.map(({ id }) => id)
          )
          // One attempt each: no attempt was aborted.
          assert.lengthOf(receiver.arrivals(), events.length)
          assert.lengthOf(yield* attempts(events[0]?.id ?? ""), 1)
        }
        for (const { log, receiver, health } of hanging) {
          assert.isTrue((yield* log).every(({ status }) => status === "pending"))
          // At most sixteen at a time, some of which are reserved for retries.
          assert.isAtLeast(receiver.arrivals().length, 1)
          assert.isAtMost(receiver.arrivals().length, 16)
          assert.strictEqual((yield* health).state, "healthy")
        }
      }
      // All events were sent within the first of the fifteen seconds.
      assert.isBelow((yield* Clock.currentTimeMillis) - beganAt, 14_000)
      // No endpoint waits for the hanging ones, not even at the end.
      for (const { hanging } of workspaces) {
        for (const { call } of hanging) yield* call("disable_event_subscription")
      }
    })
  )
})

import { assert, describe } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import {
  changeRecovery,
  listRecoveries,
  previewRecovery,
  startRecovery
} from "../../src/operators/RecoveryOperations.ts"
import type { Storage } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { changeEventRecovery, listEventRecoveries } from "../../src/webhooks/WebhookOperations.ts"
import { callWith, tokenOf } from "../operators/support.ts"
import { live, pass, pathsOf, refusal, start, work } from "../support/world.ts"
import { create, disable, recover, replay, testScripted, testWebhooks } from "./support.ts"

/** A token, a subscription with deliveries in live, and where operators find it. */
const delivered = (count: number) =>
  Effect.gen(function* () {
    const { organization } = yield* World
    const { token } = yield* tokenOf()
    const { id: subscription_id } = yield* create({}, { ...live, idempotency_key: "subscribe" })
    yield* work
    for (let i = 0; i < count; i++) {
      yield* start({}, live)
      yield* pass(10)
    }
    yield* pass(1_000)
    const place = { organization_id: organization.id, environment: "live", subscription_id }
    const progress = Effect.map(callWith(token, listRecoveries, place), ({ recoveries }) =>
      recoveries.map(({ resent, state }) => [state, resent])
    )
    return { token, place, progress }
  })

const eventsIn = (sent: ReadonlyArray<{ readonly request: { readonly headers: Readonly<Record<string, string>> } }>) =>
  sent.map(({ request }) => request.headers["webhook-id"] ?? "")

describe("a recovery", () => {
  testWebhooks("resends deliveries in order, at the given pace, and reports its progress", ({ sent }) =>
    Effect.gen(function* () {
      const { place, progress, token } = yield* delivered(5)
      const first = eventsIn(sent)
      assert.lengthOf(first, 5)
      const choice = { ...place, statuses: ["succeeded"], per_minute: 6 }
      assert.deepStrictEqual(yield* callWith(token, previewRecovery, choice), {
        matched: 5,
        is_complete: true,
        per_minute: 6,
        takes_seconds: 50
      })
      assert.lengthOf(sent, 5)
      const started = yield* callWith(token, startRecovery, choice)
      assert.deepInclude(started, { state: "running", matched: 5, resent: 0 })
      yield* pass(1_000)
      assert.deepStrictEqual(yield* progress, [["running", 1]])
      yield* pass(20_000)
      assert.deepStrictEqual(yield* progress, [["running", 3]])
      yield* pass(60_000)
      assert.deepStrictEqual(yield* progress, [["done", 5]])
      assert.deepStrictEqual(eventsIn(sent).slice(5), first)
      const times = sent.slice(5).map(({ at }) => at)
      assert.isTrue(times.every((at, index) => index === 0 || at - (times[index - 1] ?? 0) >= 10_000))
    })
  )

  testWebhooks("can be paused, resumed and stopped", ({ sent }) =>
    Effect.gen(function* () {
      const { place, progress, token } = yield* delivered(5)
      const { id: recovery_id } = yield* callWith(token, startRecovery, {
        ...place,
        statuses: ["succeeded"],
        per_minute: 60
      })
      const change = (action: string) => callWith(token, changeRecovery, { ...place, recovery_id, action })
      yield* pass(1_500)
      assert.deepStrictEqual(yield* progress, [["running", 2]])
      assert.strictEqual((yield* change("pause")).state, "paused")
      assert.strictEqual((yield* change("pause")).state, "paused")
      yield* pass(60_000)
      assert.deepStrictEqual(yield* progress, [["paused", 2]])
      // Without a wait, so the job from before the pause may still exist.
      yield* change("resume")
      yield* change("pause")
      yield* change("resume")
      yield* pass(1_500)
      assert.deepStrictEqual(yield* progress, [["running", 4]])
      assert.strictEqual((yield* change("stop")).state, "stopped")
      yield* pass(60_000)
      assert.deepStrictEqual(yield* progress, [["stopped", 4]])
      assert.lengthOf(sent, 9)
      assert.strictEqual((yield* refusal(change("resume")))._tag, "conflict")
      assert.strictEqual((yield* change("stop")).state, "stopped")
    })
  )

  testWebhooks("skips events that were already replayed five times within a day", ({ sent }) =>
    Effect.gen(function* () {
      const { place } = yield* delivered(2)
      const { call } = yield* World
      const id = place.subscription_id
      const [event] = eventsIn(sent)
      for (let i = 0; i < 5; i++) {
        yield* replay(id, event ?? "", { ...live, idempotency_key: `replay-${i}` })
        yield* pass(1_000)
      }
      const before = sent.length
      const options = { ...live, idempotency_key: "recover" }
      const started = yield* recover(id, { statuses: ["succeeded"] }, options)
      assert.deepStrictEqual(yield* recover(id, { statuses: ["succeeded"] }, options), started)
      yield* pass(10_000)
      const { recoveries } = yield* call(listEventRecoveries, { id }, live)
      assert.deepStrictEqual(
        recoveries.map(({ resent, skipped, state }) => [state, resent, skipped]),
        [["done", 1, 1]]
      )
      assert.lengthOf(sent, before + 1)
      const input = { id, recovery_id: started.id, action: "pause" }
      assert.strictEqual((yield* refusal(call(changeEventRecovery, input, live)))._tag, "conflict")
      const fast = yield* refusal(recover(id, { per_minute: 61 }, { ...live, idempotency_key: "fast" }))
      assert.deepStrictEqual(pathsOf(fast), ["per_minute"])
      const foreign = yield* refusal(call(listEventRecoveries, { id }))
      assert.strictEqual(foreign._tag, "not_found")
    })
  )

  testWebhooks("selects deliveries by state, type and time, and pauses if the subscription is disabled", ({ sent }) =>
    Effect.gen(function* () {
      const { place, progress, token } = yield* delivered(3)
      const matched = (choice: object) =>
        Effect.map(callWith(token, previewRecovery, { ...place, ...choice }), (preview) => preview.matched)
      assert.strictEqual(yield* matched({}), 0)
      const statuses = ["succeeded"]
      assert.strictEqual(yield* matched({ statuses, event_types: ["quote.created"] }), 0)
      assert.strictEqual(yield* matched({ statuses, event_types: ["quote_request.queued"] }), 3)
      assert.strictEqual(yield* matched({ statuses, created_before: "2026-11-20T12:00:00Z" }), 0)
      assert.strictEqual(yield* matched({ statuses, created_after: "2026-11-20T12:00:00Z" }), 3)
      const wrong = yield* refusal(callWith(token, previewRecovery, { ...place, statuses: ["pending"], per_minute: 0 }))
      assert.sameMembers([...pathsOf(wrong)], ["statuses.0", "per_minute"])

      yield* callWith(token, startRecovery, { ...place, statuses, per_minute: 1 })
      assert.strictEqual((yield* refusal(callWith(token, startRecovery, place)))._tag, "conflict")
      yield* pass(1_000)
      yield* disable(place.subscription_id, live)
      yield* pass(120_000)
      assert.deepStrictEqual(yield* progress, [["paused", 1]])
      assert.lengthOf(sent, 4)
      const other = yield* tokenOf({ name: "other" })
      const elsewhere = { ...place, environment: "sandbox" }
      assert.strictEqual((yield* refusal(callWith(other.token, listRecoveries, elsewhere)))._tag, "not_found")
    })
  )

  /** A storage backend in which five concurrent starts decide before the first of them is stored. */
  const waitingFor = Deferred.makeUnsafe<void>()

  testScripted("is started by only one of several concurrent calls", () => {
    let waiting = 0
    const around = (storage: Storage["Service"]): Storage["Service"] => ({
      ...storage,
      commit: (change) => {
        if (!change.writes.some(({ kind, version }) => kind === "recovery" && version === 1))
          return storage.commit(change)
        waiting += 1
        if (waiting === 5) Deferred.doneUnsafe(waitingFor, Effect.void)
        return Effect.andThen(Deferred.await(waitingFor), storage.commit(change))
      }
    })
    return {
      around,
      body: () =>
        Effect.gen(function* () {
          const { place, progress, token } = yield* delivered(1)
          const starting = callWith(token, startRecovery, { ...place, statuses: ["succeeded"] }).pipe(
            Effect.as("started"),
            Effect.catch(({ _tag }) => Effect.succeed(_tag))
          )
          const outcomes = yield* Effect.all([starting, starting, starting, starting, starting], {
            concurrency: "unbounded"
          })
          assert.sameMembers(outcomes, ["started", "conflict", "conflict", "conflict", "conflict"])
          assert.lengthOf(yield* progress, 1)
        })
    }
  })
})

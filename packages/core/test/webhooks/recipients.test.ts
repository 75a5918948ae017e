import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { Storage } from "../../src/storage/Storage.ts"
import { anotherHost, feed, start } from "../support/world.ts"
import { create, disable, log, only, testScripted, testWebhooks, update } from "./support.ts"

const otherUrl = "https://hooks.acme.dev/other"

describe("an event", () => {
  testWebhooks("reaches a subscription that another host has created since the recipients were cached", ({ layer }) =>
    Effect.gen(function* () {
      const elsewhere = yield* anotherHost({ webhooks: layer })
      yield* start()
      const { id } = yield* elsewhere(create())
      yield* start()
      assert.strictEqual((yield* only(id)).event_id, (yield* feed()).at(-1)?.id)
    })
  )

  testWebhooks(
    "does not reach a subscription that another host has disabled or changed to other event types",
    ({ layer }) =>
      Effect.gen(function* () {
        const elsewhere = yield* anotherHost({ webhooks: layer })
        const { id: disabled } = yield* create()
        const { id: changed } = yield* create({ url: otherUrl })
        yield* start()
        yield* elsewhere(disable(disabled))
        yield* elsewhere(update(changed, { event_types: ["quote.created"] }))
        yield* start()
        assert.lengthOf(yield* log(disabled), 1)
        assert.lengthOf(yield* log(changed), 1)
      })
  )

  testScripted("is stored without a read of the recipients if the cached recipients are current", () => {
    /** The reads of recipients. */
    const reads: Array<string> = []
    const readingOf = (storage: Storage["Service"]): Storage["Service"] => ({
      ...storage,
      get: (key) => {
        if (key.kind === "recipients") reads.push(key.kind)
        return storage.get(key)
      },
      page: (query) => {
        if (query.kind === "subscription") reads.push(query.kind)
        return storage.page(query)
      }
    })
    return {
      around: readingOf,
      body: () =>
        Effect.gen(function* () {
          const { id } = yield* create()
          yield* start()
          reads.length = 0
          for (let i = 0; i < 3; i++) yield* start()
          assert.deepStrictEqual(reads, [])
          yield* update(id, { url: otherUrl })
          yield* start()
          assert.include(reads, "recipients")
          reads.length = 0
          yield* start()
          assert.deepStrictEqual(reads, [])
          assert.lengthOf(yield* log(id), 6)
        })
    }
  })

  testScripted("is committed without a conflict if its own host has changed the recipients", () => {
    /** The outcomes of commits. */
    const outcomes: Array<string> = []
    const watching = (storage: Storage["Service"]): Storage["Service"] => ({
      ...storage,
      commit: (change) =>
        storage.commit(change).pipe(
          Effect.tapError(({ _tag }) => Effect.sync(() => outcomes.push(_tag))),
          Effect.tap(() => Effect.sync(() => outcomes.push("stored")))
        )
    })
    return {
      around: watching,
      body: () =>
        Effect.gen(function* () {
          const { id } = yield* create()
          yield* start()
          for (const event_types of [["quote.created"], ["quote_request.queued"]]) {
            yield* update(id, { event_types })
            outcomes.length = 0
            yield* start()
            assert.deepStrictEqual(outcomes, ["stored"])
          }
          assert.lengthOf(yield* log(id), 2)
        })
    }
  })

  testScripted("is stored even if its recipients change repeatedly during the commit", () => {
    /** How many of the next commits have a subscription changed right before them. */
    const races = { left: 0, before: Effect.void as Effect.Effect<unknown> }
    const racing = (storage: Storage["Service"]): Storage["Service"] => ({
      ...storage,
      commit: (change) =>
        Effect.suspend(() => {
          if (races.left === 0 || change.events.length === 0) return storage.commit(change)
          races.left--
          return Effect.andThen(races.before, storage.commit(change))
        })
    })
    return {
      around: racing,
      body: ({ layer }) =>
        Effect.gen(function* () {
          const elsewhere = yield* anotherHost({ webhooks: layer })
          const { id } = yield* create()
          yield* start()
          let turn = 0
          races.before = Effect.suspend(() =>
            elsewhere(update(id, { event_types: turn++ % 2 === 0 ? ["quote.created"] : ["quote_request.queued"] }))
          ).pipe(Effect.orDie)
          for (const times of [1, 2, 9]) {
            races.left = times
            yield* start()
            assert.strictEqual(races.left, 0)
          }
          // The first event, and the last, which arrived after delivery was turned on again.
          assert.lengthOf(yield* log(id), 2)
        })
    }
  })
})

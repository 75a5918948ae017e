import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Asking } from "../../src/quoting/asking/Asking.ts"
import type { Erasures } from "../../src/quoting/erasing/Erasures.ts"
import { type Storage, StorageUnavailable } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { beginning, live, pass, read, start, testInWorld, work, world } from "../support/world.ts"
import { callbackOf, callingBack, carriers, offers, polled, prompt, slow, unavailable } from "./carriers.ts"
import { aboutPet, by, eraseRequest, storedTexts } from "./erasing.ts"

describe("an erasure", () => {
  testInWorld("drops a carrier's answer that arrives after the erasure", () => {
    const late = slow("a", 4_000, offers(aboutPet), { idempotent: false })
    return {
      ...carriers(late),
      body: Effect.gen(function* () {
        const { organization } = yield* World
        const { id } = yield* start({ line: "pet" }, live)
        yield* work
        yield* pass(2_000)
        assert.lengthOf(late.asks, 1)
        yield* eraseRequest(id)
        const then = yield* read(id, live)
        yield* pass(10_000)
        assert.deepStrictEqual(yield* read(id, live), then)
        assert.lengthOf(then.quotes, 0)
        assert.lengthOf(late.asks, 1)
        assert.notInclude(yield* storedTexts(organization.workspaces.live), "Wuschelbart")
      })
    }
  })

  testInWorld("stops polls and drops callbacks", () => {
    const polling = polled("a", 9)

    const calling = callingBack("b")
    return {
      ...carriers(polling, calling),
      body: Effect.gen(function* () {
        const { id } = yield* start({}, live)
        yield* work
        yield* pass(6_000)
        const polls = polling.polls.length
        assert.isAbove(polls, 0)
        yield* eraseRequest(id)
        const then = yield* read(id, live)
        const ref = calling.asks[0]?.ask.idempotency_key ?? ""
        const taken = yield* Asking.use((asking) => asking.callback("b", callbackOf(ref, offers())))
        assert.isTrue(taken)
        yield* pass(60_000)
        assert.lengthOf(polling.polls, polls)
        assert.deepStrictEqual(yield* read(id, live), then)
      })
    }
  })

  testInWorld("erases a carrier's answer that is stored concurrently", () => {
    const answering = callingBack("b")

    let between: Effect.Effect<void> | null = null
    return {
      ...carriers(prompt("a", offers(aboutPet)), answering),
      around: (storage) => ({
        ...storage,
        commit: (change) => {
          const meanwhile = between
          if (meanwhile === null || !change.writes.some(({ kind }) => kind === "erasure")) return storage.commit(change)
          between = null
          return Effect.andThen(meanwhile, storage.commit(change))
        }
      }),
      body: Effect.gen(function* () {
        const { id } = yield* start({ line: "pet" }, live)
        yield* work
        yield* pass(5_000)
        const { quote_request, quotes } = yield* read(id, live)
        assert.deepStrictEqual([quote_request.status, quotes.length], ["in_progress", 1])
        // Between the reads of the erasure and its change, another carrier answers.
        between = Effect.orDie(
          Effect.gen(function* () {
            const ref = answering.asks[0]?.ask.idempotency_key ?? ""
            yield* Asking.use((asking) => asking.callback("b", callbackOf(ref, offers(aboutPet))))
          })
        ).pipe(Effect.provideContext(yield* Effect.context<Asking>()))
        yield* eraseRequest(id)
        const then = yield* read(id, live)
        assert.deepStrictEqual(
          then.quotes.map(({ coverage, status }) => [status, coverage.conditions]),
          [
            ["inactive", []],
            ["inactive", []]
          ]
        )
        const { organization } = yield* World
        assert.notInclude(yield* storedTexts(organization.workspaces.live), "Wuschelbart")
      })
    }
  })

  testInWorld("leaves no record of an exchange that ended concurrently", () => {
    let erasing: Effect.Effect<void> | null = null
    return {
      ...carriers(prompt("a", unavailable("carrier_error"))),
      around: (storage) => ({
        ...storage,
        commit: (change) => {
          const meanwhile = erasing
          if (meanwhile === null || !change.writes.some(({ kind }) => kind === "exchange"))
            return storage.commit(change)
          erasing = null
          return Effect.andThen(meanwhile, storage.commit(change))
        }
      }),
      body: Effect.gen(function* () {
        const { organization } = yield* World
        const { id } = yield* start({}, live)
        erasing = Effect.orDie(Effect.asVoid(eraseRequest(id))).pipe(
          Effect.provideContext(yield* Effect.context<Erasures>())
        )
        yield* work
        yield* pass(60_000)
        assert.isNull(erasing)
        assert.strictEqual((yield* read(id, live)).quote_request.status_details.reason, "consent_withdrawn")
        const texts = yield* storedTexts(organization.workspaces.live)
        assert.notInclude(texts, '["exchange",')
      })
    }
  })

  it.effect("can be resumed wherever it was stopped", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      // A storage backend that fails after `writesLeft` writes.
      let writesLeft = Number.POSITIVE_INFINITY
      const unavailable = new StorageUnavailable({ retry_after_seconds: 1 })
      const limited = <A, E>(write: Effect.Effect<A, E>) =>
        Effect.suspend((): Effect.Effect<A, E | StorageUnavailable> => {
          writesLeft -= 1
          return writesLeft < 0 ? Effect.fail(unavailable) : write
        })
      const around = (storage: Storage["Service"]): Storage["Service"] => ({
        ...storage,
        commit: (change) => limited(storage.commit(change)),
        erase: (erasure) => limited(storage.erase(erasure))
      })
      yield* Effect.provide(
        Effect.scoped(
          Effect.gen(function* () {
            const { organization } = yield* World
            // Stops the erasure after each possible number of writes.
            for (let stopsAfter = 0; ; stopsAfter++) {
              const { id } = yield* start({ line: "pet" }, live)
              yield* work
              yield* pass(5_000)
              const eraseOnce = Effect.exit(eraseRequest(id))
              writesLeft = stopsAfter
              const first = yield* eraseOnce
              writesLeft = Number.POSITIVE_INFINITY
              const second = yield* eraseRequest(id, { by: "the second try" })
              if (first._tag === "Success") {
                assert.strictEqual(second.already_erased, 1)
                assert.isAbove(stopsAfter, 2)
                break
              }
              assert.strictEqual(second.erased, 1)
              assert.strictEqual(second.requests[0]?.by, stopsAfter === 0 ? "the second try" : by)
              assert.strictEqual((yield* eraseRequest(id)).already_erased, 1)
              assert.notInclude(yield* storedTexts(organization.workspaces.live), "Wuschelbart")
            }
          })
        ),
        world({ ...carriers(prompt("a", offers(aboutPet))), around })
      )
    })
  )
})

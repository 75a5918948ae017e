import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import type { Storage } from "../../src/storage/Storage.ts"
import { advance, anotherHost, beginning, feed, read, start, testInWorld, world } from "../support/world.ts"
import { ending, play, service, startNth, subscribe } from "./crashes.ts"
import * as Hosts from "./hosts.ts"

/** An advance of a minute whose nth commit is struck. The caller retries it until it is answered, or never. */
const struckAt = (nth: number, fault: Hosts.Fault, isRepeated: boolean) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(beginning)
    let commits = 0
    let isCounting = false
    const { call, callOnce, outcome } = yield* service((operation) =>
      isCounting && operation === "commit" && ++commits === nth ? fault : null
    )
    yield* ending(call(subscribe))
    yield* ending(call(startNth(1)))
    isCounting = true
    const minute = advance(60, { idempotency_key: "minute" })
    yield* isRepeated ? ending(call(minute)) : callOnce(minute)
    isCounting = false
    if (!isRepeated) yield* ending(call(startNth(2)))
    return { ...(yield* outcome), isOver: commits < nth }
  }).pipe(Effect.provide(world()), Effect.scoped)

describe("an advance of a sandbox's clock", () => {
  for (const fault of Hosts.faults) {
    it.effect(
      `happens once and completely, whichever commit a fault hits (${fault})`,
      () =>
        Effect.gen(function* () {
          const calm = yield* struckAt(0, fault, true)
          assert.deepInclude(calm, { undelivered: 0, advanced: 60 })
          for (let nth = 1; ; nth++) {
            const { isOver, ...outcome } = yield* struckAt(nth, fault, true)
            const { isOver: _, ...expected } = calm
            assert.deepStrictEqual(outcome, expected, `commit ${nth}`)
            if (isOver) break
          }
        }),
      120_000
    )
  }
})

describe("an interrupted clock advance that the caller never retries", () => {
  for (const fault of ["dies after", "pauses after"] as const) {
    it.effect(
      `happens completely or not at all, and loses no event, whichever commit a fault hits (${fault})`,
      () =>
        Effect.gen(function* () {
          for (let nth = 1, isOver = false; !isOver; nth++) {
            const outcome = yield* struckAt(nth, fault, false)
            assert.include([0, 60], outcome.advanced, `commit ${nth}`)
            assert.strictEqual(outcome.undelivered, 0, `commit ${nth}`)
            assert.lengthOf(
              outcome.events.filter((line) => line.includes("quote_request.completed")),
              2
            )
            isOver = outcome.isOver
          }
        }),
      120_000
    )
  }
})

describe("hosts that crash, pause and lose storage", () => {
  for (let seed = 1; seed <= 12; seed++) {
    it.effect(
      `set the clock to the sum of two callers' advances, and deliver every event (seed ${seed})`,
      () => play(seed).pipe(Effect.provide(world()), Effect.scoped),
      120_000
    )
  }
})

describe("an abandoned advance", () => {
  it.effect("does not prevent webhooks of later events from being sent concurrently", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      let commits = Number.NEGATIVE_INFINITY
      const strike: Hosts.Strike = (operation) => (operation === "commit" && ++commits === 4 ? "dies after" : null)
      const { call, callOnce, endpoint, hosts } = yield* service(strike, undefined, { send_takes_ms: () => 2_000 })
      const { url } = yield* ending(call(subscribe))
      yield* ending(call(startNth(1)))
      commits = 0
      yield* callOnce(advance(60, { idempotency_key: "given-up" }))
      assert.isTrue(hosts[0].isDead())
      yield* TestClock.adjust("3 minutes")
      const before = endpoint.sent.length
      for (const nth of [2, 3, 4]) yield* ending(call(startNth(nth)))
      yield* TestClock.adjust("3 seconds")
      assert.isAbove(endpoint.sent.length - before, 2)
      assert.isAbove(endpoint.most(url ?? ""), 1)
    }).pipe(Effect.provide(world()), Effect.scoped)
  )
})

const nothing: Effect.Effect<unknown, unknown> = Effect.void

const noneAhead: ReturnType<Storage["Service"]["claim"]> = Effect.succeed({ jobs: [], next_due_at: null, busy: true })

describe("an advance overtaken by another host's advance", () => {
  testInWorld("skips no due work, and never lets the clock fall behind an event", () => {
    /**
     * Another host moves the clock one step after this one has read when the next job is due, but before it has moved
     * the clock.
     */
    const overtaken = {
      other: nothing,
      hasLooked: false,
      moved: Deferred.makeUnsafe<void>(),
      goesOn: Deferred.makeUnsafe<void>(),
      /** The furthest that the clock was behind the events. */
      late_ms: 0
    }
    const overtaking = (storage: Storage["Service"]): Storage["Service"] => {
      let offsetMs = 0
      return {
        ...storage,
        claim: (query) =>
          // A host cannot be overtaken while it holds the jobs ahead.
          query.ahead_ms !== undefined
            ? noneAhead
            : Effect.tap(storage.claim(query), ({ jobs, next_due_at }) => {
                if (
                  overtaken.hasLooked ||
                  query.workspace_id === undefined ||
                  jobs.length > 0 ||
                  next_due_at === null
                ) {
                  return Effect.void
                }
                overtaken.hasLooked = true
                return Effect.andThen(Effect.forkDetach(overtaken.other), Deferred.await(overtaken.moved))
              }),
        commit: (change) =>
          Effect.suspend(() => {
            // Read first: by the time the answer is handled, another host may have moved the clock.
            const beforeMs = offsetMs
            return Effect.tap(storage.commit(change), () => {
              const movedMs = change.clock_offset_ms ?? beforeMs
              for (const { occurred_at } of change.events) {
                // Real time stands still.
                overtaken.late_ms = Math.max(overtaken.late_ms, beginning + movedMs - occurred_at)
              }
              if (movedMs === beforeMs) return Effect.void
              offsetMs = movedMs
              const isFirst = Deferred.doneUnsafe(overtaken.moved, Exit.void)
              return isFirst ? Deferred.await(overtaken.goesOn) : Deferred.succeed(overtaken.goesOn, undefined)
            })
          })
      }
    }
    return {
      around: overtaking,
      body: Effect.gen(function* () {
        const elsewhere = yield* anotherHost()
        overtaken.other = elsewhere(advance(60))
        const { id } = yield* start({ line: "personal_auto", scenario: "quotes_ready" })
        yield* advance(60)
        assert.isTrue(overtaken.hasLooked)
        assert.strictEqual((yield* read(id)).quote_request.status, "completed")
        assert.strictEqual(overtaken.late_ms, 0)
      })
    }
  })
})

describe("an advance that runs jobs ahead of the clock", () => {
  testInWorld("does not overtake a request that another host starts in the meantime", () => {
    /** Another host starts a request after this one has claimed jobs ahead of the clock, but before it has run them. */
    const joined = {
      other: nothing,
      isStarted: false,
      /** The furthest that the clock was past an event when it was stored. */
      late_ms: 0
    }
    const joining = (storage: Storage["Service"]): Storage["Service"] => {
      let offsetMs = 0
      return {
        ...storage,
        claim: (query) =>
          Effect.tap(storage.claim(query), ({ jobs: [first] }) => {
            // The other request's first job is due a second after its start, before the jobs claimed here.
            const startsDueAt = beginning + offsetMs + 1_000
            const isAhead = query.ahead_ms !== undefined && first !== undefined && first.due_at > startsDueAt
            if (joined.isStarted || !isAhead) return Effect.void
            joined.isStarted = true
            return Effect.ignore(joined.other)
          }),
        commit: (change) =>
          Effect.map(storage.commit(change), () => {
            const beforeMs = offsetMs
            offsetMs = change.clock_offset_ms ?? offsetMs
            for (const { occurred_at } of change.events) {
              // Real time stands still. The clock moves with the change, so it must not have been past an event before.
              joined.late_ms = Math.max(joined.late_ms, beginning + beforeMs - occurred_at)
            }
          })
      }
    }
    return {
      around: joining,
      body: Effect.gen(function* () {
        const elsewhere = yield* anotherHost()
        joined.other = elsewhere(start({ line: "personal_auto", scenario: "quotes_ready" }))
        const { id } = yield* start({ line: "personal_auto", scenario: "quotes_ready" })
        yield* advance(60)
        assert.isTrue(joined.isStarted)
        assert.strictEqual((yield* read(id)).quote_request.status, "completed")
        assert.lengthOf(
          (yield* feed()).filter(({ type }) => type === "quote_request.completed"),
          2
        )
        assert.strictEqual(joined.late_ms, 0)
      })
    }
  })
})

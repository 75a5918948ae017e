import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { Asking } from "../../src/quoting/asking/Asking.ts"
import { Storage, StorageUnavailable } from "../../src/storage/Storage.ts"
import { beginning, feed, live, outcomes, pass, read, runDue, start, testInWorld, work } from "../support/world.ts"
import {
  callbackOf,
  callingBack,
  carrier,
  carriers,
  declined,
  offer,
  offers,
  polled,
  prompt,
  slow,
  unavailable
} from "./carriers.ts"
import { logOfRequest, single } from "./log.ts"

describe("a carrier that is polled", () => {
  for (const [asked_ms, waits_ms] of [
    [0, 2_000],
    [500, 2_000],
    [-1, 2_000],
    [4_000, 4_000],
    [60_000, 10_000]
  ] as const) {
    testInWorld(`is polled after ${waits_ms / 1_000} seconds if it asks for ${asked_ms / 1_000} seconds`, () => {
      const scripted = polled("polled", 3, asked_ms)
      return {
        ...carriers(scripted),
        body: Effect.gen(function* () {
          yield* work
          const { id } = yield* start({}, live)
          yield* pass(3 * waits_ms)
          assert.deepStrictEqual(
            scripted.polls.map((at) => at - beginning),
            [1, 2, 3].map((n) => n * waits_ms)
          )
          assert.lengthOf(scripted.asks, 1)
          assert.deepStrictEqual(yield* outcomes(id), ["polled quoted"])
        })
      }
    })
  }

  testInWorld("is not polled after the request has ended, and no late answer is logged", () => {
    const scripted = polled("polled", Number.POSITIVE_INFINITY, 10_000)
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        const { id, lines } = yield* logOfRequest({}, 95_000)
        const { length } = scripted.polls
        assert.isAtMost(length, 9)
        yield* pass(60_000)
        assert.lengthOf(scripted.polls, length)
        assert.deepStrictEqual(yield* outcomes(id), ["polled no_answer timeout"])
        single(lines, "Did not poll a carrier: it has answered, or its request has ended")
        assert.notInclude(lines.map(({ text }) => text).join(), "late")
      })
    }
  })

  testInWorld("is polled again for the accepted ask if a poll fails", () => {
    let polls = 0
    const shaky = prompt(
      "shaky",
      { kind: "pending", ref: "r", poll_after_ms: 2_000 },
      {
        rest: {
          poll: () => {
            if (++polls === 1) throw Object.assign(new Error("no"), { code: "ECONNRESET" })
            return Effect.succeed(polls === 2 ? unavailable("maintenance") : offers())
          }
        }
      }
    )
    return {
      ...carriers(shaky),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(30_000)
        assert.strictEqual(polls, 3)
        assert.lengthOf(shaky.asks, 1)
        assert.deepStrictEqual(yield* outcomes(id), ["shaky quoted"])
      })
    }
  })
})

const hear = (carrierId: string, ...[ref, reply, genuine]: Parameters<typeof callbackOf>) =>
  Effect.flatMap(Asking, (asking) => asking.callback(carrierId, callbackOf(ref, reply, genuine)))

describe("a carrier's callback", () => {
  testInWorld("delivers the answer if it is genuine, and changes nothing if it is repeated", () => {
    const scripted = callingBack("calls")
    const other = callingBack("other")
    return {
      ...carriers(scripted, other),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(5_000)
        const ref = scripted.asks[0]?.ask.idempotency_key ?? ""
        assert.isTrue(yield* hear("calls", ref, offers()))
        const before = yield* read(id, live)
        assert.deepStrictEqual(yield* outcomes(id), ["calls quoted", "other pending"])
        assert.lengthOf(before.quotes, 1)
        assert.strictEqual(before.quotes[0]?.evidence.source_time, "2026-11-20T12:00:05.000Z")
        assert.isTrue(yield* hear("calls", ref, offers(offer({ offer_ref: "another" }))))
        assert.isTrue(yield* hear("calls", ref, declined))
        assert.deepStrictEqual(yield* read(id, live), before)
      })
    }
  })

  testInWorld("is refused if it is forged, has an unknown reference, or is for another carrier's ask", () => {
    const scripted = callingBack("calls")
    const other = callingBack("other")
    return {
      ...carriers(scripted, other),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        const before = yield* read(id, live)
        const ref = scripted.asks[0]?.ask.idempotency_key ?? ""
        const altered = ref.slice(0, 60) + (ref.charAt(60) === "A" ? "B" : "A") + ref.slice(61)
        assert.isFalse(yield* hear("calls", ref, offers(), false))
        assert.isFalse(yield* hear("calls", altered, offers()))
        assert.isFalse(yield* hear("calls", "", offers()))
        assert.isFalse(yield* hear("calls", other.asks[0]?.ask.idempotency_key ?? "", offers()))
        assert.isFalse(yield* hear("nobody", ref, offers()))
        assert.deepStrictEqual(yield* read(id, live), before)
      })
    }
  })

  testInWorld("is ignored after the deadline, even if the request has not ended yet", () => {
    const scripted = callingBack("calls")
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        const { id } = yield* start({}, live)
        yield* runDue
        yield* pass(90_001)
        assert.isTrue(yield* hear("calls", scripted.asks[0]?.ask.idempotency_key ?? "", offers()))
        assert.deepStrictEqual(yield* outcomes(id), ["calls pending"])
        yield* runDue
        assert.deepStrictEqual(yield* outcomes(id), ["calls no_answer timeout"])
        const before = yield* feed(live)
        assert.isTrue(yield* hear("calls", scripted.asks[0]?.ask.idempotency_key ?? "", offers()))
        assert.deepStrictEqual(yield* feed(live), before)
        assert.deepStrictEqual((yield* read(id, live)).quotes, [])
      })
    }
  })

  testInWorld("is refused if the adapter cannot read it", () => {
    const scripted = callingBack("calls", {
      rest: {
        callback: () => {
          throw new Error("no")
        }
      }
    })
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        yield* start({}, live)
        yield* runDue
        assert.isFalse(yield* hear("calls", scripted.asks[0]?.ask.idempotency_key ?? "", offers()))
      })
    }
  })

  testInWorld("is recorded once, however many copies arrive concurrently", () => {
    const scripted = callingBack("calls")
    const others = Array.from({ length: 5 }, (_, i) => callingBack(`other-${i}`))
    return {
      ...carriers(scripted, ...others),
      body: Effect.gen(function* () {
        const { id } = yield* start({}, live)
        yield* runDue
        const all = [scripted, scripted, scripted, ...others, ...others]
        yield* Effect.forEach(
          all,
          ({ adapter, asks }) => hear(adapter.carrier.id, asks[0]?.ask.idempotency_key ?? "", offers()),
          { concurrency: "unbounded" }
        )
        const { quote_request, quotes } = yield* read(id, live)
        assert.strictEqual(quote_request.status_details.reason, "quotes_ready")
        assert.lengthOf(quotes, 6)
        assert.deepStrictEqual(quotes.map((quote) => quote.id).toSorted(), quote_request.quote_ids.toSorted())
        assert.lengthOf(
          (yield* feed(live)).filter(({ type }) => type === "quote.created"),
          6
        )
      })
    }
  })
})

/** A host that runs due jobs and is interrupted while it waits for a carrier. It releases its jobs immediately. */
const workAndBreakOff = Effect.gen(function* () {
  const host = yield* Effect.forkChild(runDue)
  yield* pass(0)
  yield* Fiber.interrupt(host)
})

/** A carrier that never answers its first ask, and answers later asks immediately. */
const forgetful = (id: string, idempotent: boolean) =>
  carrier(id, (_, nth) => (nth === 1 ? Effect.never : Effect.succeed(offers())), { idempotent })

describe("an unfinished ask", () => {
  for (const [idempotent, asks, outcome] of [
    [false, 1, "in-doubt no_answer timeout"],
    [true, 2, "in-doubt quoted"]
  ] as const) {
    testInWorld(
      idempotent
        ? "is repeated by the next host if the carrier is idempotent"
        : "ends without an answer if the carrier is not idempotent",
      () => {
        const scripted = forgetful("in-doubt", idempotent)
        return {
          ...carriers(scripted),
          body: Effect.gen(function* () {
            const { id } = yield* start({}, live)
            yield* workAndBreakOff
            assert.lengthOf(scripted.asks, 1)
            assert.deepStrictEqual(yield* outcomes(id), ["in-doubt pending"])
            yield* runDue
            assert.lengthOf(scripted.asks, asks)
            assert.deepStrictEqual(yield* outcomes(id), [outcome])
            if (idempotent)
              assert.strictEqual(scripted.asks[0]?.ask.idempotency_key, scripted.asks[1]?.ask.idempotency_key)
          })
        }
      }
    )
  }

  for (const [what, hurdle] of [
    ["could not load the facts", Effect.fail(new StorageUnavailable({ retry_after_seconds: 1 }))],
    ["stopped before sending the ask", Effect.never]
  ] as const) {
    testInWorld(`is sent later if the host ${what}`, () => {
      const scripted = prompt("careful", offers(), { idempotent: false })

      let reads = 0
      return {
        ...carriers(scripted),
        around: (storage) => ({
          ...storage,
          // The facts are read for the collection, and then for the ask.
          get: (key) => Effect.suspend(() => (key.kind === "application" && ++reads === 2 ? hurdle : storage.get(key)))
        }),
        body: Effect.gen(function* () {
          const { id } = yield* start({}, live)
          yield* workAndBreakOff
          assert.lengthOf(scripted.asks, 0)
          assert.deepStrictEqual(yield* outcomes(id), ["careful pending"])
          yield* runDue
          assert.lengthOf(scripted.asks, 1)
          assert.deepStrictEqual(yield* outcomes(id), ["careful quoted"])
        })
      }
    })
  }

  testInWorld("is recorded before it is sent, so that no other host repeats it if the first host dies", () => {
    const scripted = forgetful("gone", false)
    return {
      ...carriers(scripted),
      around: (storage) => ({ ...storage, release: () => Effect.void }),
      body: Effect.gen(function* () {
        const { id } = yield* start({}, live)
        yield* workAndBreakOff
        yield* runDue
        assert.deepStrictEqual(yield* outcomes(id), ["gone pending"])
        yield* pass(30_000)
        yield* runDue
        assert.lengthOf(scripted.asks, 1)
        assert.deepStrictEqual(yield* outcomes(id), ["gone no_answer timeout"])
      })
    }
  })

  testInWorld("is released if the host stops gracefully, so that no other host waits for the lease", () => {
    const scripted = forgetful("stopped", false)
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        const stop = yield* work
        const { id } = yield* start({}, live)
        yield* pass(100)
        yield* stop
        assert.strictEqual((yield* read(id, live)).quote_request.status, "in_progress")
        const storage = yield* Storage
        const { jobs } = yield* storage.claim({ now: yield* Clock.currentTimeMillis, lease_ms: 1, limit: 10 })
        assert.deepStrictEqual(
          jobs.map(({ kind, lease }) => [kind, lease]),
          [["ask_carrier", 2]]
        )
      })
    }
  })

  testInWorld("is completed before a graceful stop if the answer arrives within five seconds", () => {
    const scripted = slow("slow", 3_000, offers(), { idempotent: false })
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        const stop = yield* work
        const { id } = yield* start({}, live)
        yield* pass(100)
        yield* stop
        assert.deepStrictEqual(yield* outcomes(id), ["slow quoted"])
      })
    }
  })
})

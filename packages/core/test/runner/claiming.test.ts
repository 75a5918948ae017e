import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Logger } from "effect"
import type { ClaimQuery, Storage } from "../../src/storage/Storage.ts"
import { prompt } from "../quoting/carriers.ts"
import { type InWorld, live, pass, read, runDue, start, testInWorld, work } from "../support/world.ts"

const carriers = [prompt("first").adapter, prompt("second").adapter]

const reasonOf = (id: string) => Effect.map(read(id, live), ({ quote_request }) => quote_request.status_details.reason)

/** A storage backend whose response to a claim takes a while to arrive, like that of a database. */
const distant = {
  around: (storage: Storage["Service"]) => ({
    ...storage,
    claim: (query: ClaimQuery) => Effect.tap(storage.claim(query), () => Effect.sleep(300))
  })
}

/** Starts a claim, interrupts it while its response is on the way, and checks who does the work. */
const brokenOffInAClaim = Effect.fnUntraced(function* (begin: InWorld<Effect.Effect<unknown>>) {
  const { id } = yield* start({}, live)
  const interrupted = yield* begin
  yield* pass(100)
  yield* Effect.andThen(Effect.forkChild(interrupted), pass(300))
  yield* Effect.andThen(Effect.forkChild(runDue), pass(2_000))
  assert.strictEqual(yield* reasonOf(id), "quotes_ready")
})

describe("a runner", () => {
  testInWorld("continues after a claim fails, and logs the failure", () => {
    /** How many claims die before they are sent. */
    const refusing = { claims: 0 }
    const refusals = {
      around: (storage: Storage["Service"]) => ({
        ...storage,
        claim: (query: ClaimQuery) =>
          Effect.suspend(() => (refusing.claims-- > 0 ? Effect.die("a statement is refused") : storage.claim(query)))
      })
    }
    return {
      ...refusals,
      carriers,
      body: Effect.gen(function* () {
        const logged: Array<unknown> = []
        const logger = Logger.make(({ message }) => logged.push(...(Array.isArray(message) ? message : [message])))
        yield* Effect.provide(work, Logger.layer([logger]))
        yield* pass(500)
        refusing.claims = 2
        const { id } = yield* start({}, live)
        yield* pass(1_900)
        assert.strictEqual(yield* reasonOf(id), "queued")
        yield* pass(1_100)
        assert.strictEqual(yield* reasonOf(id), "quotes_ready")
        assert.deepStrictEqual(
          logged.filter((line) => line === "Claiming jobs failed; retrying"),
          ["Claiming jobs failed; retrying", "Claiming jobs failed; retrying"]
        )
      })
    }
  })

  testInWorld("releases the claimed jobs if it stops during a claim", brokenOffInAClaim(work), {
    ...distant,
    carriers
  })

  testInWorld(
    "releases the claimed jobs if it is interrupted during a claim",
    brokenOffInAClaim(Effect.map(Effect.forkChild(runDue), Fiber.interrupt)),
    { ...distant, carriers }
  )

  testInWorld("claims due work once, and again only after a hint", () => {
    let claims = 0
    return {
      around: (storage) => ({
        ...storage,
        claim: (query: ClaimQuery) =>
          Effect.suspend(() => {
            claims++
            return storage.claim(query)
          })
      }),
      carriers,
      body: Effect.gen(function* () {
        yield* work
        yield* pass(100)
        claims = 0
        const { id } = yield* start({}, live)
        yield* pass(0)
        assert.strictEqual(yield* reasonOf(id), "quotes_ready")
        // At the start, when the carriers are asked, and when each of the two has answered.
        assert.strictEqual(claims, 4)
      })
    }
  })

  testInWorld("rarely claims while another host has leased all due work", () => {
    const claims: Array<ClaimQuery> = []
    return {
      carriers,
      around: (storage) => ({
        ...storage,
        claim: (query) => {
          claims.push(query)
          return Effect.succeed({ jobs: [], next_due_at: query.now - 1, busy: false })
        }
      }),
      body: Effect.gen(function* () {
        yield* work
        claims.length = 0
        yield* pass(1_000)
        assert.isAtLeast(claims.length, 1)
        assert.isAtMost(claims.length, 11)
      })
    }
  })
})

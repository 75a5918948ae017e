import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { randomBytes, write } from "../../src/access/ApiKey.ts"
import { standardLimits } from "../../src/access/limits/Limits.ts"
import type * as FinishedCall from "../../src/calls/FinishedCall.ts"
import * as Pipeline from "../../src/calls/Pipeline.ts"
import * as RequestLogOperations from "../../src/calls/RequestLogOperations.ts"
import { World } from "../../src/testing/World.ts"
import { Ids, RequestId } from "../../src/wire/Ids.ts"
import { cancel, list, live, pass, refusal, testInWorld } from "../support/world.ts"

const standard = { limits: standardLimits }

/** A request that matches no operation. */
const unknownPath: FinishedCall.Transport = {
  ...{ method: "GET", route: "*", status: null },
  ...{ user_agent: null, client_name: null, client_version: null }
}
const requestId = RequestId.make("req_01m7zcgg2vadcqrfttazsvk3av")

/** A well-formed key that does not exist. */
const guessed = (nth: number): string => write("sandbox", "server", new Uint8Array(randomBytes).fill(nth))

describe("rate limits", () => {
  testInWorld("refuse calls from an address with too many invalid keys, without looking up the keys", () => {
    let lookUps = 0
    return {
      ...standard,
      around: (storage) => ({
        ...storage,
        get: (key) => {
          if (key.kind === "api_key") lookUps++
          return storage.get(key)
        }
      }),
      body: Effect.gen(function* () {
        let guesses = 0
        const guess = () => ({
          ...{ key: guessed(++guesses), read_handle: null },
          ...{ address: "127.0.0.1", keyless: false }
        })
        const misses = Effect.suspend(() =>
          Pipeline.refuseUnrouted({ request_id: requestId, credentials: guess(), transport: unknownPath })
        )
        const notes = Effect.suspend(() =>
          Pipeline.logUnrouted({
            request_id: requestId,
            credentials: guess(),
            transport: { ...unknownPath, status: 405 },
            error_code: null
          })
        )
        // Each guess within the limit is looked up.
        for (let nth = 0; nth < 30; nth++) {
          assert.strictEqual((yield* Effect.flip(misses))._tag, "not_found")
          yield* notes
        }
        assert.strictEqual(lookUps, 60)
        // Beyond the limit, no kind of call looks a key up.
        assert.strictEqual((yield* refusal(list({}, { key: guess().key })))._tag, "rate_limited")
        const identified = yield* Effect.flip(Pipeline.identify({ request_id: requestId, credentials: guess() }))
        assert.strictEqual(identified._tag, "rate_limited")
        assert.strictEqual((yield* Effect.flip(misses))._tag, "not_found")
        yield* notes
        assert.strictEqual(lookUps, 60)
        // After a minute, guesses are looked up again.
        yield* pass(60_000)
        yield* Effect.flip(misses)
        assert.strictEqual(lookUps, 61)
      })
    }
  })

  testInWorld(
    "count a key's requests to unknown paths",
    Effect.gen(function* () {
      const { keys, call } = yield* World
      const credentials = { key: keys.live.server, read_handle: null, address: "127.0.0.1", keyless: false }
      const ids = yield* Ids
      const misses = Effect.suspend(() =>
        Pipeline.refuseUnrouted({ request_id: ids.request(), credentials, transport: unknownPath })
      )
      for (let nth = 0; nth < 120; nth++) assert.strictEqual((yield* Effect.flip(misses))._tag, "not_found")
      const refused = yield* Effect.flip(misses)
      assert.strictEqual(refused.message, "The limit of 120 other calls per key per minute was reached.")
      assert.strictEqual((yield* refusal(cancel("qreq_x", live)))._tag, "rate_limited")
      yield* list({}, live)
      yield* pass(1_000)
      const { requests } = yield* call(RequestLogOperations.listApiRequests, { error_code: "rate_limited" }, live)
      assert.deepStrictEqual(
        requests.map(({ operation, route, status }) => [operation, route, status]),
        [
          ["cancel_quote_request", "/v1/quote-requests/{id}/cancel", 429],
          [null, "*", 429]
        ]
      )
      assert.strictEqual(refused.status, 429)
      // Callers with no key or a wrong one learn no more than before.
      for (const key of [null, "wrong"]) {
        const error = yield* Effect.flip(
          Pipeline.refuseUnrouted({
            request_id: requestId,
            credentials: { ...credentials, key },
            transport: unknownPath
          })
        )
        assert.strictEqual(error._tag, "not_found")
      }
    }),
    standard
  )
})

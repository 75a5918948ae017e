import { assert, describe, it } from "@effect/vitest"
import { Ids } from "@quotewire/core"
import { Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"

/** Identifiers whose random part cycles through these bytes. */
const drawnFrom = (bytes: ReadonlyArray<number>) => {
  let drawn = 0
  const next = () => bytes[drawn++ % bytes.length] ?? 0
  const random = SecureRandom.make((size) => Uint8Array.from({ length: size }, next))
  return Layer.provide(Ids.Ids.layer, Layer.succeed(SecureRandom.SecureRandom, random))
}

const isRequestId = Schema.is(Ids.QuoteRequestId)

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

/** The time in an identifier, in milliseconds. */
const timeOf = (id: string): number =>
  Array.from(id.slice("qreq_".length, "qreq_".length + 10)).reduce(
    (sum, digit) => sum * 32 + alphabet.indexOf(digit),
    0
  )

/** Bytes that often exhaust the random part, so that the next identifier needs a later millisecond. */
const bytes = fc.array(fc.oneof(fc.constant(31), fc.constant(255), fc.nat(255)), { minLength: 1, maxLength: 40 })

describe("identifiers", () => {
  it.effect("are valid and sorted by creation within a process, even if the clock jumps", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(bytes, fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 60 }), (drawn, steps) =>
          Effect.runPromise(
            Effect.gen(function* () {
              const { quote_request } = yield* Ids.Ids
              const start = 1_700_000_000_000
              let now = start
              let last = ""
              for (const step of steps) {
                now += step
                yield* TestClock.setTime(now)
                const id = quote_request()
                assert.isTrue(isRequestId(id), id)
                assert.isAbove(Number(id > last), 0, `${id} after ${last}`)
                assert.isAtLeast(timeOf(id), now)
                last = id
              }
            }).pipe(Effect.provide(drawnFrom(drawn)), Effect.provide(TestClock.layer()))
          )
        ),
        { numRuns: 500 }
      )
    )
  )

  it.effect("differ between processes that start in the same millisecond", () =>
    Effect.gen(function* () {
      const draw = Effect.map(Ids.Ids, ({ quote_request }) => quote_request())
      const layer = Layer.provide(Ids.Ids.layer, SecureRandom.layerWebCrypto)
      const ids = yield* Effect.all([Effect.provide(draw, layer), Effect.provide(draw, layer)])
      assert.notStrictEqual(ids[0].slice(-16), ids[1].slice(-16))
    })
  )
})

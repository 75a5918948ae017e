import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { CarrierRefresh } from "../../src/carriers/Carrier.ts"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import { defineCarrier } from "../../src/carriers/defineCarrier.ts"
import * as Reply from "../../src/carriers/Reply.ts"
import { dollars } from "../../src/wire/Money.ts"
import * as FakeCarrier from "../carriers/fakeCarrier.ts"
import { onRecord } from "../carriers/onRecord.ts"
import { live, pass, read, start, testInWorld, work } from "../support/world.ts"
import { carriers, offer, offers, prompt } from "./carriers.ts"
import { answers, Priced, thrown, withCode } from "./failing.ts"

const refreshed = (changes: Parameters<typeof offer>[0]): CarrierRefresh => ({
  kind: "offer",
  reason: "price_updated",
  offer: offer(changes)
})
const updated = refreshed({ premium: dollars(130) })

/** A way in which a refresh fails, its recorded reason, and whether it is retried. */
type FailingRefresh = readonly [string, () => Effect.Effect<CarrierRefresh>, reason: string | null, again: boolean]

const refreshes: ReadonlyArray<FailingRefresh> = [
  ["throws a TypeError", thrown(new TypeError("no")), "carrier_error", false],
  ["ends with a defect", () => Effect.die("no"), "carrier_error", false],
  [
    "throws an InvalidMoney",
    () => Effect.sync(() => refreshed({ premium: dollars(10 / 3) })),
    "unreadable_answer",
    false
  ],
  ["offers a term of five months", () => Effect.succeed(refreshed({ term_months: 5 })), "unreadable_answer", false],
  ["returns no reply", () => Effect.succeed(JSON.parse("{}")), "unreadable_answer", false],
  [
    "reports an unreadable answer",
    () => Effect.succeed(Reply.unavailable("unreadable_answer")),
    "unreadable_answer",
    false
  ],
  ["reports a permanent failure", () => Effect.succeed(Reply.failed("maintenance")), "maintenance", false],
  ["never answers", () => Effect.never, "timeout", true],
  ["reports a timeout", () => Effect.succeed(Reply.unavailable("timeout")), "timeout", true],
  ["reports a carrier error", () => Effect.succeed(Reply.unavailable("carrier_error")), "carrier_error", true],
  ["reports a rate limit", () => Effect.succeed(Reply.unavailable("rate_limited", 5_000)), "rate_limited", true],
  ["reports that the carrier is closed", () => Effect.succeed(Reply.unavailable("maintenance")), "maintenance", true],
  ["loses the connection in a custom client", withCode("ECONNRESET"), "carrier_error", true],
  [
    "throws its own timeout error",
    thrown(Object.assign(new Error("no"), { name: "TimeoutError" })),
    "carrier_error",
    true
  ]
]

/** A live quote whose offer was due for a refresh after a minute, once the refresh and a retry are over. */
const versionAfterRefresh = Effect.gen(function* () {
  yield* work
  const { id } = yield* start({}, live)
  for (let seconds = 0; seconds < 180; seconds += 10) yield* pass(10_000)
  const { quotes } = yield* read(id, live)
  return quotes.map(({ price, version }) => [version, price.premium?.amount_minor])
})

/** The recorded failed refreshes. */
const failedRefreshes = Effect.map(onRecord(), (exchanges) =>
  exchanges.filter(({ exchange }) => exchange === "refresh").map(({ attempt, reason }) => [attempt, reason])
)

describe("a refresh", () => {
  for (const [what, refresh, reason, again] of refreshes) {
    testInWorld(`${again ? "is retried" : "leaves the quote unchanged"} if the adapter ${what}`, () => {
      let count = 0
      const scripted = prompt("looks", offers(offer({ refresh_after_ms: 60_000 })), {
        rest: { refresh: () => (++count === 1 ? refresh() : Effect.succeed(updated)) }
      })
      return {
        ...carriers(scripted),
        body: Effect.gen(function* () {
          assert.deepStrictEqual(yield* versionAfterRefresh, [again ? [2, 13_000] : [1, 12_000]])
          assert.deepStrictEqual(yield* failedRefreshes, [[1, reason]])
          assert.strictEqual(count, again ? 2 : 1)
        })
      }
    })
  }
})

describe("a refresh over HTTP", () => {
  for (const [what, script, polled] of answers) {
    const again = polled === null

    const acme = defineCarrier({
      id: "naic:12345",
      name: "Acme Mutual",
      lines: { renters: { states: ["NY"], attempt_timeout_ms: 5_000 } },
      http: { base_url: "https://api.acme.example" },
      ask: () => Reply.offers([{ offer_ref: "1", premium: dollars(120), term_months: 12, refresh_after_ms: 60_000 }]),
      refresh: async ({ http }) => {
        const { premium } = (await http.get("/quotes")).json(Priced)
        return Reply.refreshed("price_updated", { offer_ref: "1", premium, term_months: 12 })
      }
    })
    testInWorld(`${again ? "is retried" : "leaves the quote unchanged"} if it gets ${what}`, () => {
      let fails = true
      const { client } = FakeCarrier.make((got, count) =>
        fails ? script(got, count) : FakeCarrier.json({ premium: "130.00" })
      )
      return {
        carriers: [acme],
        body: Effect.provideService(
          Effect.gen(function* () {
            yield* Effect.forkChild(
              Effect.andThen(
                Effect.sleep(80_000),
                Effect.sync(() => (fails = false))
              )
            )
            assert.deepStrictEqual(yield* versionAfterRefresh, [again ? [2, 13_000] : [1, 12_000]])
            assert.lengthOf(yield* failedRefreshes, 1)
          }),
          CarrierTransport,
          client
        )
      }
    })
  }
})

import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { CarrierAdapter } from "../../src/carriers/Carrier.ts"
import { Quotes } from "../../src/quoting/Quotes.ts"
import { dayMs, fromMillis } from "../../src/wire/Timestamp.ts"
import { type Character, carriers, offer, offers, prompt } from "../quoting/carriers.ts"
import { logOf, single } from "../quoting/log.ts"
import { beginning, live, pass, read, start, testInWorld, work } from "../support/world.ts"

const own = "https://carrier.example/offers/1"

/** A carrier whose offer has its own page, or none. */
const giving = (handoff: NonNullable<CarrierAdapter["handoff"]>, handoff_url: string | null = own, more?: Character) =>
  prompt("gives", offers(offer({ handoff_url, expires_at: null })), { ...more, rest: { handoff } })

const quoted = Effect.gen(function* () {
  const stop = yield* work
  const { id } = yield* start({}, live)
  yield* pass(10)
  const [quote] = (yield* read(id, live)).quotes
  // No runner: a click does not need one, and it would look for work every second of a simulated day.
  yield* stop
  const action = quote?.next_actions.find(({ type }) => type === "continue_on_carrier_site")
  return { id, token: action === undefined ? null : String(action.redirect_path).replace("/go/", "") }
})

const click = Effect.fnUntraced(function* (token: string | null) {
  const there = yield* Effect.flatMap(Quotes, (quotes) => quotes.go(token ?? assert.fail("The quote has no link")))
  return there._tag === "page" ? `${there.status}` : there.url
})

describe("a handoff link", () => {
  testInWorld("is requested from the carrier for each click, even if the offer has no page", () => {
    const clicks: Array<string> = []
    const fresh = giving(
      (ask, offerRef) =>
        Effect.sync(() => {
          clicks.push(`${offerRef} ${ask.idempotency_key}`)
          return `https://carrier.example/resume?session=${clicks.length}`
        }),
      null
    )
    return {
      ...carriers(fresh),
      body: Effect.gen(function* () {
        const { token } = yield* quoted
        assert.strictEqual(yield* click(token), "https://carrier.example/resume?session=1")
        yield* pass(dayMs)
        assert.strictEqual(yield* click(token), "https://carrier.example/resume?session=2")
        const key = fresh.asks[0]?.ask.idempotency_key
        assert.deepStrictEqual(clicks, [`offer-1 ${key}`, `offer-1 ${key}`])
      })
    }
  })

  testInWorld(
    "leads to a 404 if the carrier says that the person cannot continue, even if the offer has a page",
    Effect.gen(function* () {
      assert.strictEqual(yield* click((yield* quoted).token), "404")
    }),
    carriers(giving(() => Effect.succeed(null)))
  )

  const failures: ReadonlyArray<readonly [string, NonNullable<CarrierAdapter["handoff"]>, string]> = [
    [
      "cannot be created because the adapter throws",
      () => {
        throw new RangeError("no")
      },
      "A carrier's adapter failed"
    ],
    ["arrives too late", () => Effect.never, "A carrier did not return a handoff link in time"],
    [
      "leads to a foreign host",
      () => Effect.succeed("https://elsewhere.example/1"),
      "Dropped a carrier's answer that breaks the rules"
    ],
    [
      "leads to a page without https",
      () => Effect.succeed("http://carrier.example/1"),
      "Dropped a carrier's answer that breaks the rules"
    ]
  ]
  for (const [how, handoff, line] of failures) {
    for (const [page, expected] of [
      [own, own],
      [null, "404"]
    ] as const) {
      testInWorld(
        `causes a log entry if it ${how}, and ${page === null ? "the click gets a 404" : "the offer's own page opens"}`,
        Effect.gen(function* () {
          const { id, token } = yield* quoted
          const lines = yield* logOf(
            Effect.gen(function* () {
              const clicked = yield* Effect.forkChild(click(token))
              yield* pass(3_000)
              assert.strictEqual(yield* Fiber.join(clicked), expected)
            })
          )
          assert.deepInclude(single(lines, line).annotations, { carrier_id: "gives", quote_request_id: id })
        }),
        carriers(giving(handoff, page, { attempt_timeout_ms: 3_000 }))
      )
    }
  }

  testInWorld("is not requested during maintenance", () => {
    const closing = giving(() => Effect.die("must not be called"), own, {
      maintenance: [{ from: fromMillis(beginning + 60_000), until: fromMillis(beginning + 120_000) }]
    })
    return {
      ...carriers(closing),
      body: Effect.gen(function* () {
        const { token } = yield* quoted
        yield* pass(60_000)
        const lines = yield* logOf(Effect.map(click(token), (url) => assert.strictEqual(url, own)))
        assert.deepStrictEqual(lines, [])
      })
    }
  })
})

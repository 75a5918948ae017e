import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Access } from "../../src/access/Access.ts"
import { findQuoteRequests, getTimeline, readExchanges } from "../../src/operators/QuoteRequestOperations.ts"
import { World } from "../../src/testing/World.ts"
import { carrier, carriers, declined, offers, prompt } from "../quoting/carriers.ts"
import { live, pass, refusal, start, testInWorld, work } from "../support/world.ts"
import { callWith, tokenOf } from "./support.ts"

/** Reads every page. */
const findAll = Effect.fnUntraced(function* (token: string, filters: object) {
  const ids: Array<string> = []
  let cursor: string | null = null
  let pages = 0
  do {
    const input: object = { ...filters, ...(cursor !== null && { cursor }) }
    const page: {
      readonly quote_requests: ReadonlyArray<{ readonly id: string }>
      readonly next_cursor: string | null
    } = yield* callWith(token, findQuoteRequests, input)
    ids.push(...page.quote_requests.map(({ id }) => id))
    cursor = page.next_cursor
    assert.isBelow(++pages, 100)
  } while (cursor !== null)
  return ids
})

/** Starts requests in both environments of two organizations in turn. Returns them oldest first. */
const startMany = Effect.gen(function* () {
  const access = yield* Access
  const { keys } = yield* World
  const other = yield* access.createOrganization("Other")
  const keyOf = (environment: "sandbox" | "live") =>
    Effect.map(access.createKey({ organization_id: other.id, environment, kind: "server" }), ({ key }) => key)
  const all = [keys.sandbox.server, keys.live.server, yield* keyOf("sandbox"), yield* keyOf("live")]
  const started: Array<{ readonly id: string; readonly place: number }> = []
  for (let i = 0; i < 40; i++) {
    // Distributed unevenly, so that the workspaces' pages do not end together.
    const place = ((i * i) % 7) % 4
    const { id } = yield* start({}, { key: all[place] ?? null })
    started.push({ id, place })
  }
  return { started: started.toReversed(), other }
})

describe("an operator's search for quote requests", () => {
  testInWorld(
    "finds each request of all organizations once, newest first, with pages of any size",
    Effect.gen(function* () {
      const { token } = yield* tokenOf()
      const { other, started } = yield* startMany
      const { organization } = yield* World
      const idsAt = (...places: ReadonlyArray<number>) =>
        started.filter(({ place }) => places.includes(place)).map(({ id }) => id)
      for (const limit of [1, 3, 7, 100]) {
        assert.deepStrictEqual(yield* findAll(token, { limit }), idsAt(0, 1, 2, 3), `pages of ${limit}`)
        assert.deepStrictEqual(yield* findAll(token, { limit, environment: "live" }), idsAt(1, 3))
        assert.deepStrictEqual(yield* findAll(token, { limit, organization_id: other.id }), idsAt(2, 3))
        const one = { limit, organization_id: organization.id, environment: "sandbox" }
        assert.deepStrictEqual(yield* findAll(token, one), idsAt(0))
        assert.deepStrictEqual(yield* findAll(token, { limit, reason: "queued" }), idsAt(0, 1, 2, 3))
      }
      const limited = yield* tokenOf({ organization_id: other.id })
      assert.deepStrictEqual(yield* findAll(limited.token, { limit: 3 }), idsAt(2, 3))
    })
  )

  testInWorld(
    "finds a request by its id or a part of the id",
    Effect.gen(function* () {
      const { token } = yield* tokenOf()
      const { started } = yield* startMany
      const [first] = started
      const id = first?.id ?? assert.fail("nothing started")
      assert.deepStrictEqual(yield* findAll(token, { id }), [id])
      assert.deepStrictEqual(yield* findAll(token, { id: id.slice(-12) }), [id])
      assert.deepStrictEqual(yield* findAll(token, { id: `qreq_${"7".repeat(26)}` }), [])
    })
  )

  testInWorld(
    "shows which requests ended without a quote, and why",
    Effect.gen(function* () {
      const { token } = yield* tokenOf()
      yield* work
      const quoted = yield* start({ line: "renters" }, live)
      const without = yield* start({ line: "pet" }, live)
      yield* pass(5)
      const { quote_requests } = yield* callWith(token, findQuoteRequests, { ended: "without_quotes" })
      assert.deepStrictEqual(
        quote_requests.map(({ carriers, id, reason }) => [id, reason, carriers]),
        [
          [
            without.id,
            "no_offers",
            [
              { carrier_id: "acme", outcome: "declined", reason: "prior_claims" },
              { carrier_id: "other", outcome: "declined", reason: "prior_claims" }
            ]
          ]
        ]
      )
      const byCarrier = yield* findAll(token, { carrier_outcome: "quoted" })
      assert.deepStrictEqual(byCarrier, [quoted.id])
    }),
    carriers(
      carrier("acme", ({ line }) => Effect.succeed(line === "renters" ? offers() : declined)),
      prompt("other", declined)
    )
  )

  testInWorld(
    "rejects a cursor that was issued for different filters",
    Effect.gen(function* () {
      const { token } = yield* tokenOf()
      yield* startMany
      const { next_cursor } = yield* callWith(token, findQuoteRequests, { limit: 2 })
      const elsewhere = yield* refusal(
        callWith(token, findQuoteRequests, { limit: 2, environment: "live", cursor: next_cursor })
      )
      assert.strictEqual(elsewhere._tag, "invalid_cursor")
      const wrong = yield* refusal(callWith(token, findQuoteRequests, { status: "lost", id: "x" }))
      assert.deepStrictEqual(
        wrong.field_errors?.map(({ path }) => path),
        ["status", "id"]
      )
    })
  )
})

describe("the operators' timeline", () => {
  const worded = { ...declined, message: "Not for Jane Doe." }

  testInWorld(
    "does not contain a carrier's text",
    Effect.gen(function* () {
      const { token } = yield* tokenOf()
      yield* work
      const { id } = yield* start({}, live)
      yield* pass(5)
      const { entries } = yield* callWith(token, getTimeline, { id })
      assert.include(
        entries.map(({ what }) => what),
        "outcome"
      )
      assert.notInclude(JSON.stringify(entries), "Jane")
      assert.include(JSON.stringify(yield* callWith(token, readExchanges, { id })), "Jane")
    }),
    carriers(prompt("acme", worded))
  )
})

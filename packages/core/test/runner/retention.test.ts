import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { kinds } from "../../src/kinds.ts"
import { Retention } from "../../src/runner/Retention.ts"
import { type Erasure, Storage } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { advance, feed, getQuote, list, pass, read, refusal, start, startOf, testInWorld } from "../support/world.ts"

const day = 86_400

const hourMs = 3_600_000

const makeSweeps = () => {
  /** How often the feed of each workspace was swept, and the workspace whose erasures fail. */
  const swept = new Map<string, number>()
  const sick: { id: string | null } = { id: null }
  const sweeps = {
    around: (storage: Storage["Service"]) => ({
      ...storage,
      erase: (erasure: Erasure) =>
        Effect.suspend(() => {
          const { what, workspace_id } = erasure
          if (workspace_id === sick.id) return Effect.die("a statement is refused")
          if (what === "events") swept.set(workspace_id, (swept.get(workspace_id) ?? 0) + 1)
          return storage.erase(erasure)
        })
    })
  }
  return { swept, sick, sweeps }
}

/** The number of records of a kind in the world's workspace. */
const count = Effect.fnUntraced(function* (kind: string, environment: "sandbox" | "live" = "sandbox") {
  const storage = yield* Storage
  const { organization } = yield* World
  const workspace_id = organization.workspaces[environment]
  const { records } = yield* storage.page({ workspace_id, kind, order: "oldest", after: null, limit: 10_000 })
  return records.length
})

const counts = Effect.map(
  Effect.forEach(
    kinds.all.filter(({ survives_reset }) => !survives_reset).map(({ name }) => name),
    (kind) => Effect.map(count(kind), (records) => [kind, records] as const)
  ),
  (all): Readonly<Record<string, number>> => Object.fromEntries(all)
)

describe("retention", () => {
  testInWorld(
    "erases facts 32 days after the start, but keeps the request and its quotes",
    Effect.gen(function* () {
      const { id } = yield* start({ line: "personal_auto" })
      yield* advance(32 * day)
      assert.strictEqual(yield* count("application"), 1)
      yield* advance(1)
      assert.strictEqual(yield* count("application"), 0)
      const { quote_request, quotes } = yield* read(id)
      assert.strictEqual(quote_request.status, "completed")
      assert.isNotEmpty(quotes)
      assert.strictEqual((yield* getQuote(quotes[0]?.id ?? "", 1)).version, 1)
    })
  )

  testInWorld(
    "does not erase facts while a carrier's question is open",
    Effect.gen(function* () {
      const { id } = yield* start({ scenario: "action_required" })
      yield* advance(day)
      assert.strictEqual((yield* read(id)).quote_request.status, "action_required")
      assert.strictEqual(yield* count("application"), 1)
    })
  )

  testInWorld(
    "erases a request, its quotes and its request_key after thirteen months",
    Effect.gen(function* () {
      const input = startOf({ request_key: "mine" })
      const { id } = yield* start(input)
      yield* advance(365 * day)
      const { quotes } = yield* read(id)
      assert.strictEqual((yield* start(input)).id, id)
      yield* advance(30 * day)
      yield* advance(1)
      assert.strictEqual((yield* refusal(read(id)))._tag, "not_found")
      assert.strictEqual((yield* refusal(getQuote(quotes[0]?.id ?? "")))._tag, "not_found")
      assert.deepStrictEqual((yield* list()).quote_requests, [])
      assert.notStrictEqual((yield* start(input)).id, id)
    })
  )

  testInWorld(
    "keeps the amount of data constant over years of steady use",
    Effect.gen(function* () {
      const year = Effect.gen(function* () {
        for (const line of ["personal_auto", "renters", "pet"] as const) yield* start({ line })
        yield* start({ scenario: "action_required" })
        yield* advance(200 * day)
        yield* advance(200 * day)
        return { records: yield* counts, events: (yield* feed()).length }
      })
      const withoutConsents = Effect.map(year, ({ records: { consent: _, ...records }, events }) => ({
        records,
        events
      }))
      yield* year
      const before = yield* withoutConsents
      for (let i = 0; i < 5; i++) assert.deepStrictEqual(yield* withoutConsents, before)
      // Consents are kept for five years, which is about four and a half of these 400-day periods.
      assert.strictEqual((yield* counts).consent, 4 * 4)
      assert.deepStrictEqual(before.records, {
        circuit_note: 0,
        delivery: 0,
        endpoint_health: 0,
        parked_event: 0,
        recovery: 0,
        erasure: 0,
        request_key: 0,
        application: 0,
        begun_ask: 0,
        carrier_reference: 0,
        early_callback: 0,
        exchange: 0,
        mailbox: 0,
        offer: 0,
        quote_request: 0,
        quote: 0
      })
      assert.strictEqual(before.events, 0)
      // The advances of the last thirteen months, which may still be retried.
      assert.strictEqual(yield* count("advance"), 2)
    })
  )

  testInWorld(
    "sweeps a workspace completely within an hour, even in several batches",
    Effect.gen(function* () {
      const live = { environment: "live" } as const
      for (let i = 0; i < 1_100; i++) yield* start({}, live)
      yield* pass(30 * day * 1_000)
      const retention = yield* Retention
      yield* Effect.forkScoped(retention.forever)
      assert.lengthOf(yield* feed(live), 1_100)
      yield* pass(hourMs)
      assert.lengthOf(yield* feed(live), 0)
      assert.strictEqual(yield* count("application", "live"), 1_100)
      yield* pass(2 * day * 1_000)
      assert.strictEqual(yield* count("application", "live"), 0)
      assert.strictEqual(yield* count("quote_request", "live"), 1_100)
    })
  )

  testInWorld("sweeps each workspace once an hour, on only one of several hosts", () => {
    const { swept, sweeps } = makeSweeps()
    return {
      ...sweeps,
      body: Effect.gen(function* () {
        const { forever } = yield* Retention
        for (let host = 0; host < 3; host++) yield* Effect.forkScoped(forever)
        swept.clear()
        yield* pass(2 * hourMs - 1)
        const { workspaces } = (yield* World).organization
        assert.deepStrictEqual(swept, new Map([workspaces.sandbox, workspaces.live].map((id) => [id, 2])))
      })
    }
  })

  testInWorld("sweeps the remaining workspaces if the sweep of one workspace fails", () => {
    const { swept, sick, sweeps } = makeSweeps()
    return {
      ...sweeps,
      body: Effect.gen(function* () {
        const { workspaces } = (yield* World).organization
        yield* Effect.forkScoped((yield* Retention).forever)
        // A millisecond less than an hour, so that no workspace's minute comes twice.
        yield* pass(hourMs - 1)
        for (const [id, other] of [
          [workspaces.sandbox, workspaces.live],
          [workspaces.live, workspaces.sandbox]
        ] as const) {
          sick.id = id
          swept.clear()
          yield* pass(hourMs)
          assert.deepStrictEqual(swept, new Map([[other, 1]]))
        }
      })
    }
  })
})

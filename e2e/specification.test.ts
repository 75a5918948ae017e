import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Host } from "./host.ts"
import { onEveryHost } from "./hosts.ts"
import type { Answer, Keys } from "./support/Call.ts"
import { advance, askUntil, startRequest } from "./support/subscriber.ts"

/*
 * What the specification describes chapter by chapter and no other journey covers: a client that follows it literally
 * reaches its end on every host.
 */

const newKeys = Effect.flatMap(Host, (host) => host.newOrganization)
const call = (keys: Keys, operation: string, input: object = {}, options = {}) =>
  Effect.flatMap(Host, (host) => host.call(keys, operation, input, options))

/** Reads a list to its end by `next_cursor`, this many items at a time. */
const readAll = Effect.fnUntraced(function* (keys: Keys, operation: string, field: string, input: object) {
  const pages: Array<number> = []
  const all: Array<Answer["body"]> = []
  let cursor: string | null = null
  do {
    const { body, status }: Answer = yield* call(keys, operation, { ...input, ...(cursor !== null && { cursor }) })
    assert.strictEqual(status, 200, JSON.stringify(body))
    pages.push(body[field].length)
    all.push(...body[field])
    cursor = body.next_cursor
  } while (cursor !== null)
  return { all, pages }
})

/** Reads the feed until a page is empty; its cursor is where to continue. */
const readFeed = Effect.fnUntraced(function* (keys: Keys, limit: number) {
  const all: Array<Answer["body"]> = []
  let cursor: string | null = null
  while (true) {
    const { body }: Answer = yield* call(keys, "list_events", { limit, ...(cursor !== null && { cursor }) })
    cursor = body.next_cursor
    if (body.events.length === 0) return { all, cursor }
    all.push(...body.events)
  }
})

onEveryHost("the specification", (it) => {
  it.effect(
    "a client can list quote requests by every filter, newest first, and only with the list's own cursors",
    () =>
      Effect.gen(function* () {
        const keys = yield* newKeys
        const ids: Array<string> = []
        for (let count = 0; count < 3; count++) {
          ids.unshift(yield* startRequest(keys))
          yield* advance(keys, 60)
        }
        const waiting = yield* startRequest(keys, { scenario: "waits_in_queue" })
        // All requests, newest first.
        const { all } = yield* readAll(keys, "list_quote_requests", "quote_requests", { limit: 2 })
        assert.deepStrictEqual(
          all.map(({ id }) => id),
          [waiting, ...ids]
        )
        // Each filter, and what it finds.
        const [newest, second] = all
        const between = new Date((Date.parse(newest.created_at) + Date.parse(second.created_at)) / 2).toISOString()
        const filters: ReadonlyArray<readonly [object, ReadonlyArray<string>]> = [
          [{ status: "in_progress" }, [waiting]],
          [{ status: "completed" }, ids],
          [{ line: "pet" }, []],
          [{ line: "renters", status: "failed" }, []],
          [{ created_after: between }, [waiting]],
          [{ created_before: between }, ids],
          [{ updated_since: newest.updated_at }, [waiting]]
        ]
        for (const [filter, expected] of filters) {
          const found = yield* readAll(keys, "list_quote_requests", "quote_requests", { ...filter, limit: 100 })
          assert.deepStrictEqual(
            found.all.map(({ id }) => id),
            [...expected],
            JSON.stringify(filter)
          )
        }
        // A cursor from one list is rejected by another, and so are invalid limits.
        const { body } = yield* call(keys, "list_quote_requests", { limit: 1 })
        const foreign = yield* call(keys, "list_events", { cursor: body.next_cursor })
        assert.deepStrictEqual([foreign.status, foreign.body.error.code], [400, "invalid_cursor"])
        for (const limit of [0, 101]) {
          const refused = yield* call(keys, "list_quote_requests", { limit })
          assert.deepStrictEqual([refused.status, refused.body.error.field_errors[0].path], [422, "limit"])
        }
      })
  )

  it.effect("a client can read every version of a quote that was forced to expire", () =>
    Effect.gen(function* () {
      const keys = yield* newKeys
      const id = yield* startRequest(keys, { scenario: "single_quote" })
      yield* advance(keys, 60)
      const read = yield* call(keys, "get_quote_request", { id })
      const [quote] = read.body.quotes
      assert.deepStrictEqual([quote.version, quote.status, quote.quote_request_id], [1, "active", id])
      const expired = yield* call(keys, "force_expiry")
      assert.strictEqual(expired.body.control, "force_expiry")
      assert.isNotNull(expired.body.workspace.quotes_expired_at)
      const latest = yield* call(keys, "get_quote", { id: quote.id })
      assert.deepStrictEqual(
        [latest.body.version, latest.body.status, latest.body.status_details.reason],
        [2, "inactive", "expired"]
      )
      assert.notInclude(JSON.stringify(latest.body.next_actions), "continue_on_carrier_site")
      assert.deepStrictEqual((yield* call(keys, "get_quote", { id: quote.id, version: 1 })).body, quote)
      assert.strictEqual((yield* call(keys, "get_quote", { id: quote.id, version: 3 })).status, 404)
      assert.strictEqual((yield* call(keys, "get_quote", { id: quote.id, version: 0 })).status, 422)
      const { all } = yield* readFeed(keys, 3)
      const last = all.at(-1)
      assert.deepStrictEqual([last.type, last.resource], ["quote.expired", { type: "quote", id: quote.id, version: 2 }])
    })
  )

  it.effect("a client pages through the feed to an empty page, and resumes later", () =>
    Effect.gen(function* () {
      const keys = yield* newKeys
      const empty = yield* call(keys, "list_events")
      assert.deepStrictEqual(empty.body.events, [])
      assert.isString(empty.body.next_cursor)
      yield* startRequest(keys)
      yield* advance(keys, 60)
      const { all, cursor } = yield* readFeed(keys, 3)
      assert.lengthOf(all, 8)
      assert.deepStrictEqual((yield* call(keys, "list_events", { cursor: empty.body.next_cursor })).body.events, all)
      yield* startRequest(keys)
      const later = yield* call(keys, "list_events", { cursor })
      assert.deepStrictEqual(
        later.body.events.map(({ type }: { readonly type: string }) => type),
        ["quote_request.queued"]
      )
      const altered = yield* call(keys, "list_events", { cursor: `${cursor}x` })
      assert.deepStrictEqual([altered.status, altered.body.error.code], [400, "invalid_cursor"])
    })
  )

  it.effect("a client can have at most ten active subscriptions, and can replace a disabled subscription", () =>
    Effect.gen(function* () {
      const keys = yield* newKeys
      const create = (event_types: ReadonlyArray<string> = ["quote.created"]) =>
        call(keys, "create_event_subscription", { url: "http://127.0.0.1:4711/hook", event_types })
      const made = yield* Effect.forEach(Array.from({ length: 10 }), () => create())
      const eleventh = yield* create()
      assert.deepStrictEqual(
        [eleventh.status, eleventh.body.error.code, eleventh.body.error.retry_action.type],
        [409, "conflict", "none"]
      )
      assert.include(eleventh.body.error.message, "10")
      yield* call(keys, "disable_event_subscription", { id: made[0]?.body.id })
      assert.strictEqual((yield* create(["purchase.completed", "quote_request.incomplete"])).status, 201)
      for (const [event_types, path] of [
        [["webhook.test"], "event_types.0"],
        [["quote.created", "quote.invented"], "event_types.1"],
        [[], "event_types"]
      ] as const) {
        const refused = yield* create(event_types)
        assert.deepStrictEqual([refused.status, refused.body.error.field_errors[0].path], [422, path])
      }
      const { all, pages } = yield* readAll(keys, "list_event_subscriptions", "event_subscriptions", { limit: 4 })
      assert.deepStrictEqual(pages, [4, 4, 3])
      assert.isTrue(all.every(({ signing_secret }) => signing_secret === null))
      const widget = yield* call(keys, "list_event_subscriptions", {}, { key: keys.widget })
      assert.strictEqual(widget.status, 403)
    })
  )

  it.effect("a client finds its refused calls in the request log", () =>
    Effect.gen(function* () {
      const keys = yield* newKeys
      yield* startRequest(keys)
      const refused = yield* call(keys, "get_quote", { id: "qt_nobody" })
      assert.strictEqual(refused.status, 404)
      const filter = { error_code: "not_found", operation: "get_quote" }
      const log = yield* askUntil(
        Effect.map(call(keys, "list_api_requests", filter), ({ body }) => body.requests),
        (requests) => requests.length > 0
      )
      const [entry] = log
      assert.deepStrictEqual([log.length, entry.request_id], [1, refused.body.request_id])
      assert.deepStrictEqual(
        [entry.operation, entry.error_code, entry.environment],
        ["get_quote", "not_found", "sandbox"]
      )
      const { agent, ...alone } = entry
      assert.isDefined(agent)
      assert.deepStrictEqual((yield* call(keys, "get_api_request", { id: entry.request_id })).body, alone)
      const stranger = yield* newKeys
      assert.strictEqual((yield* call(stranger, "get_api_request", { id: entry.request_id })).status, 404)
      const since = yield* call(keys, "list_api_requests", { ...filter, since: entry.created_at })
      assert.lengthOf(since.body.requests, 1)
      assert.strictEqual((yield* call(keys, "list_api_requests", { since: "yesterday" })).status, 422)
    })
  )

  it.effect("a client can send feedback, but not feedback with personal data", () =>
    Effect.gen(function* () {
      const keys = yield* newKeys
      const report = {
        kind: "unclear_docs",
        summary: "A page says nothing of the last page",
        expected: "To read when a list is over.",
        actual: "It is not said.",
        tried: { operation: "list_events" },
        agent: { name: "a client", version: "1.0" }
      }
      const sent = yield* call(keys, "send_feedback", report)
      assert.deepStrictEqual([sent.status, sent.body.status, sent.body.public_note], [201, "received", null])
      const read = yield* call(keys, "get_feedback", { id: sent.body.feedback_id })
      assert.deepStrictEqual(read.body, sent.body)
      const stranger = yield* newKeys
      assert.strictEqual((yield* call(stranger, "get_feedback", { id: sent.body.feedback_id })).status, 404)
      const personal = yield* call(keys, "send_feedback", { ...report, actual: "It showed 078-05-1120." })
      assert.deepStrictEqual([personal.status, personal.body.error.field_errors[0].path], [422, "actual"])
      assert.notInclude(JSON.stringify(personal.body), "078-05-1120")
      const long = yield* call(keys, "send_feedback", {
        ...report,
        summary: "x".repeat(201),
        expected: "x".repeat(2_001)
      })
      assert.deepStrictEqual(
        long.body.error.field_errors.map(({ path }: { readonly path: string }) => path),
        ["summary", "expected"]
      )
    })
  )

  it.effect("a client selects a listed scenario for its next quote requests", () =>
    Effect.gen(function* () {
      const keys = yield* newKeys
      const { body } = yield* call(keys, "list_sandbox_scenarios")
      const sandbox = yield* call(keys, "get_sandbox")
      assert.strictEqual(body.scenario_catalog_version, sandbox.body.scenario_catalog_version)
      const unknown = yield* call(keys, "select_scenario", { scenario: "all_is_well" })
      const [wrong] = unknown.body.error.field_errors
      assert.deepStrictEqual([unknown.status, wrong.path], [422, "scenario"])
      assert.sameMembers(
        wrong.allowed_values,
        body.scenarios.map(({ name }: { readonly name: string }) => name)
      )
      const chosen = yield* call(keys, "select_scenario", { scenario: "zero_quotes" })
      assert.deepStrictEqual(
        [chosen.body.control, chosen.body.workspace.active_scenario],
        ["select_scenario", "zero_quotes"]
      )
      const id = yield* startRequest(keys)
      const named = yield* startRequest(keys, { scenario: "single_quote" })
      yield* advance(keys, 120)
      const countOf = (request: string) =>
        Effect.map(call(keys, "get_quote_request", { id: request }), (read) => read.body.quotes.length)
      assert.deepStrictEqual([yield* countOf(id), yield* countOf(named)], [0, 1])
      assert.strictEqual((yield* call(keys, "get_sandbox", {}, { key: keys.widget })).status, 403)
    })
  )
})

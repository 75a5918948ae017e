import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as Pipeline from "../../src/calls/Pipeline.ts"
import { World } from "../../src/testing/World.ts"
import { codes } from "../../src/wire/ApiError.ts"
import { RequestId } from "../../src/wire/Ids.ts"
import {
  advance,
  cancel,
  getQuote,
  keyless,
  list,
  noKey,
  pass,
  pathsOf,
  read,
  refusal,
  reset,
  select,
  start,
  stranger,
  testInWorld
} from "../support/world.ts"
import { agentTransport, request, requests } from "./support.ts"

const second = 1_000
const day = 86_400

/** The whole log, in pages of the given size. */
const pages = Effect.fnUntraced(function* (filters: object, limit: number) {
  const ids: Array<string> = []
  let cursor: string | null = null
  do {
    const page: Effect.Success<ReturnType<typeof requests>> = yield* requests({
      ...filters,
      limit,
      ...(cursor !== null && { cursor })
    })
    assert.isAtMost(page.requests.length, limit)
    ids.push(...page.requests.map(({ request_id }) => request_id))
    cursor = page.next_cursor
  } while (cursor !== null)
  return ids
})

/** Operation, status and code of the listed calls. */
const logged = (filters: object = {}) =>
  Effect.map(requests(filters), (page) =>
    page.requests.map(({ error_code, operation, status }) => [operation, status, error_code])
  )

describe("the request log", () => {
  testInWorld(
    "contains every call with a valid key within a second, refused or not, newest first",
    Effect.gen(function* () {
      yield* start()
      yield* refusal(list({}, { as: "widget" }))
      yield* refusal(read("qreq_x"))
      yield* refusal(list({ limit: 0 }))
      yield* refusal(list({ cursor: "x" }))
      yield* refusal(list({}, { revision: "x" }))
      yield* select("zero_quotes", { idempotency_key: "once" })
      yield* refusal(select("quotes_ready", { idempotency_key: "once" }))
      assert.deepStrictEqual(yield* logged(), [])
      yield* pass(second)
      assert.deepStrictEqual(yield* logged(), [
        ["list_api_requests", 200, null],
        ["select_scenario", 409, "conflict"],
        ["select_scenario", 200, null],
        ["list_quote_requests", 400, "invalid_version"],
        ["list_quote_requests", 400, "invalid_cursor"],
        ["list_quote_requests", 422, "invalid_input"],
        ["get_quote_request", 404, "not_found"],
        ["list_quote_requests", 403, "forbidden"],
        ["start_quote_request", 202, null]
      ])
    })
  )

  testInWorld(
    "records a call's arrival time, duration, caller and quote request",
    Effect.gen(function* () {
      const { id } = yield* start({ scenario: "waits_in_queue" })
      const waiting = yield* Effect.forkChild(read(id, { transport: agentTransport }, { wait_seconds: 7 }))
      yield* pass(8 * second)
      const [entry] = (yield* requests({ operation: "get_quote_request" })).requests
      if (entry === undefined) return assert.fail("nothing was logged")
      assert.match(entry.request_id, /^req_/)
      assert.match(entry.key_id, /^key_/)
      const { agent, ...rest } = entry
      assert.deepStrictEqual(rest, {
        request_id: entry.request_id,
        created_at: "2026-11-20T12:00:00.000Z",
        environment: "sandbox",
        key_id: entry.key_id,
        operation: "get_quote_request",
        method: "POST",
        route: "/v1/mcp",
        status: 200,
        error_code: null,
        duration_ms: 7 * second,
        quote_request_id: id,
        quote_id: null
      })
      assert.deepStrictEqual(agent, { client_name: "An agent", client_version: "1.2.3", user_agent: "agent/1" })
      assert.deepStrictEqual(yield* request(entry.request_id), rest)
      assert.strictEqual(waiting.pollUnsafe()?._tag, "Success")
    })
  )

  testInWorld(
    "records which quote request and quote a call created, read or cancelled, and omits malformed ids",
    Effect.gen(function* () {
      const { id } = yield* start()
      yield* advance(60)
      const quoteId = (yield* read(id)).quotes[0]?.id ?? ""
      yield* getQuote(quoteId)
      yield* cancel(id)
      yield* refusal(getQuote("Ada Lovelace"))
      yield* refusal(read("Ada Lovelace"))
      yield* pass(second)
      const { requests: log } = yield* requests()
      assert.notInclude(JSON.stringify(log), "Ada")
      assert.deepStrictEqual(
        log.map((entry) => [entry.operation, entry.route, entry.quote_request_id, entry.quote_id]),
        [
          ["get_quote_request", "/v1/quote-requests/{id}", null, null],
          ["get_quote", "/v1/quotes/{id}", null, null],
          ["cancel_quote_request", "/v1/quote-requests/{id}/cancel", id, null],
          ["get_quote", "/v1/quotes/{id}", id, quoteId],
          ["get_quote_request", "/v1/quote-requests/{id}", id, null],
          ["advance_time", "/v1/sandbox/time", null, null],
          ["start_quote_request", "/v1/quote-requests", id, null]
        ]
      )
    })
  )

  testInWorld(
    "has no entries for callers without a valid key",
    keyless(
      Effect.gen(function* () {
        yield* refusal(list({}, { key: "sandbox_server_wrong" }))
        yield* refusal(read("qreq_x", noKey))
        yield* pass(second)
        assert.deepStrictEqual(yield* logged(), [])
      })
    )
  )

  testInWorld(
    "records the error code of an agent's failed call, even if the HTTP status is 200",
    Effect.gen(function* () {
      yield* refusal(read("qreq_x", { transport: agentTransport }))
      yield* pass(second)
      assert.deepStrictEqual(yield* logged(), [["get_quote_request", 200, "not_found"]])
    })
  )

  testInWorld(
    "contains a request that matched no operation, if its key is valid",
    Effect.gen(function* () {
      const { keys } = yield* World
      const missed = (id: string, key: string | null) =>
        Pipeline.logUnrouted({
          request_id: RequestId.make(id),
          credentials: { key, read_handle: null, address: "127.0.0.1", keyless: false },
          transport: { ...agentTransport, route: "*", status: 404 },
          error_code: "not_found"
        })
      yield* missed("req_01m7zcgg2vadcqrfttazsvk3av", keys.sandbox.server)
      yield* missed("req_01m7zcgg2vadcqrfttazsvk3aw", "sandbox_server_wrong")
      yield* missed("req_01m7zcgg2vadcqrfttazsvk3ax", null)
      yield* pass(second)
      const { requests: log } = yield* requests()
      assert.deepStrictEqual(
        log.map((entry) => [entry.request_id, entry.operation, entry.route, entry.status, entry.error_code]),
        [["req_01m7zcgg2vadcqrfttazsvk3av", null, "*", 404, "not_found"]]
      )
    })
  )

  testInWorld(
    "truncates a client's user agent and name to 200 characters, and removes hidden characters",
    Effect.gen(function* () {
      const transport = {
        ...agentTransport,
        user_agent: "a".repeat(201),
        client_name: "b".repeat(16_000),
        client_version: "1\u0000\ud800\u202e\u{e0041}.2"
      }
      yield* list({}, { transport })
      yield* pass(second)
      assert.deepStrictEqual((yield* requests()).requests[0]?.agent, {
        user_agent: "a".repeat(200),
        client_name: "b".repeat(200),
        client_version: "1 \ufffd.2"
      })
    })
  )

  testInWorld(
    "removes secrets from a client's user agent, name and version",
    Effect.gen(function* () {
      const transport = {
        ...agentTransport,
        user_agent: "app (live_server_0123456789abcdefghijABCDEFGHIJklmnop)",
        client_name: "rh_0123456789abcdef",
        client_version: "1.2 whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
      }
      yield* list({}, { transport })
      yield* pass(second)
      assert.deepStrictEqual((yield* requests()).requests[0]?.agent, {
        user_agent: "app (live_server_…)",
        client_name: "rh_…",
        client_version: "1.2 whsec_…"
      })
    })
  )

  testInWorld(
    "uses real time, and survives a sandbox reset",
    Effect.gen(function* () {
      yield* list()
      yield* advance(365 * day)
      yield* reset()
      yield* advance(3_600)
      yield* pass(second)
      const { requests: log } = yield* requests()
      assert.deepStrictEqual(
        log.map(({ created_at, operation }) => [operation, created_at]),
        ["advance_time", "reset_sandbox", "advance_time", "list_quote_requests"].map((name) => [
          name,
          "2026-11-20T12:00:00.000Z"
        ])
      )
    })
  )

  testInWorld(
    "erases an entry after 30 days of real time",
    Effect.gen(function* () {
      yield* list()
      yield* pass(30 * day * second)
      yield* advance(1)
      yield* pass(second)
      assert.include(JSON.stringify(yield* logged()), "list_quote_requests")
      yield* advance(1)
      yield* pass(second)
      const names = (yield* logged()).map(([name]) => name)
      assert.deepStrictEqual(names, ["advance_time", "list_api_requests", "advance_time"])
    })
  )
})

describe("the list of logged requests", () => {
  const some = Effect.gen(function* () {
    yield* list()
    yield* refusal(read("qreq_x"))
    yield* pass(second)
    yield* refusal(getQuote("qt_x"))
    yield* refusal(list({ limit: 0 }))
    yield* pass(second)
  })

  testInWorld(
    "can be filtered by status, code, operation and time, separately and together",
    Effect.gen(function* () {
      yield* some
      const readQuote = ["get_quote", 404, "not_found"]
      const readRequest = ["get_quote_request", 404, "not_found"]
      assert.deepStrictEqual(yield* logged({ status: 404 }), [readQuote, readRequest])
      assert.deepStrictEqual(yield* logged({ error_code: "not_found" }), [readQuote, readRequest])
      assert.deepStrictEqual(yield* logged({ operation: "get_quote" }), [readQuote])
      assert.deepStrictEqual(yield* logged({ status: 404, since: "2026-11-20T13:00:01+01:00" }), [readQuote])
      assert.deepStrictEqual(yield* logged({ since: "2026-11-20T12:00:02.001Z" }), [])
      assert.deepStrictEqual(yield* logged({ status: 200, operation: "get_quote" }), [])
      assert.deepStrictEqual(yield* logged({ operation: "status:404" }), [])
      for (const error_code of codes) yield* logged({ error_code })
    })
  )

  testInWorld(
    "reports an invalid filter",
    Effect.gen(function* () {
      const wrong = { status: 99, error_code: "gone", since: "2026-11-20T12:00:00", limit: 101, until: "x" }
      assert.sameMembers(pathsOf(yield* refusal(requests(wrong))).slice(), Object.keys(wrong))
    })
  )

  testInWorld(
    "returns every call on exactly one page, although reading the list is also logged",
    Effect.gen(function* () {
      for (let i = 0; i < 25; i++) yield* list()
      yield* pass(second)
      const all = yield* pages({ operation: "list_quote_requests" }, 100)
      assert.lengthOf(all, 25)
      assert.deepStrictEqual(all, all.toSorted().toReversed())
      for (const limit of [1, 7, 25]) {
        assert.deepStrictEqual(yield* pages({ operation: "list_quote_requests" }, limit), all)
        yield* pass(second)
      }
      assert.lengthOf((yield* requests()).requests, 10)
    })
  )

  testInWorld(
    "rejects a cursor with different filters or from a different caller",
    Effect.gen(function* () {
      yield* some
      const first = yield* requests({ limit: 1, status: 404 })
      const cursor = first.next_cursor ?? assert.fail("there is no next page")
      assert.lengthOf((yield* requests({ limit: 1, status: 404, cursor })).requests, 1)
      const { sandbox } = yield* stranger
      const { keys } = yield* World
      const refused = [
        requests({ cursor }),
        requests({ status: 403, cursor }),
        requests({ status: 404, operation: "get_quote", cursor }),
        requests({ status: 404, cursor }, { key: sandbox }),
        requests({ status: 404, cursor }, { key: keys.live.server }),
        requests({ status: 404, cursor: `${cursor}x` })
      ]
      for (const call of refused) assert.strictEqual((yield* refusal(call))._tag, "invalid_cursor")
      assert.strictEqual((yield* refusal(list({ cursor })))._tag, "invalid_cursor")
    })
  )

  testInWorld(
    "shows the calls of all of an organization's keys, but only in the caller's environment",
    Effect.gen(function* () {
      const { sandbox } = yield* stranger
      yield* refusal(list({}, { as: "widget" }))
      yield* list({}, { environment: "live" })
      yield* list({}, { key: sandbox })
      yield* pass(second)
      assert.deepStrictEqual(yield* logged(), [["list_quote_requests", 403, "forbidden"]])
      const [entry] = (yield* requests({}, { environment: "live" })).requests
      assert.strictEqual(entry?.environment, "live")
      assert.strictEqual((yield* refusal(request(entry?.request_id ?? "")))._tag, "not_found")
    })
  )
})

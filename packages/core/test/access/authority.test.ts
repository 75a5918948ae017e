import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { Operation } from "../../src/calls/Operation.ts"
import * as Feedback from "../../src/feedback/FeedbackOperations.ts"
import * as operations from "../../src/operations.ts"
import { type CallOptions, World } from "../../src/testing/World.ts"
import { requests } from "../calls/support.ts"
import {
  advance,
  agreed,
  cancel,
  events,
  getQuote,
  keyless,
  list,
  noKey,
  pass,
  read,
  refusal,
  reset,
  start,
  startOf,
  stranger,
  testInWorld
} from "../support/world.ts"
import { create, deliveries, endpoints, recover } from "../webhooks/support.ts"
import { everyInput } from "./everyInput.ts"

/**
 * The resources that calls name: a request with a quote, a subscription with an event, and a subscription that may
 * be deleted.
 */
interface Named {
  readonly id: string
  readonly quote: string
  readonly subscription: string
  readonly event: string
  readonly other: string
  readonly request: string
  readonly report: string
  readonly recovery: string
}

const nothing: Named = {
  id: "qreq_x",
  quote: "qt_x",
  subscription: "sub_x",
  event: "evt_x",
  other: "sub_x",
  request: "req_x",
  recovery: "rcv_x",
  report: "fb_x"
}

const inputs = new Map<string, object>(Object.entries(everyInput))

const everyone = ["get_capabilities", "start_quote_request", "send_feedback"]
const inWorkspace = ["get_feedback"]
const byHandle = ["get_quote_request", "get_quote", "cancel_quote_request"]
const serverOnly = [
  "get_quote_request_timeline",
  "create_partner_link",
  ...["preview_revisions", "list_quote_requests", "list_events", "list_api_requests", "get_api_request"],
  ...["create_event_subscription", "list_event_subscriptions", "update_event_subscription"],
  ...["disable_event_subscription", "rotate_event_subscription_secret", "send_test_event"],
  ...["list_event_deliveries", "get_event_delivery", "replay_event_delivery", "get_event_subscription_health"],
  ...["preview_event_recovery", "start_event_recovery", "list_event_recoveries", "change_event_recovery"]
]
const sandboxOnly = [
  ...["get_sandbox", "list_sandbox_scenarios", "select_scenario", "advance_time", "force_expiry", "replay_events"],
  "reset_sandbox"
]

/** The outcome of a call: `yes`, or the code of its refusal. */
const verdict = <R>(operation: Operation<string, unknown, unknown, R>, input: object, options: CallOptions) =>
  Effect.flatMap(World, ({ call }) =>
    call(operation, input, options).pipe(
      Effect.as("yes"),
      Effect.catch((error) => Effect.succeed(error._tag))
    )
  )

const inputOf = (name: string, of: Named, as: CallOptions): object => {
  if (name === "start_quote_request") return as.key === null ? agreed() : startOf()
  const input = inputs.get(name) ?? {}
  const text = Object.entries(of).reduce(
    (text, [field, value]) => text.replace(`{${field}}`, value),
    JSON.stringify(input)
  )
  return JSON.parse(text)
}

const rowOf = Effect.fnUntraced(function* (options: CallOptions, of: Named) {
  const row: Record<string, string> = {}
  const all: ReadonlyArray<Operation<string, unknown, unknown, operations.OperationServices>> = operations.operations
  for (const operation of all) {
    row[operation.name] = yield* verdict(operation, inputOf(operation.name, of, options), options)
  }
  return row
})

const expected = (byCall: (name: string) => string) =>
  Object.fromEntries(operations.operations.map(({ name }) => [name, byCall(name)]))

/** Subscriptions that a server key created, and a request that it started afterwards. */
const subscribed = Effect.fnUntraced(function* (options: CallOptions) {
  const { id: subscription } = yield* create({}, options)
  const { id: other } = yield* create({}, options)
  const { id } = yield* start({}, options)
  const event = (yield* deliveries(subscription, {}, options)).deliveries[0]?.event_id ?? ""
  yield* pass(1_000)
  const request = (yield* requests({}, options)).requests[0]?.request_id ?? ""
  const { call } = yield* World
  const { id: recovery } = yield* recover(other, {}, options)
  const { feedback_id: report } = yield* call(Feedback.sendFeedback, everyInput.send_feedback, options)
  return { ...nothing, id, subscription, other, event, request, report, recovery }
})

/** The same in the sandbox, with a quote. */
const another = Effect.gen(function* () {
  const named = yield* subscribed({})
  yield* advance(60)
  return { ...named, quote: (yield* read(named.id)).quotes[0]?.id ?? "" }
})

const webhooks = endpoints().layer

describe("access control", () => {
  testInWorld(
    "is tested for every operation",
    Effect.sync(() =>
      assert.sameMembers(
        [...everyone, ...inWorkspace, ...byHandle, ...serverOnly, ...sandboxOnly],
        operations.operations.map(({ name }) => name)
      )
    )
  )

  testInWorld(
    "lets a sandbox server key do everything",
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* rowOf({}, yield* another),
        expected(() => "yes")
      )
    }),
    { webhooks }
  )

  testInWorld(
    "lets a live server key do everything except control a sandbox",
    Effect.gen(function* () {
      const live = { environment: "live" } as const
      const row = yield* rowOf(live, yield* subscribed(live))
      assert.deepStrictEqual(
        row,
        expected((name) =>
          sandboxOnly.includes(name)
            ? "forbidden"
            : ["get_quote", "preview_revisions"].includes(name)
              ? "not_found"
              : "yes"
        )
      )
    }),
    { webhooks }
  )

  for (const as of ["widget", "platform"] as const) {
    for (const environment of ["sandbox", "live"] as const) {
      testInWorld(
        `lets a ${as} key start a request and read only that request, with its handle (${environment})`,
        Effect.gen(function* () {
          assert.deepStrictEqual(
            yield* rowOf({ as, environment }, yield* another),
            expected((name) => {
              if (everyone.includes(name)) return "yes"
              if (inWorkspace.includes(name)) return environment === "sandbox" ? "yes" : "not_found"
              return byHandle.includes(name) ? "not_found" : "forbidden"
            })
          )
        }),
        { webhooks }
      )
    }
  }

  testInWorld(
    "lets a caller without a key start and read a request, but never cancel it",
    keyless(
      Effect.gen(function* () {
        assert.deepStrictEqual(
          yield* rowOf(noKey, yield* another),
          expected((name) => {
            if (everyone.includes(name) || inWorkspace.includes(name)) return "yes"
            return byHandle.includes(name) && name !== "cancel_quote_request" ? "not_found" : "forbidden"
          })
        )
      })
    ),
    { webhooks }
  )

  testInWorld(
    "refuses callers without a key unless the host admits them",
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* rowOf(noKey, nothing),
        expected(() => "authentication_failed")
      )
    })
  )

  for (const environment of ["sandbox", "live"] as const) {
    testInWorld(
      `hides an organization's data from another organization's server key (${environment})`,
      Effect.gen(function* () {
        const options = { key: (yield* stranger)[environment] }
        const row = yield* rowOf(options, yield* another)
        const isAbout = (name: string) =>
          /\{(id|quote|subscription|other|request|report)\}/.test(JSON.stringify(inputs.get(name) ?? {}))
        assert.deepStrictEqual(
          row,
          expected((name) => {
            if (environment === "live" && sandboxOnly.includes(name)) return "forbidden"
            return isAbout(name) ? "not_found" : "yes"
          })
        )
      }),
      { webhooks }
    )
  }
})

const handleOf = (started: { readonly read_handle?: string }): string => started.read_handle ?? assert.fail("no handle")

describe("a read handle", () => {
  for (const as of ["platform", "widget"] as const) {
    testInWorld(
      `lets a ${as} key read and cancel only the request that the handle was issued for`,
      Effect.gen(function* () {
        const first = yield* start({ scenario: "waits_in_queue" }, { as })
        const second = yield* start({}, { as })
        assert.match(handleOf(first), /^rh_[0-9A-Za-z_-]{27}$/)
        assert.notStrictEqual(handleOf(first), handleOf(second))
        const read_handle = handleOf(second)
        assert.strictEqual((yield* refusal(cancel(first.id, { as, read_handle })))._tag, "not_found")
        assert.strictEqual((yield* cancel(first.id, { as, read_handle: handleOf(first) })).status, "cancelled")
        yield* advance(60)
        const { quotes } = yield* read(second.id, { as, read_handle })
        const quote = quotes[0]?.id ?? ""
        assert.strictEqual((yield* getQuote(quote, undefined, { as, read_handle })).id, quote)
        for (const wrong of [
          {},
          { read_handle: handleOf(first) },
          { read_handle: `${read_handle}x` },
          { read_handle: "" }
        ]) {
          assert.strictEqual((yield* refusal(read(second.id, { as, ...wrong })))._tag, "not_found")
          assert.strictEqual((yield* refusal(getQuote(quote, undefined, { as, ...wrong })))._tag, "not_found")
        }
      })
    )
  }

  testInWorld(
    "expires a day after the first start call, even if a retry returns the handle again",
    Effect.gen(function* () {
      const as = "platform"
      const input = { request_key: "once" }
      const first = yield* start(input, { as })
      assert.strictEqual(first.read_handle_expires_at, "2026-11-21T12:00:00.000Z")
      yield* advance(86_399)
      const repeat = yield* start(input, { as })
      assert.deepStrictEqual(
        [repeat.read_handle, repeat.read_handle_expires_at],
        [first.read_handle, first.read_handle_expires_at]
      )
      const read_handle = handleOf(first)
      yield* read(first.id, { as, read_handle })
      yield* pass(1_000)
      assert.strictEqual((yield* refusal(read(first.id, { as, read_handle })))._tag, "not_found")
    })
  )

  testInWorld(
    "opens a request for a caller without a key",
    keyless(
      Effect.gen(function* () {
        const { call } = yield* World
        const started = yield* call(operations.startQuoteRequest, agreed(), noKey)
        const read_handle = handleOf(started)
        assert.strictEqual((yield* read(started.id, { ...noKey, read_handle })).quote_request.id, started.id)
        assert.strictEqual((yield* refusal(read(started.id, noKey)))._tag, "not_found")
      })
    )
  )

  testInWorld(
    "appears only in the start call's response, and is not valid in another workspace",
    Effect.gen(function* () {
      const as = "platform"
      const started = yield* start({}, { as })
      const read_handle = handleOf(started)
      const server = yield* start()
      assert.notProperty(server, "read_handle")
      const { sandbox } = yield* stranger
      yield* advance(60)
      const bodies = [
        yield* read(started.id),
        yield* read(started.id, { as, read_handle }),
        yield* list(),
        yield* events(),
        yield* getQuote((yield* read(started.id)).quotes[0]?.id ?? "")
      ]
      assert.notInclude(JSON.stringify(bodies), "rh_")
      assert.strictEqual((yield* refusal(read(started.id, { key: sandbox, read_handle })))._tag, "not_found")
    })
  )
})

describe("a workspace", () => {
  testInWorld(
    "is invisible to another workspace's callers, even if they know its ids and cursors",
    Effect.gen(function* () {
      const { sandbox, live } = yield* stranger
      const { id, quote } = yield* another
      yield* start()
      const listed = (yield* list({ limit: 1 })).next_cursor ?? ""
      const cursor = (yield* events()).next_cursor
      for (const key of [sandbox, live, (yield* World).keys.live.server]) {
        assert.strictEqual((yield* refusal(read(id, { key })))._tag, "not_found")
        assert.strictEqual((yield* refusal(getQuote(quote, undefined, { key })))._tag, "not_found")
        assert.strictEqual((yield* refusal(getQuote(quote, 1, { key })))._tag, "not_found")
        assert.strictEqual((yield* refusal(cancel(id, { key })))._tag, "not_found")
        assert.strictEqual((yield* refusal(list({ limit: 1, cursor: listed }, { key })))._tag, "invalid_cursor")
        assert.strictEqual((yield* refusal(events({ cursor: cursor }, { key })))._tag, "invalid_cursor")
        assert.deepStrictEqual((yield* list({}, { key })).quote_requests, [])
        assert.deepStrictEqual((yield* events({}, { key })).events, [])
      }
      yield* reset({ key: sandbox })
      assert.strictEqual((yield* read(id)).quote_request.id, id)
    }),
    { webhooks }
  )

  testInWorld(
    "shares no clock, scenario or idempotency key with another workspace",
    Effect.gen(function* () {
      const { sandbox } = yield* stranger
      const input = startOf()
      const { call } = yield* World
      const ours = yield* call(operations.startQuoteRequest, input)
      yield* advance(3_600, { idempotency_key: "once" })
      yield* call(operations.selectScenario, { scenario: "zero_quotes" }, { idempotency_key: "two" })
      const theirs = yield* call(operations.startQuoteRequest, input, { key: sandbox })
      assert.notStrictEqual(theirs.id, ours.id)
      assert.strictEqual(theirs.created_at, "2026-11-20T12:00:00.000Z")
      assert.isNull(theirs.scenario)
      const moved = yield* advance(60, { key: sandbox, idempotency_key: "once" })
      assert.strictEqual(moved.workspace.clock_offset_seconds, 60)
    })
  )
})

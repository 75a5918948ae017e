import { assert, describe, it } from "@effect/vitest"
import { Allowance, Hints, operations } from "@quotewire/core"
import { ExampleApplications, World } from "@quotewire/core/testing"
import { DateTime, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Agents, layer, toolsCall } from "./support/agents.ts"

const flat = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }

const start = Effect.flatMap(Agents, (agents) =>
  agents.call(
    "start_quote_request",
    { line: "renters", request_key: "k-1", consent_receipt_id: "receipt-0001", application: flat },
    "server"
  )
)

const waiting = Effect.flatMap(Hints.LongPolls, (longPolls) => longPolls.count)

/** Starts a request, and a read that waits for its next change. */
const readWaiting = Effect.gen(function* () {
  const { call } = yield* Agents
  const { id, version } = (yield* start).structuredContent
  const read = yield* Effect.forkChild(call("get_quote_request", { id, since_version: version }, "server"), {
    startImmediately: true
  })
  while ((yield* waiting) === 0) yield* Effect.yieldNow
  return { read, version }
})

const advance = operations.find(
  (one): one is Extract<(typeof operations)[number], { name: "advance_time" }> => one.name === "advance_time"
)

const advanced = Effect.fnUntraced(function* (seconds: number) {
  if (advance === undefined) return assert.fail("advance_time is no operation")
  yield* (yield* World.World).call(advance, { seconds })
})

describe("a tool call that waits for a change", () => {
  it.effect("reports progress as server-sent events if the client asks for progress", () =>
    Effect.gen(function* () {
      const { send } = yield* Agents
      const { id, version } = (yield* start).structuredContent
      const events: Array<unknown> = []
      const get = (accept: string) =>
        send({
          as: "server",
          events,
          headers: { accept },
          message: {
            ...{ jsonrpc: "2.0", id: 7, method: "tools/call" },
            params: {
              name: "get_quote_request",
              arguments: { id, since_version: version },
              _meta: { progressToken: 3 }
            }
          }
        })
      // Every five seconds of waiting are reported, then the result follows.
      const reading = yield* Effect.forkChild(get("application/json, text/event-stream"))
      while ((yield* waiting) === 0) yield* Effect.yieldNow
      for (const told of [1, 2]) {
        yield* TestClock.adjust("5 seconds")
        while (events.length < told) yield* Effect.yieldNow
      }
      yield* advanced(2)
      const { body, status } = yield* Fiber.join(reading)
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(
        body.map(({ id, method, params }: Record<string, Record<string, unknown>>) => [id ?? method, params?.progress]),
        [
          ["notifications/progress", 5],
          ["notifications/progress", 10],
          [7, undefined]
        ]
      )
      // Only a program that accepts events gets them.
      for (const accept of ["application/json", "application/json, text/event-stream;q=0", "text/event-streams"]) {
        assert.strictEqual((yield* get(accept)).body.id, 7)
      }
      assert.strictEqual((yield* get("Text/Event-Stream; q=0.5")).body.at(-1).id, 7)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("reports no progress if the progress token exceeds 256 characters", () =>
    Effect.gen(function* () {
      const { send } = yield* Agents
      const { id } = (yield* start).structuredContent
      const get = (progressToken: string) => {
        const params = { name: "get_quote_request", arguments: { id, wait_seconds: 0 }, _meta: { progressToken } }
        const message = { jsonrpc: "2.0", id: 7, method: "tools/call", params }
        return send({ as: "server", headers: { accept: "text/event-stream" }, message })
      }
      assert.isArray((yield* get("é".repeat(256))).body)
      const { body } = yield* get("é".repeat(257))
      assert.deepStrictEqual([body.id, body.result.isError], [7, false])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("returns when the quote request has changed", () =>
    Effect.gen(function* () {
      const { read, version } = yield* readWaiting
      yield* advanced(1)
      const answer = yield* Fiber.join(read)
      assert.isAbove(answer.structuredContent.quote_request.version, version)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("stops immediately when the caller disconnects", () =>
    Effect.gen(function* () {
      const { read } = yield* readWaiting
      yield* Fiber.interrupt(read)
      assert.strictEqual(yield* waiting, 0)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("returns if a person must act, and tells the model to ask the person", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-11-20T12:00:00Z")))
      const { call } = yield* Agents
      const { structuredContent } = yield* call(
        "start_quote_request",
        {
          line: "personal_auto",
          scenario: "action_required",
          request_key: "asks",
          consent_receipt_id: "receipt-0001",
          application: ExampleApplications.smallest.personal_auto
        },
        "server"
      )
      const { id } = structuredContent
      yield* advanced(6)
      const early = yield* call("get_quote_request", { id, since_version: 99 }, "server")
      assert.strictEqual(early.structuredContent.quote_request.status, "action_required")
      assert.strictEqual(early.structuredContent.summary, early.content[0].text)
      assert.deepStrictEqual(JSON.parse(early.content[1].text), early.structuredContent)
      const { deadline_at } = early.structuredContent.quote_request
      for (const said of [
        "Ask the person",
        "start_quote_request",
        "new request_key",
        "Do not call get_quote_request"
      ]) {
        assert.include(early.content[0].text, said)
      }
      assert.include(early.content[0].text, `read it once more after ${deadline_at}`)
      yield* advanced(60)
      const late = yield* call("get_quote_request", { id }, "server")
      assert.include(late.content[0].text, "Do not call get_quote_request")
      assert.notInclude(late.content[0].text, "once more after")
    }).pipe(Effect.provide(layer()))
  )
})

describe("a tool's refusal", () => {
  const invented = {
    line: "renters",
    request_key: "0d9c9b1e-7f51-4c2e-9d3e-0a4f5f1f7c11",
    quote_disclosure_version: "2020-01-01",
    quote_disclosure_accepted: "yes",
    application: flat
  }

  it.effect("tells the model to ask the person for a missing consent, but not what to send", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const { content, isError, structuredContent } = yield* agents.call("start_quote_request", invented)
      assert.isTrue(isError)
      assert.strictEqual(structuredContent.error.retry_action.type, "none")
      const texts = content.map(({ text }: { text: string }) => text).join()
      assert.match(texts, /Ask the person/)
      assert.notMatch(texts, /2026-|Allowed|allowed_values|true or false|send again\./)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("stays short for thousands of wrong arguments, and reports their number", () =>
    Effect.gen(function* () {
      const surprises = Object.fromEntries(Array.from({ length: 4_012 }, (_, i) => [`surprise_${i}`, i]))
      const agents = yield* Agents
      for (const [tool, args] of [
        ["get_capabilities", { line: "pet", ...surprises }],
        ["send_test_event", { subscription_id: "sub_1", request_key: "k", ...surprises }]
      ] as const) {
        const { content, structuredContent } = yield* agents.call(tool, args, "server")
        const { field_errors, message } = structuredContent.error
        assert.deepStrictEqual(
          [message, field_errors.length],
          ['4,012 fields are not valid: "surprise_0", "surprise_1", "surprise_2" and 4,009 more.', 101]
        )
        assert.deepStrictEqual(field_errors.at(-1), { path: "", message: "… and 3,912 more wrong fields." })
        assert.isBelow(content[0]?.text.length ?? 0, 1_000)
      }
    }).pipe(Effect.provide(layer()))
  )
})

describe("a thousand concurrent calls", () => {
  it.effect("each get a response with the call's own ID, even if some calls are invalid", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const answers = yield* Effect.forEach(
        Array.from({ length: 1_000 }, (_, id) => id),
        (id) =>
          agents.send({
            as: "server",
            message: { ...(id % 3 === 0 ? toolsCall("no_such_tool") : toolsCall("get_quote", { id: "qt_x" })), id }
          }),
        { concurrency: "unbounded" }
      )
      answers.forEach(({ body, status }, id) => {
        assert.deepStrictEqual([status, body.id], [200, id])
        assert.strictEqual(body.error?.code, id % 3 === 0 ? -32602 : undefined)
      })
      assert.strictEqual(yield* waiting, 0)
    }).pipe(Effect.provide(layer()))
  )
})

describe("callers without a key", () => {
  it.effect("are limited by IP address, and are told how long to wait", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const from = (address: string) =>
        Effect.map(
          agents.send({ address, message: toolsCall("start_quote_request", { line: "renters" }) }),
          ({ body }) => body.result
        )
      for (let starts = 0; starts < 10; starts++) {
        assert.strictEqual((yield* from("192.0.2.1")).structuredContent.error.code, "invalid_input")
      }
      const refused = yield* from("192.0.2.1")
      assert.deepStrictEqual([refused.isError, refused.structuredContent.error.code], [true, "rate_limited"])
      assert.match(refused.content[0].text, /Wait \d+ seconds? first/)
      assert.strictEqual((yield* from("192.0.2.2")).structuredContent.error.code, "invalid_input")
    }).pipe(Effect.provide(layer({ limits: Allowance.standardLimits })))
  )
})

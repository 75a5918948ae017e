import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Operation from "../../src/calls/Operation.ts"
import { Feedback, FeedbackEnabled } from "../../src/feedback/Feedback.ts"
import * as operations from "../../src/feedback/FeedbackOperations.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { type CallOptions, World } from "../../src/testing/World.ts"
import { RequestId } from "../../src/wire/Ids.ts"
import { advance, keyless, noKey, pathsOf, refusal, reset, stranger, testInWorld, world } from "../support/world.ts"

const report = {
  kind: "unclear_error",
  summary: "The message names no field",
  expected: "field_errors with a path",
  actual: "field_errors was null"
}

const send = (changes: object = {}, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(operations.sendFeedback, { ...report, ...changes }, options))

const get = (id: string, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(operations.getFeedback, { id }, options))

/** The stored reports. */
const stored = Effect.gen(function* () {
  const storage = yield* Storage
  const { organization } = yield* World
  const workspace_id = organization.workspaces.sandbox
  const page = yield* storage.page({ workspace_id, kind: "feedback", order: "oldest", after: null, limit: 100 })
  return page.records
})

const requestId = RequestId.make("req_01m7zcgg2vadcqrfttazsvk3av")
const whole = {
  tried: { operation: "get_quote", tool: "get_quote", request_ids: [requestId] },
  agent: { name: "An agent", version: "1.2.3" }
}

describe("a feedback report", () => {
  testInWorld(
    "can be read after it is sent, but without its text",
    Effect.gen(function* () {
      const received = yield* send(whole)
      assert.match(received.feedback_id, /^fb_[0-9a-z]{26}$/)
      assert.deepStrictEqual(received, {
        feedback_id: received.feedback_id,
        kind: "unclear_error",
        status: "received",
        public_note: null,
        created_at: "2026-11-20T12:00:00.000Z"
      })
      assert.deepStrictEqual(yield* get(received.feedback_id), received)
      const second = yield* send(whole)
      assert.notStrictEqual(second.feedback_id, received.feedback_id)
    })
  )

  testInWorld(
    "can be sent by every kind of caller, and read by id in its workspace",
    keyless(
      Effect.gen(function* () {
        const senders: ReadonlyArray<CallOptions> = [{}, { as: "widget" }, { as: "platform" }, noKey]
        const { sandbox } = yield* stranger
        for (const sender of senders) {
          const { feedback_id } = yield* send({}, sender)
          for (const reader of senders) assert.strictEqual((yield* get(feedback_id, reader)).feedback_id, feedback_id)
          for (const other of [{ key: sandbox }, { environment: "live" } as const]) {
            assert.strictEqual((yield* refusal(get(feedback_id, other)))._tag, "not_found")
          }
        }
      })
    )
  )

  testInWorld(
    "is rejected with a list of all missing, malformed and unknown fields",
    Effect.gen(function* () {
      const error = yield* refusal(
        send({
          kind: "praise",
          summary: "s".repeat(201),
          expected: "e".repeat(2_001),
          actual: undefined,
          tried: { operation: 1, request_ids: ["req_x"], body: "{}" },
          agent: { name: "a".repeat(201) },
          email: "x"
        })
      )
      assert.sameMembers(
        [...pathsOf(error)],
        [
          ...["kind", "summary", "expected", "actual", "email", "agent.name"],
          ...["tried.operation", "tried.request_ids.0", "tried.body"]
        ]
      )
      const many = { request_ids: Array.from({ length: 21 }, () => requestId) }
      assert.deepStrictEqual(pathsOf(yield* refusal(send({ tried: many }))), ["tried.request_ids"])
      assert.deepStrictEqual(pathsOf(yield* refusal(send({ summary: "" }))), ["summary"])
      yield* send({ summary: "s".repeat(200), expected: "", actual: "a".repeat(2_000) })
    })
  )

  testInWorld(
    "is limited in characters rather than UTF-16 units",
    Effect.gen(function* () {
      const wide = "\u{1f600}"
      yield* send({ summary: wide.repeat(200), actual: wide.repeat(2_000) })
      assert.deepStrictEqual(pathsOf(yield* refusal(send({ summary: wide.repeat(201) }))), ["summary"])
      const hidden = `${wide.repeat(1_980)} 123-45-6789`
      assert.deepStrictEqual(pathsOf(yield* refusal(send({ actual: hidden }))), ["actual"])
    })
  )

  testInWorld(
    "is rejected with an error that states the required type of each wrong field",
    Effect.gen(function* () {
      const error = yield* refusal(send({ summary: 1, tried: { request_ids: requestId } }))
      assert.deepStrictEqual(error.field_errors, [
        { path: "summary", message: "Must be text of 1 to 200 characters." },
        { path: "tried.request_ids", message: "Must be a list." }
      ])
    })
  )

  testInWorld(
    "is rejected without repeating the number if any text seems to contain a personal number",
    Effect.gen(function* () {
      const number = "123-45-6789"
      const error = yield* refusal(
        send({
          ...{ summary: number, expected: number, actual: `${number}.` },
          tried: { operation: number, tool: number },
          agent: { name: number, version: number }
        })
      )
      assert.strictEqual(error._tag, "invalid_input")
      assert.deepStrictEqual(pathsOf(error), [
        ...["summary", "expected", "actual"],
        ...["tried.operation", "tried.tool", "agent.name", "agent.version"]
      ])
      for (const { message } of error.field_errors ?? []) {
        assert.strictEqual(message, "This looks like a personal number. Remove it and send again.")
      }
      assert.notInclude(JSON.stringify(error), number)
      assert.deepStrictEqual(yield* stored, [])
    })
  )

  testInWorld(
    "is rejected for a personal number and a wrong field in one error",
    Effect.gen(function* () {
      const error = yield* refusal(send({ kind: "praise", actual: "4242 4242 4242 4242" }))
      assert.sameMembers([...pathsOf(error)], ["kind", "actual"])
    })
  )

  testInWorld(
    "survives a sandbox reset, and is kept for thirteen months",
    Effect.gen(function* () {
      const { feedback_id } = yield* send()
      yield* reset()
      yield* advance(365 * 86_400)
      yield* advance(30 * 86_400)
      assert.strictEqual((yield* get(feedback_id)).feedback_id, feedback_id)
      yield* advance(1)
      assert.strictEqual((yield* refusal(get(feedback_id)))._tag, "not_found")
    })
  )

  it.effect("cannot be sent or read if feedback is off", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* refusal(send()))._tag, "not_found")
      assert.strictEqual((yield* refusal(get("fb_x")))._tag, "not_found")
      assert.isFalse(yield* Operation.isAvailable(operations.sendFeedback))
      assert.isFalse(yield* Operation.isAvailable(operations.getFeedback))
    }).pipe(Effect.provide(world().pipe(Layer.provide(Layer.succeed(FeedbackEnabled, false)))))
  )
})

describe("operators", () => {
  testInWorld(
    "can read reports with their text, oldest first, page by page",
    Effect.gen(function* () {
      const feedback = yield* Feedback
      const { organization } = yield* World
      const first = yield* send(whole, { as: "platform" })
      const second = yield* send()
      const { sandbox } = organization.workspaces
      const [kept] = yield* feedback.reports(sandbox, null, 1)
      assert.deepStrictEqual(kept?.report, first)
      assert.strictEqual(JSON.stringify(kept?.sent), JSON.stringify({ ...report, ...whole }))
      assert.strictEqual(kept?.sent_by.kind, "platform")
      const rest = yield* feedback.reports(sandbox, first.feedback_id, 10)
      assert.deepStrictEqual(
        rest.map((one) => one.report),
        [second]
      )
    })
  )

  testInWorld(
    "can replace a decision on a report and add a public note",
    Effect.gen(function* () {
      const feedback = yield* Feedback
      const { organization } = yield* World
      const { sandbox } = organization.workspaces
      const received = yield* send()
      yield* feedback.decide(sandbox, received.feedback_id, "planned", null)
      assert.strictEqual((yield* get(received.feedback_id)).status, "planned")
      yield* Effect.all(
        [
          feedback.decide(sandbox, received.feedback_id, "shipped", "Since today."),
          feedback.decide(sandbox, received.feedback_id, "shipped", "Since today.")
        ],
        { concurrency: 2 }
      )
      assert.deepStrictEqual(yield* get(received.feedback_id), {
        ...received,
        status: "shipped",
        public_note: "Since today."
      })
      assert.strictEqual((yield* Effect.flip(feedback.decide(sandbox, "fb_x", "declined", null)))._tag, "not_found")
    })
  )
})

import { assert, describe, it } from "@effect/vitest"
import { Feedback, operations } from "@quotewire/core"
import { OpenApi } from "@quotewire/http"
import { Effect, Layer } from "effect"
import * as Conforms from "./support/conforms.ts"
import { start } from "./support/host.ts"

const conforms = Conforms.make(OpenApi.document(operations, "https://api.quotewire.dev"))

const report = { kind: "bug", summary: "A quote is missing", expected: "Three quotes", actual: "Two" }

describe("the feedback API", () => {
  it.live("accepts a report from any kind of key, and returns the report's status", () =>
    Effect.gen(function* () {
      const { keys, send } = yield* start({ operations })
      for (const key of [keys.server, keys.widget, keys.platform]) {
        const taken = yield* send("POST", "/v1/feedback", { key, json: report })
        assert.strictEqual(taken.status, 201)
        assert.deepStrictEqual(conforms({ method: "POST", path: "/v1/feedback", ...taken }), [])
        const path = `/v1/feedback/${JSON.parse(taken.text).feedback_id}`
        const read = yield* send("GET", path, { key })
        assert.strictEqual(read.text, taken.text)
        assert.deepStrictEqual(conforms({ method: "GET", path, ...read }), [])
      }
      const none = yield* send("GET", "/v1/feedback/fb_none")
      assert.strictEqual(none.status, 404)
      assert.deepStrictEqual(conforms({ method: "GET", path: "/v1/feedback/fb_none", ...none }), [])
      assert.strictEqual((yield* send("POST", "/v1/feedback", { key: null, json: report })).status, 401)
    })
  )

  it.live("rejects a report that contains a personal number, and does not echo the number", () =>
    Effect.gen(function* () {
      const { send } = yield* start({ operations })
      const refused = yield* send("POST", "/v1/feedback", { json: { ...report, actual: "SSN 123-45-6789" } })
      assert.strictEqual(refused.status, 422)
      assert.deepStrictEqual(conforms({ method: "POST", path: "/v1/feedback", ...refused }), [])
      assert.deepStrictEqual(JSON.parse(refused.text).error.field_errors, [
        { path: "actual", message: "This looks like a personal number. Remove it and send again." }
      ])
      assert.notInclude(refused.text, "6789")
    })
  )

  it.live("has no routes and no documentation if it is off", () =>
    Effect.gen(function* () {
      const { send } = yield* start({ operations }, Layer.succeed(Feedback.FeedbackEnabled, false))
      assert.strictEqual((yield* send("POST", "/v1/feedback", { json: report })).status, 404)
      assert.strictEqual((yield* send("GET", "/v1/feedback/fb_x")).status, 404)
      assert.notInclude((yield* send("GET", "/openapi.json")).text, "/v1/feedback")
    })
  )
})

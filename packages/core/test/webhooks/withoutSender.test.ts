import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as Log from "../quoting/log.ts"
import { live, refusal, testInWorld } from "../support/world.ts"
import { create } from "./support.ts"

describe("a program that sends no webhooks", () => {
  testInWorld(
    "refuses to create a subscription, and logs which option its operator must set",
    Effect.gen(function* () {
      const lines = yield* Log.logOf(
        Effect.gen(function* () {
          const { code, field_errors, message } = yield* refusal(create({}, live))
          assert.deepStrictEqual([code, field_errors ?? null], ["conflict", null])
          assert.strictEqual(message, "This service sends no webhooks. Read its events from the feed instead.")
          const wrong = yield* refusal(create({ event_types: [1] }, live))
          assert.notInclude(
            (wrong.field_errors ?? []).map(({ path }) => path),
            "url"
          )
        })
      )
      assert.lengthOf(
        lines.filter(({ text }) =>
          text.includes("Pass the `webhooks` option to `embed`, such as NodeWebhookSender.layer()")
        ),
        1
      )
    })
  )
})

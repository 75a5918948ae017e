import { assert, describe, it } from "@effect/vitest"
import { operations } from "@quotewire/core"
import { OpenApi } from "@quotewire/http"
import { Effect } from "effect"
import * as Conforms from "./support/conforms.ts"
import { start } from "./support/host.ts"

const conforms = Conforms.make(OpenApi.document(operations, "https://api.quotewire.dev"))

const calls = [
  ["GET", "/v1/capabilities?line=pet", 200],
  ["GET", "/v1/capabilities?line=boat", 422],
  ["GET", "/v1/quote-requests", 200],
  ["GET", "/v1/quote-requests?limit=0", 422],
  ["GET", "/v1/quote-requests/qreq_none", 404],
  ["GET", "/v1/quotes/qt_none", 404],
  ["GET", "/v1/events?cursor=foreign", 400],
  ["GET", "/v1/events", 200],
  ["GET", "/v1/sandbox", 200],
  ["GET", "/v1/sandbox/scenarios", 200],
  ["POST", "/v1/quote-requests", 400]
] as const

describe("the core's operations", () => {
  it.live.each(calls)("%s %s returns %i as documented", ([method, target, status]) =>
    Effect.gen(function* () {
      const { send } = yield* start({ operations })
      const answer = yield* send(method, target)
      assert.strictEqual(answer.status, status, answer.text)
      const [path = ""] = target.split("?")
      assert.deepStrictEqual(conforms({ method, path, ...answer }), [])
    })
  )
})

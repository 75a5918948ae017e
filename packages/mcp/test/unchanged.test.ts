import { assert, describe, it } from "@effect/vitest"
import { type Operation, operations, type Quotewire, type Storage, WebhookSender } from "@quotewire/core"
import { World } from "@quotewire/core/testing"
import { DateTime, Effect, Layer, Predicate, Result } from "effect"
import { TestClock } from "effect/testing"
import { Agents, layer } from "./support/agents.ts"
import { advanced, call, startOf } from "./support/journey.ts"

type Services = Quotewire.Services | Storage.Storage

/** The operations, each with its last response. */
const recording = () => {
  const answers = new Map<string, unknown>()
  const record = (one: Operation.Operation<string, unknown, unknown, Services>) => ({
    ...one,
    prepare: (...args: Parameters<typeof one.prepare>) =>
      Result.map(
        one.prepare(...args),
        Effect.tap(({ text }) => Effect.sync(() => answers.set(one.name, JSON.parse(text))))
      )
  })
  return { answers, operations: operations.map((one) => record(one)) }
}

/** The paths at which a shown value lacks or changes part of the response. Additions do not count. */
const changedIn = (answer: unknown, shown: unknown, path = ""): ReadonlyArray<string> => {
  if (Array.isArray(answer)) {
    if (!Array.isArray(shown) || shown.length !== answer.length) return [path]
    return answer.flatMap((item, index) => changedIn(item, shown[index], `${path}.${index}`))
  }
  if (!Predicate.isObject(answer)) return answer === shown ? [] : [path]
  if (!Predicate.isObject(shown)) return [path]
  return Object.entries(answer).flatMap(([name, value]) => changedIn(value, shown[name], `${path}.${name}`))
}

/** Endpoints that confirm everything. */
const webhooks = Layer.succeed(WebhookSender.WebhookSender, {
  send: () => Effect.succeed({ response_status_code: 200, duration_ms: 1, failure: null }),
  lookUp: () => Effect.succeed("public")
})

/** Creates a subscription, and returns its id. */
const subscribed = Effect.gen(function* () {
  const create = operations.find(
    (one): one is Extract<(typeof operations)[number], { name: "create_event_subscription" }> =>
      one.name === "create_event_subscription"
  )
  if (create === undefined) return yield* Effect.die("create_event_subscription is no operation")
  const input = { url: "https://hooks.acme.dev/quotewire", event_types: ["quote_request.queued"] }
  return (yield* Effect.orDie((yield* World.World).call(create, input))).id
})

const { answers, operations: recorded } = recording()

describe("structuredContent", () => {
  it.effect("contains every field of the REST response unchanged, for every tool", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-11-20T12:00:00Z")))
      const called: Array<string> = []
      const check = Effect.fnUntraced(function* (name: string, args: object) {
        answers.clear()
        const { isError, structuredContent } = yield* call(name, args)
        assert.isFalse(isError, `${name}: ${JSON.stringify(structuredContent)}`)
        assert.deepStrictEqual(changedIn(answers.get(name), structuredContent), [], name)
        called.push(name)
        return structuredContent
      })
      const subscription_id = yield* subscribed
      yield* check("get_capabilities", { line: "personal_auto" })
      const { id } = yield* check("start_quote_request", startOf("quotes_ready"))
      yield* advanced(90)
      const { quotes } = yield* check("get_quote_request", { id })
      yield* check("get_quote", { id: quotes[0].id })
      yield* check("list_quote_requests", {})
      yield* check("list_api_requests", {})
      yield* check("send_feedback", { kind: "bug", summary: "A code", expected: "a sentence", actual: "a number" })
      yield* check("send_test_event", { subscription_id, request_key: "test-1" })
      yield* advanced(1)
      const { deliveries } = yield* check("list_event_deliveries", { subscription_id })
      const delivery = { subscription_id, event_id: deliveries.at(-1).event_id }
      yield* check("get_event_delivery", delivery)
      yield* check("replay_event_delivery", { ...delivery, request_key: "replay-1" })
      yield* check("get_event_subscription_health", { subscription_id })
      const listed = (yield* (yield* Agents).send({
        as: "server",
        message: { jsonrpc: "2.0", id: 1, method: "tools/list" }
      })).body.result.tools
      assert.sameMembers(
        called,
        listed.map(({ name }: { readonly name: string }) => name)
      )
    }).pipe(Effect.provide(layer({ operations: recorded, webhooks })))
  )
})

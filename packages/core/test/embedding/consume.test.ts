import { assert, describe, it } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect } from "effect"
import type { EventHandler } from "../../src/consuming/ConsumeOptions.ts"
import type { Embedded } from "../../src/embedding/Embedded.ts"
import { embed } from "../../src/embedding/embed.ts"
import { startOf } from "./starts.ts"

/** A service with a sandbox, closed at the end of the test. */
const embedded = Effect.acquireRelease(
  Effect.promise(async () => {
    const quotewire = embed({ storage: MemoryStorage.layer, grace_ms: 10 })
    const { id: organization_id } = await quotewire.createOrganization("Acme")
    const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
    return { quotewire, organization_id, client: quotewire.client(key) }
  }),
  ({ quotewire }) => Effect.promise(() => quotewire.close())
)

type Running = Effect.Success<typeof embedded>

const test = (name: string, body: (running: Running) => Promise<void>) =>
  it.live(name, () => Effect.scoped(Effect.flatMap(embedded, (running) => Effect.promise(() => body(running)))))

/** Consumes, and returns the first event with what else the handler received. */
const first = async (quotewire: Embedded, handle: EventHandler = () => undefined) => {
  const got = Promise.withResolvers<Parameters<EventHandler>>()
  const consumer = quotewire.consume("billing", (event, context) => {
    got.resolve([event, context])
    return handle(event, context)
  })
  await consumer.ready
  return { stop: consumer, got: got.promise }
}

describe("a program that embeds the service", () => {
  test("can consume events and stop consuming", async ({ quotewire, organization_id, client }) => {
    const { got, stop } = await first(quotewire)
    const { id } = await client.start_quote_request(startOf())
    const [event, { attempt, environment, signal, ...context }] = await got
    assert.deepInclude(event, { type: "quote_request.queued", environment: "sandbox" })
    assert.deepInclude(event.resource, { id, version: 1 })
    assert.deepStrictEqual(
      { attempt, environment, ...context },
      { attempt: 1, environment: "sandbox", organization_id }
    )
    assert.isFalse(signal.aborted)
    await stop()
    assert.deepStrictEqual(await quotewire.listParkedEvents("billing"), [])
  })

  test("gets an immediate error if a consumer's name or option is invalid, or the name is in use", async ({
    quotewire
  }) => {
    const nothing = () => undefined
    assert.throws(() => quotewire.consume("My billing", nothing), /consumer name must have/)
    assert.throws(() => quotewire.consume("billing", nothing, { max_attempts: 0 }), /max_attempts/)
    const stop = quotewire.consume("billing", nothing)
    assert.throws(() => quotewire.consume("billing", nothing), /already has a consumer named billing/)
    await stop()
    await quotewire.consume("billing", nothing)()
  })

  test("gets an error that names an option of the wrong type, without its value", async ({ quotewire }) => {
    const nothing = () => undefined
    const wrong: ReadonlyArray<readonly [ReadonlyArray<unknown>, RegExp]> = [
      [["billing"], /^The consumer billing needs a function as its handler\.$/],
      [["billing", "secret"], /^The consumer billing needs a function as its handler\.$/],
      [["billing", nothing, null], /options: Must be an object/],
      [["billing", nothing, { max_attempt: 3 }], /max_attempt: There is no such option\. The options are from, /],
      [["billing", nothing, { timeout_ms: "secret" }], /timeout_ms: Must be a whole number from 1 to 86400000\.$/],
      [["billing", nothing, { on_expired: "secret" }], /on_expired: Must be a function\.$/]
    ]
    for (const [given, says] of wrong) {
      const consume = () => Reflect.apply(quotewire.consume, quotewire, given)
      assert.throws(consume, says)
      assert.throws(consume, /^(?!.*secret)/s)
    }
    await quotewire.consume("billing", nothing, JSON.parse("{}"))()
    await quotewire.consume("billing", nothing, { types: undefined, ...JSON.parse("{}") })()
  })

  test("gets an error if it lists parked events with an invalid consumer name or limit", async ({ quotewire }) => {
    for (const given of [[undefined], ["a b"], ["billing", { limit: Number.NaN }], ["billing", { limit: 1_001 }]]) {
      const listed: Promise<unknown> = Reflect.apply(quotewire.listParkedEvents, quotewire, given)
      const error: unknown = await listed.catch((error: unknown) => error)
      assert.match(String(error), /consumer name must have|limit must be a whole number from 1 to 1000/)
    }
  })

  test("can mutate the event that its handler gets without changing the parked event", async ({
    quotewire,
    client
  }) => {
    const parked = Promise.withResolvers<void>()
    const stop = quotewire.consume(
      "billing",
      (event, { attempt }) => {
        if (event.type !== "quote_request.queued") return parked.resolve()
        Object.assign(event, { id: "evt_another", type: `changed ${attempt}`, resource: null })
        throw new TypeError("no")
      },
      { max_attempts: 1 }
    )
    await stop.ready
    const { id } = await client.start_quote_request(startOf())
    await client.cancel_quote_request({ id })
    await parked.promise
    const [event] = await quotewire.listParkedEvents("billing")
    if (event === undefined) return assert.fail("nothing is parked")
    assert.strictEqual(event.event_id, event.event.id)
    assert.deepInclude(event.event, { type: "quote_request.queued" })
    assert.deepInclude(event.event.resource, { id })
    await quotewire.retryParkedEvent("billing", event)
  })

  test("can close the service even if a handler ignores the aborted signal", async ({ quotewire, client }) => {
    const { got } = await first(quotewire, () => new Promise(() => undefined))
    await client.start_quote_request(startOf())
    const [, { signal }] = await got
    await quotewire.close()
    assert.isTrue(signal.aborted)
  })

  test("finds the class but not the message of a handler's error in the parked event", async ({
    quotewire,
    client
  }) => {
    const parked = Promise.withResolvers<void>()
    let calls = 0
    const stop = quotewire.consume(
      "billing",
      () => {
        if (++calls === 2) parked.resolve()
        if (calls === 1) throw new TypeError("Jane Doe")
      },
      { max_attempts: 1 }
    )
    await stop.ready
    await client.start_quote_request(startOf())
    await client.start_quote_request(startOf("other"))
    await parked.promise
    const [event] = await quotewire.listParkedEvents("billing")
    assert.deepInclude(event, { error: "TypeError", attempts: 1, retrying: false })
    if (event === undefined) return
    await quotewire.dropParkedEvent("billing", event)
    assert.deepStrictEqual(await quotewire.listParkedEvents("billing"), [])
  })

  test("learns from `ready` that a consumer could not start", async ({ quotewire }) => {
    await quotewire.close()
    const stop = quotewire.consume("billing", () => undefined)
    const error: unknown = await stop.ready.catch((error: unknown) => error)
    assert.propertyVal(error, "code", "service_unavailable")
    await stop()
  })

  test("can start a consumer again under the same name after a failed start", async ({ quotewire }) => {
    await quotewire.close()
    await quotewire.consume("billing", () => undefined).ready.catch(() => {})
    const again = quotewire.consume("billing", () => undefined)
    assert.propertyVal(await again.ready.catch((error: unknown) => error), "code", "service_unavailable")
  })
})

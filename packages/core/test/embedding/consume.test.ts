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

/** Consumes, and gives the first event with what the handler was told. */
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
  test("consumes its events with promises, and stops", async ({ quotewire, organization_id, client }) => {
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

  test("is refused a wrong name, a wrong option and a name in use at once", async ({ quotewire }) => {
    const nothing = () => undefined
    assert.throws(() => quotewire.consume("My billing", nothing), /name of a consumer must have/)
    assert.throws(() => quotewire.consume("billing", nothing, { max_attempts: 0 }), /max_attempts/)
    const stop = quotewire.consume("billing", nothing)
    assert.throws(() => quotewire.consume("billing", nothing), /already has a consumer named billing/)
    await stop()
    await quotewire.consume("billing", nothing)()
  })

  test("closes although a handler ignores its signal, and the signal is aborted", async ({ quotewire, client }) => {
    const { got } = await first(quotewire, () => new Promise(() => undefined))
    await client.start_quote_request(startOf())
    const [, { signal }] = await got
    await quotewire.close()
    assert.isTrue(signal.aborted)
  })

  test("parks what its handler throws, with the class of the error and not its message", async ({
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

  test("sees at `ready` that a consumer could not start", async ({ quotewire }) => {
    await quotewire.close()
    const stop = quotewire.consume("billing", () => undefined)
    const error: unknown = await stop.ready.catch((error: unknown) => error)
    assert.propertyVal(error, "code", "service_unavailable")
    await stop()
  })
})

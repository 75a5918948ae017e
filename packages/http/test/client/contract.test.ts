import { afterAll, assert, beforeAll, describe, it, vi } from "@effect/vitest"
import { type Client, embed, isApiError, operations } from "@quotewire/core"
import { connect } from "@quotewire/http/client"
import { undiciTransport } from "@quotewire/http/undici"
import { MemoryStorage } from "@quotewire/storage-memory"
import { smallest } from "../../../core/src/lines/ExampleApplications.ts"
import { type Serving, serve } from "./serving.ts"

/*
 * One client interface: code written against it runs in process and against a remote host.
 */

let serving: Serving

beforeAll(async () => {
  serving = await serve()
})
afterAll(() => serving.close())

const inProcess = (key: string): Client => serving.quotewire.client(key)
const overHttp = (key: string): Client => connect({ base_url: serving.base_url, key })
const overUndici = (key: string): Client => connect({ base_url: serving.base_url, key, transport: undiciTransport() })

let starts = 0
const start = () => ({
  line: "renters" as const,
  request_key: `start-${++starts}`,
  consent_receipt_id: "receipt-0001",
  application: smallest.renters
})

const newKey = async (kind: "server" | "platform" = "server") => {
  const { id: organization_id } = await serving.quotewire.createOrganization("Acme")
  const { key } = await serving.quotewire.createKey({ organization_id, environment: "sandbox", kind })
  return key
}

const refusalOf = async (promise: Promise<unknown>) => {
  const error: unknown = await promise.then(
    () => assert.fail("it was not refused"),
    (error) => error
  )
  if (!isApiError(error)) return assert.fail(String(error))
  const { code, field_errors, message, name, retry_action, retry_after_seconds, status } = error
  return { code, field_errors, message, name, retry_action, retry_after_seconds, status }
}

describe.each([
  ["in process", inProcess],
  ["over HTTP", overHttp],
  ["over HTTP, with undici", overUndici]
])("a client %s", (_, clientOf) => {
  const newClient = async (kind: "server" | "platform" = "server") => clientOf(await newKey(kind))

  it("has a method for every operation", async () => {
    const client = await newClient()
    const methods = [...operations.map(({ name }) => name), "wait_for_quotes", "events"]
    assert.sameMembers(Object.keys(client), methods)
  })

  it("finds the events, deliveries and calls for a request or quote ID", async () => {
    const client = await newClient()
    const hook = { url: "https://hooks.example.com/", event_types: ["quote_request.queued", "quote.created"] } as const
    const { id: subscription } = await client.create_event_subscription(hook, { idempotency_key: "once" })
    const { id } = await client.start_quote_request(start())
    await client.start_quote_request(start())
    await client.advance_time({ seconds: 60 }, { idempotency_key: "once" })
    const { quotes } = await client.get_quote_request({ id, wait_seconds: 0 })
    const quote_id = String(quotes[0]?.id)
    await client.get_quote({ id: quote_id })

    // The feed, by request.
    const about = { quote_request_id: id }
    const { events } = await client.list_events({ ...about, limit: 100 })
    const resources = new Set(events.map(({ resource }) => resource.id))
    assert.sameMembers([...resources], [id, ...quotes.map((quote) => quote.id)])
    // The feed, by quote.
    const ofQuote = (await client.list_events({ quote_id })).events
    assert.deepStrictEqual(
      ofQuote.map(({ resource }) => resource.id),
      [quote_id]
    )
    // The deliveries of a subscription, by request: newest first.
    const log = await client.list_event_deliveries({ id: subscription, ...about, limit: 100 })
    const wanted = events.filter(({ type }) => type === "quote_request.queued" || type === "quote.created")
    assert.deepStrictEqual(
      log.deliveries.map(({ event_id }) => event_id),
      wanted.map((event) => event.id).toReversed()
    )
    // The request log, by request. A call is logged after its response.
    const calls = await vi.waitUntil(
      async () => {
        const { requests } = await client.list_api_requests(about)
        return requests.length === 3 && requests
      },
      { interval: 100, timeout: 10_000 }
    )
    assert.deepStrictEqual(
      calls.map(({ operation }) => operation),
      ["get_quote", "get_quote_request", "start_quote_request"]
    )
    // A request's ID is not accepted as a quote's ID.
    const refused = await refusalOf(client.list_events({ quote_id: id }))
    assert.deepInclude(refused, { code: "invalid_input", status: 422 })
    assert.deepStrictEqual(
      refused.field_errors?.map(({ path }) => path),
      ["quote_id"]
    )
  })

  it("can call the operations for quotes and events", async () => {
    const client = await newClient()
    const once = { idempotency_key: "once" }
    const { capabilities } = await client.get_capabilities({ line: "renters" })
    assert.strictEqual(capabilities.line, "renters")
    const { id } = await client.start_quote_request(start())
    const { status } = await client.cancel_quote_request({ id })
    assert.include(["cancelled", "cannot_stop"], status)
    const second = await client.start_quote_request(start())
    assert.strictEqual((await client.advance_time({ seconds: 60 }, once)).control, "advance_time")
    const { quotes } = await client.get_quote_request({ id: second.id, wait_seconds: 0 })
    assert.deepStrictEqual(await client.get_quote({ id: String(quotes[0]?.id), version: 1 }), quotes[0])
    const timeline = await client.get_quote_request_timeline({ id: second.id, limit: 100 })
    assert.include(
      timeline.entries.map(({ what }) => what),
      "quote"
    )
    const preview = await client.preview_revisions({ id: String(quotes[0]?.id) })
    assert.deepStrictEqual(preview.revisions[0]?.quote, { ...quotes[0] })
    assert.isNotEmpty((await client.list_quote_requests({ status: "completed", limit: 1 })).quote_requests)
    assert.isNotEmpty((await client.list_events({ limit: 1 })).events)
  })

  it("can call the operations for webhooks", async () => {
    const client = await newClient()
    const once = { idempotency_key: "once" }
    const hook = { url: "https://hooks.example.com/", event_types: ["quote.created"] } as const
    const created = await client.create_event_subscription(hook, once)
    const subscription = { id: created.id }
    assert.isNotNull(created.signing_secret)
    await client.update_event_subscription({ ...subscription, event_types: ["quote.expired"] })
    assert.isNotNull((await client.rotate_event_subscription_secret(subscription, once)).signing_secret)
    const { event } = await client.send_test_event(subscription, once)
    assert.lengthOf((await client.list_event_deliveries(subscription)).deliveries, 1)
    const delivery = { ...subscription, event_id: event.id }
    assert.strictEqual((await client.get_event_delivery(delivery)).event_id, event.id)
    assert.strictEqual((await client.replay_event_delivery(delivery, once)).event_id, event.id)
    assert.strictEqual((await client.get_event_subscription_health(subscription)).subscription_id, created.id)
    assert.strictEqual((await client.disable_event_subscription(subscription)).status, "disabled")
    assert.lengthOf((await client.list_event_subscriptions({})).event_subscriptions, 1)
  })

  it("can call the operations for feedback and the request log", async () => {
    const client = await newClient()
    const report = { kind: "other", summary: "a", expected: "b", actual: "c" } as const
    const { feedback_id } = await client.send_feedback(report)
    assert.strictEqual((await client.get_feedback({ id: feedback_id })).feedback_id, feedback_id)
    assert.isArray((await client.list_api_requests({ limit: 1 })).requests)
    assert.deepInclude(await refusalOf(client.get_api_request({ id: "req_none" })), { code: "not_found" })
  })

  it("can call the operations for the sandbox", async () => {
    const client = await newClient()
    const once = { idempotency_key: "once" }
    assert.strictEqual((await client.advance_time({ seconds: 60 }, once)).control, "advance_time")
    assert.strictEqual((await client.get_sandbox({})).clock_offset_seconds, 60)
    assert.isNotEmpty((await client.list_sandbox_scenarios({})).scenarios)
    assert.strictEqual((await client.select_scenario({ scenario: "quotes_ready" }, once)).control, "select_scenario")
    assert.strictEqual((await client.force_expiry({}, once)).control, "force_expiry")
    assert.strictEqual((await client.replay_events({}, once)).control, "replay_events")
    assert.strictEqual((await client.reset_sandbox({}, once)).control, "reset")
  })

  it("gets the original response when it reuses an idempotency key", async () => {
    const client = await newClient()
    const once = { idempotency_key: "once" }
    const first = await client.advance_time({ seconds: 60 }, once)
    assert.deepStrictEqual(await client.advance_time({ seconds: 60 }, once), first)
    assert.deepInclude(await refusalOf(client.advance_time({ seconds: 61 }, once)), {
      code: "conflict",
      retry_action: "use_new_request_key"
    })
  })

  it("performs an operation twice if it makes two calls without an idempotency key", async () => {
    const client = await newClient()
    await client.advance_time({ seconds: 60 })
    const { workspace } = await client.advance_time({ seconds: 60 })
    assert.strictEqual(workspace.clock_offset_seconds, 120)
  })

  it("needs the read handle to read a request with a platform key", async () => {
    const client = await newClient("platform")
    const { id, read_handle } = await client.start_quote_request(start())
    if (read_handle === undefined) return assert.fail("no handle")
    const { quote_request } = await client.get_quote_request({ id, wait_seconds: 0 }, { read_handle })
    assert.strictEqual(quote_request.id, id)
    const waited = await client.wait_for_quotes(id, { read_handle, until: () => true })
    assert.strictEqual(waited.quote_request.id, id)
    for (const options of [{}, { read_handle: "rh_none" }, { read_handle: "no handle" }]) {
      assert.deepInclude(await refusalOf(client.get_quote_request({ id, wait_seconds: 0 }, options)), {
        code: "not_found"
      })
    }
  })

  it("waits for quotes until the request is completed", async () => {
    const client = await newClient()
    const { id } = await client.start_quote_request(start())
    const waiting = client.wait_for_quotes(id)
    await client.advance_time({ seconds: 60 }, { idempotency_key: "a-minute" })
    const { quote_request, quotes } = await waiting
    assert.strictEqual(quote_request.status, "completed")
    assert.deepStrictEqual(
      quotes.map(({ id }) => id),
      [...quote_request.quote_ids]
    )
  })

  it("stops waiting for quotes on abort, and rejects with the signal's reason", async () => {
    const client = await newClient()
    const { id } = await client.start_quote_request({ ...start(), scenario: "waits_in_queue" })
    const controller = new AbortController()
    const waiting = client.wait_for_quotes(id, { signal: controller.signal })
    const reason = new Error("The page was left.")
    controller.abort(reason)
    assert.strictEqual(await waiting.catch((error) => error), reason)
  })

  it("reads the feed, and resumes after a cursor", async () => {
    const client = await newClient()
    const controller = new AbortController()
    const { signal } = controller
    const { id } = await client.start_quote_request(start())
    await client.advance_time({ seconds: 60 }, { idempotency_key: "a-minute" })
    const types: Array<string> = []
    const feed = client.events({ limit: 1, signal })
    for await (const event of feed) {
      types.push(event.type)
      if (event.resource.id === id && event.resource.version === 2) break
    }
    assert.deepStrictEqual(types, ["quote_request.queued", "quote_request.updated"])
    for await (const event of client.events({ after: feed.cursor, signal })) {
      types.push(event.type)
      // It ends without an error, and yields nothing more.
      if (event.type === "quote_request.completed") controller.abort()
    }
    const { events } = await client.list_events({ limit: 100 })
    assert.deepStrictEqual(
      types,
      events.map(({ type }) => type)
    )
  })

  it("throws an error from the feed if the cursor has expired", async () => {
    const client = await newClient()
    const { next_cursor: after } = await client.list_events({})
    await client.reset_sandbox({}, { idempotency_key: "anew" })
    const { code, message } = await refusalOf(client.events({ after })[Symbol.asyncIterator]().next())
    assert.strictEqual(code, "event_cursor_expired")
    assert.match(message, /Read each resource that you track, then read the feed without a cursor/)
  })
})

describe("a refusal's error", () => {
  it("is the same in process and over HTTP", async () => {
    const key = await newKey()
    const refusals = (clientOf: (key: string) => Client) => {
      const client = clientOf(key)
      const application = { dwelling: { address: { state: "NY", zip: "1" } } } as const
      return Promise.all([
        refusalOf(clientOf("no-key").get_sandbox({})),
        refusalOf(client.get_quote({ id: "qt_none" })),
        refusalOf(client.get_quote({ id: "" })),
        refusalOf(client.list_events({ cursor: "of another list" })),
        refusalOf(client.list_events({ limit: 1_000 })),
        refusalOf(client.reset_sandbox({}, { idempotency_key: "a blank" })),
        refusalOf(client.start_quote_request({ ...start(), application })),
        refusalOf(client.start_quote_request({ ...start(), application: {} }))
      ])
    }
    const expected = await refusals(inProcess)
    assert.deepStrictEqual(
      expected.map(({ code }) => code),
      [
        "authentication_failed",
        "not_found",
        "not_found",
        "invalid_cursor",
        "invalid_input",
        "invalid_input",
        "invalid_input",
        "needs_information"
      ]
    )
    assert.deepStrictEqual(await refusals(overHttp), expected)
    assert.deepStrictEqual(await refusals(overUndici), expected)
  })
})

describe("closing an embedded service", () => {
  it("ends the feeds that are waiting for events", async () => {
    const service = embed({ storage: MemoryStorage.layer })
    const { id: organization_id } = await service.createOrganization("Acme")
    const { key } = await service.createKey({ organization_id, environment: "sandbox", kind: "server" })
    const next = service.client(key).events({ poll_ms: 3_600_000 })[Symbol.asyncIterator]().next()
    // The empty page of the feed is read before this call returns.
    await service.client(key).get_sandbox({})
    await service.close()
    const error: unknown = await next.catch((error) => error)
    assert.isTrue(isApiError(error, "service_unavailable"))
    assert.match(String(error), /is closed/)
  })
})

import { defineCarrier, Reply, standardLines } from "@quotewire/core"
import { Receiver } from "@quotewire/core/testing"
import { type Sandbox, sandbox } from "@quotewire/storage-memory/testing"
import { assert, describe, it } from "vitest"
import cassette from "../../../../examples/contract/acme.cassette.json" with { type: "json" }
import { acme } from "../../../../examples/contract/acme.ts"
import { bicycle, config as bicycles } from "../../../../examples/line.ts"

const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } } as const

/** A carrier whose own code fails. */
const broken = defineCarrier({
  id: "naic:54321",
  name: "Broken",
  lines: { renters: { states: ["NY"], idempotent: true } },
  ask: () => {
    throw new TypeError("a mistake")
  }
})

/** One ask and the poll that answers it. */
const oneAsk = { ...cassette, exchanges: cassette.exchanges.slice(1, 3) }

const start = (
  { client }: Sandbox,
  options: { readonly scenario?: "price_update" | "slow_quotes" | "waits_in_queue" } = {}
) =>
  client.start_quote_request({
    line: "renters",
    consent_receipt_id: "receipt-0001",
    request_key: "the-request",
    application,
    ...options
  })

const typesOf = (events: ReadonlyArray<{ readonly type: string }>) => events.map(({ type }) => type)

describe("a sandbox's clock", () => {
  it("stands still, so that a test always sees the same times", async () => {
    const now = new Date("2026-09-26T12:00:00Z")
    await using world = await sandbox({ now })
    const { id } = await start(world)
    await world.settled()
    const { quote_request, quotes } = await world.client.get_quote_request({ id, wait_seconds: 0 })
    assert.deepStrictEqual(
      [quote_request.status, quote_request.created_at],
      ["in_progress", "2026-09-26T12:00:00.000Z"]
    )
    assert.isEmpty(quotes)
    assert.deepStrictEqual(await world.now(), now)
  })

  it("moves with `advance`, which returns when all due work is done", async () => {
    await using world = await sandbox({ now: new Date("2026-09-26T12:00:00Z") })
    const inbox = await world.inbox()
    const { id } = await start(world, { scenario: "price_update" })
    await world.advance("1 minute")
    const before = await world.client.get_quote_request({ id })
    assert.include(typesOf(inbox.events()), "quote_request.completed")
    await world.advance("10 minutes")
    const after = await world.client.get_quote_request({ id })
    assert.deepStrictEqual([before.quotes[0]?.version, after.quotes[0]?.version], [1, 2])
    assert.deepStrictEqual(await world.now(), new Date("2026-09-26T12:11:00Z"))
    assert.strictEqual(typesOf(inbox.events()).at(-1), "quote.updated")
  })

  it("moves while code waits for quotes, and stops soon after", async () => {
    await using world = await sandbox({ now: new Date("2026-09-26T12:00:00Z") })
    const checkOut = async () => {
      const { id } = await start(world, { scenario: "slow_quotes" })
      return world.client.wait_for_quotes(id)
    }
    const { quote_request, quotes } = await world.advanceUntil(checkOut())
    assert.deepStrictEqual([quote_request.status, quotes.length], ["completed", 3])
    assert.isBelow((await world.now()).getTime(), new Date("2026-09-26T12:02:00Z").getTime())
  })

  it("ends a wait for quotes when the wait's timeout is reached", async () => {
    await using world = await sandbox()
    const { id } = await start(world, { scenario: "waits_in_queue" })
    const wait = world.client.wait_for_quotes(id, { timeout_ms: 5_000 })
    const { quote_request } = await world.advanceUntil(wait, { at_most: "4 minutes" })
    assert.strictEqual(quote_request.status, "in_progress")
  })

  it("moves while code waits for events", async () => {
    await using world = await sandbox({ now: new Date("2026-09-26T12:00:00Z") })
    const lastEvent = async () => {
      await start(world)
      for await (const { type } of world.client.events()) if (type === "quote_request.completed") return type
    }
    assert.strictEqual(await world.advanceUntil(lastEvent()), "quote_request.completed")
    assert.isBelow((await world.now()).getTime(), new Date("2026-09-26T12:02:00Z").getTime())
  })

  it("makes a wait outside advanceUntil fail, and the error suggests advanceUntil", async () => {
    await using world = await sandbox()
    const { id } = await start(world)
    const another = world.quotewire.client(world.keys.server)
    const outcomes = await Promise.allSettled([
      world.client.wait_for_quotes(id),
      another.get_quote_request({ id, since_version: 100 })
    ])
    for (const outcome of outcomes) {
      assert.include(outcome.status === "rejected" ? outcome.reason.message : "", "world.advanceUntil")
    }
  })

  it("does not affect a wait whose signal is aborted", async () => {
    await using world = await sandbox()
    const { id } = await start(world)
    const outcome = await world.client
      .wait_for_quotes(id, { signal: AbortSignal.abort("gone") })
      .catch((error) => error)
    assert.strictEqual(outcome, "gone")
  })

  it("jumps over years without events", async () => {
    await using world = await sandbox({ now: new Date("2026-09-26T12:00:00Z") })
    await world.advance("800 days")
    assert.deepStrictEqual(await world.now(), new Date("2028-12-04T12:00:00Z"))
  })

  it("rejects an invalid duration, and the error names the option", async () => {
    await using world = await sandbox()
    const messageOf = (outcome: Promise<unknown>) =>
      outcome.then(
        () => "",
        (error) => String(error.message)
      )
    for (const wrong of [
      0,
      -1_000,
      Number.NaN,
      1e300,
      "10 millis",
      "101000 days",
      JSON.parse('"1 fortnight"')
    ] as const) {
      assert.match(await messageOf(world.advance(wrong)), /^duration must be a whole number of seconds/)
    }
    assert.match(await messageOf(world.advanceUntil(Promise.resolve(), { step: 0 })), /^step/)
    assert.match(
      await messageOf(world.advanceUntil(Promise.resolve(), { at_most: Number.POSITIVE_INFINITY })),
      /^at_most/
    )
  })

  it("reports an error if the awaited code never finishes", async () => {
    await using world = await sandbox()
    const endless = new Promise<never>(() => {})
    const outcome = await world.advanceUntil(endless, { step: "1 hour", at_most: "3 hours" }).catch((error) => error)
    assert.include(String(outcome), "3h")
  })

  it("rejects a value that is not a promise, and explains what to pass", async () => {
    await using world = await sandbox()
    const work: Promise<number> = JSON.parse("{}")
    const outcome = await world.advanceUntil(work).catch((error) => error)
    assert.include(String(outcome), "call your async function, and pass the promise that it returns")
  })

  it("starts only at a valid date", async () => {
    for (const now of [new Date(Number.NaN), new Date(-1), new Date(8.64e15), JSON.parse('"2026-09-26"')]) {
      const outcome = await sandbox({ now }).catch((error) => error)
      assert.match(String(outcome), /^RangeError: now must be a Date in the years 1970 to 2999/)
    }
  })

  it("rethrows the awaited code's error", async () => {
    await using world = await sandbox()
    const outcome = await world.advanceUntil(Promise.reject(new Error("no cover"))).catch((error) => error)
    assert.strictEqual(outcome.message, "no cover")
  })
})

describe("a sandbox", () => {
  it("is isolated from every other sandbox", async () => {
    await using first = await sandbox()
    await using second = await sandbox()
    const { id } = await start(first)
    const outcome = await second.client.get_quote_request({ id }).catch((error) => error)
    assert.strictEqual(outcome.code, "not_found")
  })

  it("has a key of each kind", async () => {
    await using world = await sandbox()
    const widget = world.quotewire.client(world.keys.widget)
    const { capabilities } = await widget.get_capabilities({ line: "pet" })
    assert.strictEqual(capabilities.line, "pet")
    const outcome = await widget.get_sandbox({}).catch((error) => error)
    assert.strictEqual(outcome.code, "forbidden")
  })

  it("can ask only your own carriers", async () => {
    const own = defineCarrier({
      id: "naic:54321",
      name: "Own",
      lines: { renters: { states: ["NY"], idempotent: true } },
      ask: async () => Reply.decline("risk_outside_guidelines")
    })
    await using world = await sandbox({ carriers: [own], fictional_carriers: false })
    const { id } = await start(world)
    await world.advance("1 minute")
    const { quote_request } = await world.client.get_quote_request({ id })
    assert.deepStrictEqual(
      quote_request.carriers.map(({ carrier, outcome }) => [carrier.id, outcome]),
      [["naic:54321", "declined"]]
    )
  })

  it("offers your own lines with typed facts", async () => {
    await using world = await sandbox({ ...bicycles, lines: [...standardLines, bicycle] })
    const { id } = await world.client.start_quote_request({
      line: "bicycle",
      consent_receipt_id: "receipt-0001",
      request_key: "the-request",
      application: { home: { state: "NY", zip: "10001" }, bicycle: { value_usd: 1_200, electric: true } }
    })
    const copy = await (await world.snapshot()).sandbox()
    const { quotes } = await copy.advanceUntil(copy.client.wait_for_quotes(id))
    assert.deepStrictEqual(
      quotes.map(({ source }) => source.carrier.name),
      ["Spoke Mutual"]
    )
    await copy.close()
  })

  it("plays scenarios with carriers that quote your own lines", async () => {
    await using world = await sandbox({ ...bicycles, lines: [...standardLines, bicycle], scenario: "price_update" })
    const { id } = await world.client.start_quote_request({
      line: "bicycle",
      consent_receipt_id: "receipt-0001",
      request_key: "the-request",
      application: { home: { state: "NY", zip: "10001" }, bicycle: { value_usd: 1_200, electric: true } }
    })
    await world.advance("15 minutes")
    const { quotes } = await world.client.get_quote_request({ id })
    assert.deepStrictEqual(
      quotes.map(({ price, version }) => [version, price.premium?.amount_minor]),
      [[2, 11_777]]
    )
  })

  it("writes its log to the logger that you choose", async () => {
    const warnings: Array<string> = []
    const ignore = () => {}
    const logger = {
      debug: ignore,
      info: ignore,
      warn: (...entry: ReadonlyArray<object | string>) => void warnings.push(String(entry.at(-1))),
      error: ignore
    }
    await using world = await sandbox({ carriers: [broken], fictional_carriers: false, logger })
    await start(world)
    await world.advance("5 minutes")
    assert.include(warnings.join(), "A carrier's adapter failed")
  })

  it("plays a carrier's responses from a cassette, without a network", async () => {
    const connection = { api_key: "stand-in" }
    await using world = await sandbox({
      carriers: [acme],
      fictional_carriers: false,
      sandbox_connections: { [acme.carrier.id]: connection },
      cassettes: { [acme.carrier.id]: oneAsk }
    })
    const { id } = await world.client.start_quote_request({
      line: "renters",
      consent_receipt_id: "receipt-0001",
      request_key: "the-request",
      application
    })
    await world.advance("1 minute")
    const { quotes } = await world.client.get_quote_request({ id })
    assert.strictEqual(quotes[0]?.source.carrier.id, acme.carrier.id)
    assert.isEmpty(world.missing_from_cassettes())
  })

  it("reports requests that are not in the cassette", async () => {
    await using world = await sandbox({
      carriers: [acme],
      fictional_carriers: false,
      sandbox_connections: { [acme.carrier.id]: { api_key: "stand-in" } },
      cassettes: { [acme.carrier.id]: { ...cassette, exchanges: [] } }
    })
    await world.client.start_quote_request({
      line: "renters",
      consent_receipt_id: "receipt-0001",
      request_key: "the-request",
      application
    })
    await world.advance("1 minute")
    assert.include(world.missing_from_cassettes()[0] ?? "", "Record the cassette again")
  })

  it("rejects a cassette for an unknown carrier, and an invalid configuration", async () => {
    const noCarrier = await sandbox({ cassettes: { "naic:1": cassette } }).catch((error) => error)
    assert.include(noCarrier.message, "naic:1")
    const twice = await sandbox({ carriers: [acme, acme] }).catch((error) => error)
    assert.include(twice.message, "carriers.1")
  })

  it("rejects options of the wrong type with an error that names the option", async () => {
    for (const [given, says] of [
      ["null", /^Error: sandbox needs an options object, such as /],
      ['"zero_quotes"', /^Error: sandbox needs an options object, such as /],
      ['{ "cassettes": null }', /^Error: cassettes: Must be an object/],
      ['{ "cassettes": [{}] }', /^Error: cassettes: Must be an object/],
      ['{ "lines": null }', /^ServiceFailed: The configuration is not valid: lines: Must be a list of lines\./]
    ] as const) {
      assert.match(String(await sandbox(JSON.parse(given)).catch((error) => error)), says)
    }
  })
})

describe("a webhook inbox", () => {
  it("responds as its script says, and lists an event once despite retries", async () => {
    await using world = await sandbox()
    const inbox = await world.inbox("billing", {
      event_types: ["quote_request.completed"],
      script: { in_order: [Receiver.fail(503), Receiver.hang] }
    })
    await start(world)
    await world.advance("1 hour")
    assert.deepStrictEqual(typesOf(inbox.events()), ["quote_request.completed"])
    assert.deepStrictEqual(
      inbox.webhooks().map(({ isDuplicate, respond }) => [respond.does, isDuplicate]),
      [
        ["answer", false],
        ["hang", true],
        ["answer", true]
      ]
    )
  })

  it("can be awaited until an abort signal ends the wait", async () => {
    await using world = await sandbox()
    const inbox = await world.inbox()
    const arrived = inbox.until((webhooks) => webhooks.length > 0)
    await start(world)
    assert.strictEqual((await arrived)[0]?.event?.type, "quote_request.queued")
    const aborted = new AbortController()
    const never = inbox.until(() => false, { signal: aborted.signal }).catch(() => "aborted")
    aborted.abort()
    assert.strictEqual(await never, "aborted")
  })
})

describe("a snapshot", () => {
  it("can start several sandboxes, which continue independently", async () => {
    await using world = await sandbox({ now: new Date("2026-09-26T12:00:00Z") })
    await world.inbox("billing")
    const { id } = await start(world)
    await world.advance("1 minute")
    const quoted = await world.snapshot()
    await world.advance("60 days")

    await using first = await quoted.sandbox()
    await using second = await quoted.sandbox()
    await first.client.force_expiry({}, { idempotency_key: "now" })
    const statusOf = async ({ client }: Sandbox) => (await client.get_quote_request({ id })).quotes[0]?.status
    assert.deepStrictEqual(await Promise.all([world, first, second].map(statusOf)), ["inactive", "inactive", "active"])
    assert.deepStrictEqual(await second.now(), new Date("2026-09-26T12:01:00Z"))

    const billing = await second.inbox("billing")
    await second.advance("60 days")
    assert.include(typesOf(billing.events()), "quote.expired")
    assert.notInclude(typesOf(billing.events()), "quote_request.completed")
  })

  it("preserves the timers of running requests", async () => {
    await using world = await sandbox()
    const { id } = await start(world)
    const started = await world.snapshot()
    await using copy = await started.sandbox()
    await copy.advance("1 minute")
    assert.lengthOf((await copy.client.get_quote_request({ id })).quotes, 3)
    assert.lengthOf((await world.client.get_quote_request({ id, wait_seconds: 0 })).quotes, 0)
  })
})

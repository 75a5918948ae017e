import { assert, describe, it } from "@effect/vitest"
import { ApiError, connect, isApiError } from "@quotewire/http/client"
import { undiciTransport } from "@quotewire/http/undici"
import { against, json, key, rejectionOf } from "./scripted.ts"

const quoteRequest = json({ quote_request: { id: "qreq_1", version: 1, status: "completed" }, quotes: [] })

describe("a client's request", () => {
  it("puts each field in the path, the query or the body", async () => {
    const { client, sent } = against([quoteRequest, json({}), json({})])
    await client.get_quote_request({ id: "qreq_a/b", wait_seconds: 0, since_version: 3 })
    await client.cancel_quote_request({ id: "qreq_1" })
    await client.advance_time({ seconds: 60 })
    assert.deepStrictEqual(
      sent.map(({ init, url }) => `${init.method} ${url} ${init.body ?? ""}`.trim()),
      [
        "GET https://host.example/v1/quote-requests/qreq_a%2Fb?wait_seconds=0&since_version=3",
        "POST https://host.example/v1/quote-requests/qreq_1/cancel {}",
        'POST https://host.example/v1/sandbox/time {"seconds":60}'
      ]
    )
  })

  it("carries the key, the revision and the options in headers, and the key nowhere else", async () => {
    const { client, sent } = against([json({}), json({})])
    await client.get_quote({ id: "qt_1" }, { read_handle: "rh_1" })
    await client.select_scenario({ scenario: "quotes_ready" }, { idempotency_key: "mine" })
    assert.deepStrictEqual(
      sent.map(({ headers }) => Object.fromEntries(headers)),
      [
        {
          accept: "application/json",
          authorization: `Bearer ${key}`,
          "read-handle": "rh_1",
          "service-version": "2026-09-26"
        },
        {
          accept: "application/json",
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          "idempotency-key": "mine",
          "service-version": "2026-09-26"
        }
      ]
    )
    for (const { init, url } of sent) assert.notInclude(url + String(init.body), key)
  })

  it("omits undefined fields", async () => {
    const { client, sent } = against([json({ events: [], next_cursor: "c1" })])
    await client.list_events({ limit: undefined, cursor: undefined })
    await rejectionOf(client.get_quote({ id: "" }))
    assert.strictEqual(sent[0]?.url, "https://host.example/v1/events")
  })

  it.each([
    ["https://host.example", "https://host.example/v1/sandbox"],
    ["https://host.example/", "https://host.example/v1/sandbox"],
    ["https://host.example/insurance", "https://host.example/insurance/v1/sandbox"],
    ["http://127.0.0.1:8787/insurance/", "http://127.0.0.1:8787/insurance/v1/sandbox"]
  ])("uses paths below the base_url %s", async (base_url, url) => {
    const { client, sent } = against([json({})], { base_url })
    await client.get_sandbox({})
    assert.strictEqual(sent[0]?.url, url)
  })

  it.each(["", ".", ".."])("is not sent if the resource ID is %j", async (id) => {
    const { client, sent } = against([])
    const error = await rejectionOf(client.get_quote({ id }))
    assert.isTrue(isApiError(error, "not_found"))
    assert.lengthOf(sent, 0)
  })

  it("is not sent if the idempotency key is not a valid header value", async () => {
    const { client, sent } = against([])
    const error = await rejectionOf(client.reset_sandbox({}, { idempotency_key: "a\nb" }))
    assert.instanceOf(error, ApiError)
    assert.deepInclude(error, {
      code: "invalid_input",
      field_errors: [{ path: "Idempotency-Key", message: "Send this header with 1 to 255 visible ASCII characters." }]
    })
    assert.lengthOf(sent, 0)
  })
})

describe("an input that JSON cannot represent", () => {
  const itself: Record<string, unknown> = {}
  itself.self = itself
  const wrong: ReadonlyArray<readonly [string, unknown, string]> = [
    ["a BigInt", { line: "renters", application: { count: 1n } }, "application"],
    ["a circular object", itself, "self"]
  ]
  it.each(wrong)("is not sent, and the error names the field: %s", async (_, input, path) => {
    const { client, sent } = against([])
    // A JavaScript program can call it like this.
    const started: Promise<unknown> = Reflect.apply(client.start_quote_request, null, [input])
    assert.deepInclude(await rejectionOf(started), {
      code: "invalid_input",
      field_errors: [{ path, message: "Must be a value that JSON can represent." }]
    })
    assert.lengthOf(sent, 0)
  })
})

describe("connect", () => {
  it.each([
    "",
    "host.example",
    "/v1",
    "ftp://host.example",
    "https://user:secret@host.example",
    "https://host.example?a=b",
    "https://host.example#"
  ])("throws an error that omits the value for the invalid base_url %j", (base_url) => {
    assert.throws(
      () => connect({ base_url, key }),
      /^connect got an invalid argument\. base_url: Must be an absolute http or https URL without user, password, query or fragment\.$/
    )
  })

  it.each(["", " ", "a key", "ключ", "a\r\nb"])(
    "throws an error that omits the value for the invalid key %j",
    (wrong) => {
      assert.throws(
        () => connect({ base_url: "https://host.example", key: wrong }),
        /^connect got an invalid argument\. key: Must be an API key: visible ASCII characters, no blanks\.$/
      )
    }
  )

  it.each([
    { max_retries: -1 },
    { max_retries: 1.5 },
    { max_retries: 21 },
    { timeout_ms: 0 },
    { timeout_ms: Number.POSITIVE_INFINITY }
  ])("throws an error that states the option's valid range: %o", (options) => {
    const [name] = Object.keys(options)
    assert.throws(
      () => connect({ base_url: "https://host.example", key, ...options }),
      new RegExp(`^connect got an invalid argument\\. ${name}: Must be a .*number from`)
    )
  })

  it.each([
    [JSON.parse('{ "timeout_ms": "5000" }'), / timeout_ms: Must be a number from/],
    [JSON.parse('{ "fetch": "window.fetch" }'), / fetch: Must be a function\.$/],
    [JSON.parse('{ "transport": "undici" }'), / transport: Must be a function\.$/],
    [{ fetch, transport: undiciTransport() }, / transport: Must not be set together with fetch\.$/],
    [JSON.parse('{ "check_answer": {} }'), / check_answer: Must be a function\.$/]
  ])("throws an error that names the invalid option: %o", (options, says) => {
    assert.throws(() => connect({ base_url: "https://host.example", key, ...options }), says)
  })

  it.each(["null", '"https://host.example"'])("throws an error if the options are not an object: %s", (options) => {
    assert.throws(
      () => connect(JSON.parse(options)),
      /^connect got an invalid argument\. options: Must be an object, such as \{ base_url, key \}\.$/
    )
  })
})

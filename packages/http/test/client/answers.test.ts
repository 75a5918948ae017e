import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { ApiError, type ConnectOptions, HostError, isApiError, type RemoteClient } from "@quotewire/http/client"
import { against, json, key, page, refusal, rejectionOf, reset, type Step } from "./scripted.ts"

const errorOf = async (step: Step) => rejectionOf(against([step], { max_retries: 0 }).client.get_quote({ id: "qt_1" }))

const hostErrorOf = async (step: Step) => {
  const error = await errorOf(step)
  return error instanceof HostError ? error : assert.fail(`rejected with ${String(error)}`)
}

const raw = (body: BodyInit | null, headers: Readonly<Record<string, string>>, status = 200): Step => {
  return () => new Response(body, { status, headers })
}
const asJson = { "content-type": "application/json", "service-version": "2026-09-26" }

describe("a refusal received by the client", () => {
  it("becomes an ApiError with the fields of the error envelope", async () => {
    const error = await errorOf(refusal(404, "not_found", "none"))
    assert.instanceOf(error, ApiError)
    assert.isTrue(isApiError(error, "not_found"))
    assert.isFalse(isApiError(error, "forbidden"))
    assert.deepInclude(error, {
      name: "ApiError",
      code: "not_found",
      status: 404,
      message: "Refused: not_found.",
      field_errors: null,
      retry_action: "none",
      retry_after_seconds: null,
      doc_url: "https://docs.example/v1/errors/not_found",
      request_id: "req_1"
    })
  })

  it("keeps the well-formed field errors, and omits the malformed field errors", async () => {
    const good = { path: "line", message: "Must be a line.", allowed_values: ["pet"] }
    const field_errors = [good, { ...good, allowed_values: "pet" }, { ...good, allowed_values: [1] }, { path: 1 }, null]
    const error = { code: "invalid_input", message: "Wrong.", field_errors, retry_action: { type: "fix_input" } }
    assert.deepInclude(await errorOf(json({ error }, { status: 422 })), { field_errors: [good] })
  })

  it("becomes an ApiError even if a newer host sends an unknown code", async () => {
    assert.deepInclude(await errorOf(refusal(409, "price_negotiable", "negotiate")), {
      code: "price_negotiable",
      retry_action: "negotiate"
    })
  })
})

describe("a response that does not come from the API", () => {
  it.each<[string, Step, string, object]>([
    [
      "an HTML page",
      page(200),
      "The host at https://host.example returned HTTP 200 with text/html; charset=utf-8 instead of JSON.",
      { status: 200, content_type: "text/html; charset=utf-8", retry_action: "none" }
    ],
    [
      "a proxy's page",
      page(504),
      "The host at https://host.example returned HTTP 504 with text/html; charset=utf-8 instead of JSON.",
      { status: 504, retry_action: "retry" }
    ],
    [
      "a redirect",
      page(308, { location: "https://secret.example/" }),
      "The host at https://host.example redirects (HTTP 308). Set base_url to the address that it redirects to.",
      { status: 308, retry_action: "none" }
    ],
    [
      "an empty response",
      raw(null, {}, 204),
      "The host at https://host.example returned HTTP 204 with no content type.",
      { status: 204, content_type: null }
    ],
    [
      "a truncated response",
      raw('{"secret":', asJson),
      "The host at https://host.example returned HTTP 200 with text that is not JSON, or only a part of it.",
      { status: 200, retry_action: "retry" }
    ],
    [
      "JSON of another API",
      raw('{"message":"a secret"}', asJson, 404),
      "The host at https://host.example returned HTTP 404 with JSON that is not from this API.",
      { status: 404, retry_action: "none" }
    ],
    [
      "JSON of another API with HTTP 200",
      raw('{"secret":1}', { "content-type": "application/json" }),
      "The host at https://host.example returned HTTP 200 with JSON without a Service-Version, so it is not from this API.",
      { status: 200, retry_action: "none" }
    ],
    [
      "a JSON list",
      raw("[]", asJson),
      "The host at https://host.example returned HTTP 200 with JSON that is not from this API.",
      { status: 200 }
    ],
    [
      "a response in another revision",
      json({}, { headers: { "service-version": "2099-01-01" } }),
      "The host at https://host.example returned HTTP 200 with revision 2099-01-01 instead of 2026-09-26.",
      { status: 200, retry_action: "none" }
    ]
  ])("causes an error that omits the response's body and the key: %s", async (_, step, message, fields) => {
    const error = await hostErrorOf(step)
    assert.strictEqual(error.message, message)
    assert.deepInclude(error, { reason: "unexpected_answer", ...fields })
    const told = `${error.stack} ${JSON.stringify(error)}`
    assert.notInclude(told, "secret")
    assert.notInclude(told, key)
  })

  it("causes an error that contains the response's request ID", async () => {
    assert.strictEqual((await hostErrorOf(page(502, { "request-id": "req_7" }))).request_id, "req_7")
  })

  it("is read only up to the maximum size", async () => {
    let pulled = 0
    const endless = () =>
      new ReadableStream({
        pull: (controller) => {
          pulled++
          controller.enqueue(new Uint8Array(1024 * 1024).fill(0x20))
        }
      })
    const error = await hostErrorOf(() => new Response(endless(), { headers: asJson }))
    assert.match(error.message, /HTTP 200 with more than \d+ bytes\.$/)
    assert.isBelow(pulled, 50)
  })
})

describe("a response without a field that the client needs", () => {
  const event = { id: "evt_1", type: "quote.created" }
  const readFeed = (client: RemoteClient) => client.events()[Symbol.asyncIterator]().next()
  const wait = (client: RemoteClient) => client.wait_for_quotes("qreq_1")
  it.each<[string, (client: RemoteClient) => Promise<unknown>, object, string]>([
    [
      "a feed without a list of events",
      readFeed,
      { events: { secret: 1 }, next_cursor: "c1" },
      "events: Must be a list"
    ],
    ["a feed without a cursor", readFeed, { events: [event] }, "next_cursor: Must be text"],
    ["a response without a quote request", wait, { secret: 1 }, "quote_request.version: Must be a number"],
    [
      "a quote request without a status",
      wait,
      { quote_request: { version: 1, status: null } },
      "quote_request.status: Must be text"
    ]
  ])("causes an error that names the host and the field, without a retry: %s", async (_, call, answer, wrong) => {
    const { client, sent } = against([json(answer, { headers: { "request-id": "req_7" } })])
    const error = await rejectionOf(call(client))
    if (!(error instanceof HostError)) return assert.fail(String(error))
    assert.deepInclude(error, {
      message: `The host at https://host.example returned HTTP 200 with JSON that is not as documented: ${wrong}.`,
      reason: "unexpected_answer",
      status: 200,
      request_id: "req_7",
      retry_action: "none"
    })
    assert.lengthOf(sent, 1)
  })
})

describe("a program's own check of responses", () => {
  const text = { path: "price.term_months", message: "Must be a number." }

  it("receives the operation and the response, and can reject a field of the response", async () => {
    const seen: Array<unknown> = []
    const check_answer: ConnectOptions["check_answer"] = (operation, answer) => {
      seen.push([operation, answer])
      return seen.length === 1 ? null : text
    }
    const { client } = against([json({ id: "qt_1" }), json({ id: "a secret" })], { check_answer })
    assert.deepStrictEqual<unknown>(await client.get_quote({ id: "qt_1" }), { id: "qt_1" })
    const error = await rejectionOf(client.get_quote({ id: "qt_2" }))
    assert.instanceOf(error, HostError)
    assert.include(String(error), "is not as documented: price.term_months: Must be a number.")
    assert.notInclude(String(error), "secret")
    assert.deepStrictEqual(seen, [
      ["get_quote", { id: "qt_1" }],
      ["get_quote", { id: "a secret" }]
    ])
  })

  it("can accept a response by returning undefined, as plain JavaScript allows", async () => {
    const check_answer = () => JSON.parse("{}").wrong
    const { client } = against([json({ id: "qt_1" })], { check_answer })
    assert.deepStrictEqual<unknown>(await client.get_quote({ id: "qt_1" }), { id: "qt_1" })
  })

  it("can reject the call by throwing its own error", async () => {
    const own = new Error("The schema is broken.")
    const check_answer = () => {
      throw own
    }
    const { client, sent } = against([json({ id: "qt_1" })], { check_answer })
    assert.strictEqual(await rejectionOf(client.get_quote({ id: "qt_1" })), own)
    assert.lengthOf(sent, 1)
  })
})

describe("a host that cannot be reached", () => {
  it("causes an error that contains the system's error code", async () => {
    const error = await hostErrorOf(reset)
    assert.deepInclude(error, {
      reason: "unreachable",
      message: "Cannot reach the host at https://host.example (ECONNRESET).",
      status: null,
      retry_action: "retry"
    })
    if (!(error.cause instanceof Error)) return assert.fail("has no cause")
    assert.deepInclude(error.cause, { name: "TypeError", message: "fetch failed" })
    assert.deepInclude(error.cause.cause, { message: "read ECONNRESET", code: "ECONNRESET" })
  })
})

describe("a custom fetch function", () => {
  const read_handle = "rh_of_a_test"
  const failure = (message: string, cause?: unknown) =>
    Object.assign(new TypeError(message, { cause }), { config: { headers: { authorization: `Bearer ${key}` } } })
  const rejects = (thrown: unknown) => () => Promise.reject(thrown)
  const throwing = (): never => {
    throw failure("At once.")
  }
  const faults: ReadonlyArray<readonly [string, NonNullable<ConnectOptions["fetch"]>, RegExp]> = [
    [
      "rejects with an error that contains the request",
      rejects(failure("It broke.")),
      /TypeError: It broke\.[\s\S]*answers\.test\.ts/
    ],
    [
      "rejects with an error whose message contains secrets",
      rejects(failure(`No: ${key}, ${read_handle}.`)),
      /TypeError: No: …, …\./
    ],
    [
      "rejects with an error whose cause contains the request",
      rejects(failure("It broke.", failure(`With ${key}.`))),
      /TypeError: With …\./
    ],
    ["throws instead of returning a promise", throwing, /TypeError: At once\./],
    ["rejects with a string", rejects(`No ${key}`), /a value that is not an error: No …/],
    ["rejects with null", rejects(null), /a value that is not an error: null/],
    ["rejects with an object without a prototype", rejects(Object.create(null)), /cannot be read/]
  ]
  it.each(faults)("causes an error that omits the key if the function %s", async (_, fetch, told) => {
    const { client } = against([], { fetch, max_retries: 0 })
    const error = await rejectionOf(client.get_quote({ id: "qt_1" }, { read_handle }))
    assert.instanceOf(error, HostError)
    const all = inspect(error, { depth: 10, showHidden: true })
    assert.match(all, told)
    assert.notInclude(all, key)
    assert.notInclude(all, read_handle)
  })

  it("cannot keep an abort from rejecting the call with the signal's reason", async () => {
    const controller = new AbortController()
    const reason = new Error("The page was left.")
    const fetch = () => {
      controller.abort(reason)
      return new Promise<never>(() => {})
    }
    const { client } = against([], { fetch })
    assert.strictEqual(await rejectionOf(client.get_quote({ id: "qt_1" }, { signal: controller.signal })), reason)
  })
})

describe("a response from the API", () => {
  it("can contain unknown fields and values", async () => {
    const value = { id: "qt_1", status: "a new one", mood: "fine" }
    assert.deepStrictEqual<unknown>(await against([json(value)]).client.get_quote({ id: "qt_1" }), value)
  })

  it("is accepted in an older revision if it is an idempotent replay", async () => {
    const headers = { "service-version": "2026-01-01", "idempotent-replayed": "true" }
    const { client } = against([json({ control: "reset" }, { headers })])
    assert.deepInclude(await client.reset_sandbox({}), { control: "reset" })
  })

  it("is decoded correctly even if a character is split between chunks", async () => {
    const bytes = new TextEncoder().encode('{"label":"Motörhead 東京 🦆"}')
    const slowly = () =>
      new ReadableStream({
        start: (controller) => {
          for (const byte of bytes) controller.enqueue(Uint8Array.of(byte))
          controller.close()
        }
      })
    const { client } = against([() => new Response(slowly(), { headers: asJson })])
    assert.deepStrictEqual<unknown>(await client.get_quote({ id: "qt_1" }), { label: "Motörhead 東京 🦆" })
  })
})

import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { HostError, isApiError, type RemoteClient } from "@quotewire/http/client"
import { against, json, page, refusal, reset, type Step } from "./scripted.ts"

beforeEach(() => {
  vi.useFakeTimers()
  // Pauses have no random part.
  vi.spyOn(Math, "random").mockReturnValue(0)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Makes a call, lets time pass, and returns how it ended. */
const ending = async (promise: Promise<unknown>, passMs = 600_000) => {
  const note: { value?: unknown; error?: unknown } = {}
  promise.then(
    (value) => Object.assign(note, { value }),
    (error) => Object.assign(note, { error })
  )
  await vi.advanceTimersByTimeAsync(passMs)
  return note
}

const unavailable = refusal(503, "service_unavailable", "retry", { "retry-after": "3" })
const read = (client: RemoteClient) => client.get_quote({ id: "qt_1" })
const report = (client: RemoteClient) => client.send_feedback({ kind: "bug", summary: "a", expected: "b", actual: "c" })
const pausesOf = (sent: ReadonlyArray<{ readonly at_ms: number }>) =>
  sent.slice(1).map(({ at_ms }, index) => at_ms - (sent[index]?.at_ms ?? 0))

describe("a client's retry", () => {
  it.each<[string, Step]>([
    ["a lost connection", reset],
    ["an overloaded proxy's page", page(502)],
    ["a truncated response", () => new Response('{"id":', { headers: { "content-type": "application/json" } })],
    ["a refusal that asks for a retry", refusal(503, "service_unavailable", "retry")],
    ["a refusal because the first call is still running", refusal(409, "conflict", "wait")]
  ])("is attempted after %s", async (_, step) => {
    const { client, sent } = against([step, json({ id: "qt_1" })])
    assert.deepStrictEqual(await ending(read(client)), { value: { id: "qt_1" } })
    assert.deepStrictEqual(pausesOf(sent), [500])
  })

  it.each<[string, Step]>([
    ["a refusal of invalid input", refusal(422, "invalid_input", "correct_input")],
    ["an internal error to report to support", refusal(500, "internal_error", "contact_support")],
    ["a refusal from a closed service", refusal(503, "service_unavailable", "none")],
    ["a not-found page", page(404)],
    ["a redirect", page(301, { location: "https://other.example/" })]
  ])("is not attempted after %s", async (_, step) => {
    const { client, sent } = against([step])
    assert.property(await ending(read(client)), "error")
    assert.lengthOf(sent, 1)
  })

  it("waits as long as Retry-After says when reading the feed, even for months", async () => {
    const months = 90 * 86_400
    const step = refusal(429, "rate_limited", "wait", { "retry-after": `${months}` })
    const { client, sent } = against(Array.from({ length: 200 }, () => step))
    const controller = new AbortController()
    const reading = async () => {
      for await (const _ of client.events({ signal: controller.signal })) assert.fail("There are no events")
    }
    const read = reading()
    await vi.advanceTimersByTimeAsync(7 * 86_400_000)
    assert.lengthOf(sent, 1)
    controller.abort()
    await read
  })

  it("waits twice as long as the previous retry, up to eight seconds", async () => {
    const { client, sent } = against(
      Array.from({ length: 7 }, () => reset),
      { max_retries: 6 }
    )
    const { error } = await ending(read(client))
    assert.instanceOf(error, HostError)
    assert.deepStrictEqual(pausesOf(sent), [500, 1_000, 2_000, 4_000, 8_000, 8_000])
  })

  it("waits up to a quarter longer than its base delay, at random", async () => {
    vi.mocked(Math.random).mockReturnValue(0.999_999)
    const { client, sent } = against([reset, json({})])
    await ending(read(client))
    assert.approximately(pausesOf(sent)[0] ?? 0, 625, 1)
  })

  it("waits as long as Retry-After says, in seconds or as a date", async () => {
    const date = new Date(Date.now() + 20_000).toUTCString()
    const { client, sent } = against([unavailable, page(503, { "retry-after": date }), json({})])
    await ending(read(client))
    const [first, second = 0] = pausesOf(sent)
    assert.strictEqual(first, 3_000)
    assert.approximately(second, 17_000, 1_000)
  })

  it("is not attempted if Retry-After exceeds a minute", async () => {
    const { client, sent } = against([refusal(429, "rate_limited", "wait", { "retry-after": "7200" })])
    const { error } = await ending(read(client))
    assert.deepInclude(error, { code: "rate_limited", status: 429, retry_after_seconds: 7_200 })
    assert.lengthOf(sent, 1)
  })

  it("has the same idempotency key as the first attempt, even if the client generated the key", async () => {
    const { client, sent } = against([reset, unavailable, json({}), json({})])
    await ending(client.advance_time({ seconds: 60 }))
    await ending(client.advance_time({ seconds: 60 }))
    const keys = sent.map(({ headers }) => headers.get("idempotency-key"))
    assert.match(String(keys[0]), /^[\x21-\x7e]{20,}$/)
    assert.deepStrictEqual(keys.slice(0, 3), [keys[0], keys[0], keys[0]])
    assert.notStrictEqual(keys[3], keys[0])
  })

  it("sends the same body again when it repeats a start call", async () => {
    const { client, sent } = against([reset, json({ id: "qreq_1" })])
    const start = {
      line: "renters",
      request_key: "first",
      consent_receipt_id: "receipt-0001",
      application: {}
    } as const
    await ending(client.start_quote_request(start))
    assert.strictEqual(sent[0]?.init.body, sent[1]?.init.body)
  })

  it.each<[string, Step]>([
    ["was lost", reset],
    ["failed while storage was unavailable", unavailable],
    ["was refused by an overloaded proxy", page(503)]
  ])("is not attempted for a feedback report that %s, to avoid storing the report twice", async (_, step) => {
    const { client, sent } = against([step])
    assert.property(await ending(report(client)), "error")
    assert.lengthOf(sent, 1)
  })

  it("is attempted for a feedback report that a rate limit refused", async () => {
    const { client } = against([
      refusal(429, "rate_limited", "wait", { "retry-after": "2" }),
      json({ status: "received" })
    ])
    assert.deepStrictEqual(await ending(report(client)), { value: { status: "received" } })
  })
})

describe("a client's attempt", () => {
  it("times out after timeout_ms, and the next attempt starts", async () => {
    const { client, sent } = against(["hangs", json({ id: "qt_1" })], { timeout_ms: 2_000 })
    assert.deepStrictEqual(await ending(read(client)), { value: { id: "qt_1" } })
    assert.deepStrictEqual(pausesOf(sent), [2_500])
    assert.isTrue(sent[0]?.init.signal?.aborted)
  })

  it("fails with an error that states timeout_ms when it times out", async () => {
    const { client } = against(["hangs"], { timeout_ms: 2_000, max_retries: 0 })
    const { error } = await ending(read(client))
    assert.instanceOf(error, HostError)
    assert.deepInclude(error, {
      reason: "timed_out",
      message: "The host at https://host.example did not respond within 2000 ms.",
      retry_action: "retry"
    })
  })

  it("times out 20 seconds later if it is a long poll", async () => {
    const { client } = against(["hangs"], { timeout_ms: 2_000, max_retries: 0 })
    const reading = client.get_quote_request({ id: "qreq_1" })
    assert.deepStrictEqual(await ending(reading, 21_000), {})
    assert.property(await ending(reading, 1_000), "error")
  })
})

describe("an abort signal", () => {
  const reason = new Error("Not wanted any more.")

  it.each<[string, Step]>([
    ["during a request", "hangs"],
    ["between two attempts", refusal(503, "service_unavailable", "retry", { "retry-after": "30" })]
  ])("aborts a call immediately, with the signal's reason: %s", async (_, step) => {
    const controller = new AbortController()
    const { client, sent } = against([step])
    const reading = client.get_quote({ id: "qt_1" }, { signal: controller.signal })
    assert.deepStrictEqual(await ending(reading, 1_000), {})
    controller.abort(reason)
    assert.deepStrictEqual(await ending(reading, 0), { error: reason })
    assert.lengthOf(sent, 1)
    assert.strictEqual(vi.getTimerCount(), 0)
  })

  it("prevents a call if the signal is already aborted", async () => {
    const { client, sent } = against([])
    const reading = client.get_quote({ id: "qt_1" }, { signal: AbortSignal.abort(reason) })
    assert.deepStrictEqual(await ending(reading), { error: reason })
    assert.lengthOf(sent, 0)
  })

  it("aborts a call even if fetch ignores the signal", async () => {
    const controller = new AbortController()
    const { client } = against([], { fetch: () => new Promise(() => {}) })
    const reading = client.get_quote({ id: "qt_1" }, { signal: controller.signal })
    controller.abort(reason)
    assert.deepStrictEqual(await ending(reading, 0), { error: reason })
  })
})

describe("waiting for quotes over HTTP", () => {
  const answer = (version: number, status: string) =>
    json({ quote_request: { id: "qreq_1", version, status }, quotes: [] })

  it("survives an outage that outlasts one call's retries", async () => {
    const away = Array.from({ length: 8 }, () => reset)
    const { client } = against([answer(1, "in_progress"), ...away, page(502), answer(5, "completed")])
    const { value } = await ending(client.wait_for_quotes("qreq_1"))
    assert.deepInclude(value, { quote_request: { id: "qreq_1", version: 5, status: "completed" } })
  })

  it("ends with an error after a permanent refusal", async () => {
    const { client } = against([refusal(404, "not_found", "none")])
    const { error } = await ending(client.wait_for_quotes("qreq_1"))
    assert.isTrue(isApiError(error, "not_found"))
  })
})

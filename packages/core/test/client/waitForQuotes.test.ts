import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { failing, scripted } from "./support.ts"

const answer = (version: number, status: string, quotes: number = version - 1) => ({
  quote_request: { id: "qreq_1", version, status },
  quotes: Array.from({ length: quotes }, (_, index) => ({ id: `qt_${index}` }))
})

/** The result or the error of a promise, recorded as soon as it settles. */
const noted = (promise: Promise<unknown>) => {
  const note: { value?: unknown; error?: unknown; at_ms?: number } = {}
  const began = Date.now()
  const end = (what: object) => Object.assign(note, what, { at_ms: Date.now() - began })
  promise.then(
    (value) => end({ value }),
    (error) => end({ error })
  )
  return note
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe("wait_for_quotes", () => {
  it("reads immediately, then long-polls with since_version until the request is completed", async () => {
    const { calls, client } = scripted(answer(1, "in_progress"), answer(2, "in_progress"), answer(3, "completed"))
    const found = await client.wait_for_quotes("qreq_1")
    assert.strictEqual(found.quotes.length, 2)
    assert.deepStrictEqual(
      calls.map(({ input }) => input),
      [
        { id: "qreq_1", wait_seconds: 0 },
        { id: "qreq_1", wait_seconds: 20, since_version: 1 },
        { id: "qreq_1", wait_seconds: 20, since_version: 2 }
      ]
    )
  })

  it.each(["completed", "failed", "action_required"])(
    "resolves immediately with a request that is %s",
    async (status) => {
      const { calls, client } = scripted(answer(4, status))
      assert.strictEqual((await client.wait_for_quotes("qreq_1")).quote_request.status, status)
      assert.strictEqual(calls.length, 1)
    }
  )

  it("resolves as soon as the caller's condition holds", async () => {
    const { client } = scripted(answer(1, "in_progress"), answer(2, "in_progress"), answer(3, "completed"))
    const { quotes } = await client.wait_for_quotes("qreq_1", { until: ({ quotes }) => quotes.length > 0 })
    assert.strictEqual(quotes.length, 1)
  })

  it("resolves with the current state on timeout, and ends the pending read", async () => {
    const { calls, client } = scripted(answer(2, "in_progress"), "hangs")
    const note = noted(client.wait_for_quotes("qreq_1", { timeout_ms: 3_000 }))
    await vi.advanceTimersByTimeAsync(10_000)
    assert.deepInclude(note, { value: answer(2, "in_progress"), at_ms: 3_000 })
    assert.strictEqual(calls.at(-1)?.options.signal?.aborted, true)
  })

  it("rejects with the last error or a timeout error if it times out before any response", async () => {
    const unavailable = failing("retry")
    const note = noted(scripted(unavailable).client.wait_for_quotes("qreq_1", { timeout_ms: 3_000 }))
    const silent = noted(scripted("hangs").client.wait_for_quotes("qreq_1", { timeout_ms: 3_000 }))
    await vi.advanceTimersByTimeAsync(3_000)
    assert.strictEqual(note.error, unavailable)
    assert.include(String(silent.error), "TimeoutError: No response arrived within 3000 ms.")
  })

  it("retries after a temporary error, but not before the error's retry time", async () => {
    const steps = [failing("retry"), failing("wait", 7), answer(1, "completed")]
    const note = noted(scripted(...steps).client.wait_for_quotes("qreq_1"))
    await vi.advanceTimersByTimeAsync(60_000)
    assert.deepInclude(note, { value: answer(1, "completed"), at_ms: 7_500 })
  })

  it("rejects with any error that is not temporary", async () => {
    const forbidden = failing("none")
    const note = noted(scripted(answer(1, "in_progress"), forbidden).client.wait_for_quotes("qreq_1"))
    await vi.advanceTimersByTimeAsync(0)
    assert.strictEqual(note.error, forbidden)
  })

  it("rejects with the abort signal's reason, even between two reads", async () => {
    const reason = new Error("The page was left.")
    for (const steps of [[answer(1, "in_progress"), "hangs"] as const, [failing("wait", 60)] as const]) {
      const controller = new AbortController()
      const note = noted(scripted(...steps).client.wait_for_quotes("qreq_1", { signal: controller.signal }))
      await vi.advanceTimersByTimeAsync(1_000)
      assert.notProperty(note, "error")
      controller.abort(reason)
      await vi.advanceTimersByTimeAsync(0)
      assert.strictEqual(note.error, reason)
    }
  })

  it("does not poll in a tight loop when a host responds immediately without a change", async () => {
    const { calls, client } = scripted(answer(1, "in_progress"))
    const note = noted(client.wait_for_quotes("qreq_1", { timeout_ms: 10_000 }))
    await vi.advanceTimersByTimeAsync(10_000)
    assert.deepInclude(note, { value: answer(1, "in_progress") })
    assert.isBelow(calls.length, 30)
  })

  it("sends the read handle", async () => {
    const { calls, client } = scripted(answer(1, "completed"))
    await client.wait_for_quotes("qreq_1", { read_handle: "rh_1" })
    assert.strictEqual(calls[0]?.options.read_handle, "rh_1")
  })

  it.each([0, -1, Number.NaN, 86_400_001])(
    "rejects a timeout_ms of %d with an error that names timeout_ms",
    async (timeout_ms) => {
      const { client } = scripted(answer(1, "completed"))
      const note = noted(client.wait_for_quotes("qreq_1", { timeout_ms }))
      await vi.advanceTimersByTimeAsync(0)
      assert.match(
        String(note.error),
        /^InvalidArgument: wait_for_quotes got an invalid argument\. timeout_ms: Must be a number from 1 to 86400000\.$/
      )
    }
  )
})

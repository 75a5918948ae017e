import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import type { Client, EventFeed } from "../../src/client/index.ts"
import { failing, type Step, scripted } from "./support.ts"

const page = (next_cursor: string, ...ids: ReadonlyArray<string>): Step => ({
  events: ids.map((id) => ({ id })),
  next_cursor
})

/** Reads a feed, and records each event with the cursor to store after it. */
const reading = (feed: EventFeed, atMost = Number.POSITIVE_INFINITY) => {
  const note: { readonly seen: Array<string>; ended?: unknown } = { seen: [] }
  const read = async () => {
    for await (const { id } of feed) {
      note.seen.push(`${id} ${feed.cursor}`)
      if (note.seen.length >= atMost) break
    }
  }
  read().then(
    () => Object.assign(note, { ended: "without an error" }),
    (error) => Object.assign(note, { ended: error })
  )
  return note
}

const settle = () => vi.advanceTimersByTimeAsync(0)

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe("an event feed", () => {
  it("yields every event of every page, and advances its cursor with the last event of a page", async () => {
    const { calls, client } = scripted(page("c1", "a", "b"), page("c2", "c"), "hangs")
    const note = reading(client.events({ after: "c0" }))
    await settle()
    assert.deepStrictEqual(note.seen, ["a c0", "b c1", "c c2"])
    assert.deepStrictEqual(
      calls.map(({ input }) => input),
      ["c0", "c1", "c2"].map((cursor) => ({ limit: 100, cursor }))
    )
  })

  it("starts at the oldest event if there is no cursor", async () => {
    const { calls, client } = scripted(page("c1", "a", "b"), "hangs")
    const note = reading(client.events({ limit: 2 }))
    await settle()
    assert.deepStrictEqual([calls[0]?.input, note.seen[0]], [{ limit: 2 }, "a null"])
  })

  it("continues at its cursor in a second loop, which repeats the events of an unfinished page", async () => {
    const { calls, client } = scripted(page("c1", "a"), page("c2", "b", "c"), page("c2", "b", "c"), "hangs")
    const feed = client.events()
    reading(feed, 2)
    await settle()
    assert.strictEqual(feed.cursor, "c1")
    const second = reading(feed)
    await settle()
    assert.deepStrictEqual(second.seen, ["b c1", "c c2"])
    assert.deepInclude(calls[2]?.input, { cursor: "c1" })
  })

  it("yields each event once to each of two concurrent loops", async () => {
    const { client } = scripted(page("c1", "a", "b"), page("c1", "a", "b"), page("c2", "c"), page("c2", "c"), "hangs")
    const feed = client.events()
    const notes = [reading(feed), reading(feed)]
    await settle()
    for (const { seen } of notes)
      assert.deepStrictEqual(
        seen.map((text) => text[0]),
        ["a", "b", "c"]
      )
  })

  it("doubles its wait while there are no new events, and resets the wait after an event", async () => {
    const empty = page("c0")
    const { calls, client } = scripted(empty, empty, empty, empty, empty, empty, page("c1", "a"), empty, "hangs")
    reading(client.events({ poll_ms: 100 }))
    await vi.advanceTimersByTimeAsync(60_000)
    const waits = calls.slice(1).map(({ at_ms }, index) => at_ms - (calls[index]?.at_ms ?? 0))
    assert.deepStrictEqual(waits, [100, 200, 400, 800, 1_000, 1_000, 0, 100])
  })

  it("does not poll in a tight loop if a host returns the same page again and again", async () => {
    const { calls, client } = scripted(page("c1", "a"), page("c1", "a"), page("c1", "a"), "hangs")
    reading(client.events({ poll_ms: 100 }))
    await vi.advanceTimersByTimeAsync(60_000)
    const waits = calls.slice(1).map(({ at_ms }, index) => at_ms - (calls[index]?.at_ms ?? 0))
    assert.deepStrictEqual(waits, [0, 100, 200])
  })

  it("retries after a temporary error, but not before the error's retry time", async () => {
    const { client } = scripted(failing("retry"), failing("wait", 30), page("c1", "a"), "hangs")
    const note = reading(client.events())
    await vi.advanceTimersByTimeAsync(30_499)
    assert.deepStrictEqual(note.seen, [])
    await vi.advanceTimersByTimeAsync(1)
    assert.deepStrictEqual(note.seen, ["a c1"])
  })

  it("throws an error that is not temporary, such as an expired cursor", async () => {
    const expired = failing("read_status")
    const note = reading(scripted(page("c1", "a"), expired).client.events())
    await settle()
    assert.deepStrictEqual([note.seen, note.ended], [["a c1"], expired])
  })

  const waits: ReadonlyArray<readonly [string, ReadonlyArray<Step>]> = [
    ["reads", ["hangs"]],
    ["waits for new events", [page("c1")]],
    ["waits after an error", [failing("wait", 60)]]
  ]
  it.each(waits)("ends without an error when it is aborted while it %s", async (_, steps) => {
    const controller = new AbortController()
    const note = reading(scripted(...steps).client.events({ signal: controller.signal }))
    await settle()
    assert.notProperty(note, "ended")
    controller.abort()
    await settle()
    assert.strictEqual(note.ended, "without an error")
  })

  it("yields no event after it is aborted", async () => {
    const controller = new AbortController()
    const { client } = scripted(page("c1", "a", "b", "c"))
    const seen: Array<string> = []
    for await (const { id } of client.events({ signal: controller.signal })) {
      seen.push(id)
      controller.abort()
    }
    assert.deepStrictEqual(seen, ["a"])
  })

  const wrong: ReadonlyArray<readonly [string, Parameters<Client["events"]>[0]]> = [
    ["limit", { limit: 101 }],
    ["limit", JSON.parse('{ "limit": "5" }')],
    ["poll_ms", { poll_ms: 0 }]
  ]
  it.each(wrong)("immediately throws an error for an invalid %s", (name, options) => {
    const { client } = scripted(page("c1"))
    assert.throws(() => client.events(options), new RegExp(` ${name}: Must be a number from `))
  })
})

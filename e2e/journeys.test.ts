import { assert } from "@effect/vitest"
import { ExampleApplications } from "@quotewire/core/testing"
import { Effect, Fiber } from "effect"
import { Host } from "./host.ts"
import { everywhere } from "./hosts.ts"
import type { Keys } from "./support/Call.ts"

const start = (keys: Keys, request_key: string, more: object = {}, options = {}) =>
  Effect.flatMap(Host, (host) =>
    host.call(
      keys,
      "start_quote_request",
      {
        line: "renters",
        consent_receipt_id: "receipt-0001",
        request_key,
        application: ExampleApplications.smallest.renters,
        ...more
      },
      options
    )
  )

everywhere("a caller's journeys", (it) => {
  it.effect("a caller reads a line's capabilities, including a schema of the required facts", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* host.newOrganization
      const { body, status } = yield* host.call(keys, "get_capabilities", { line: "personal_auto" })
      assert.strictEqual(status, 200)
      const { capabilities } = body
      assert.strictEqual(capabilities.states.length, 51)
      assert.deepStrictEqual(capabilities.required_facts_schema.required, ["garaging_address", "drivers", "vehicles"])
      const texas = capabilities.states.find((state: { code: string }) => state.code === "TX")
      assert.deepStrictEqual(texas.liability_minimum.bodily_injury_per_person, {
        amount_minor: 3_000_000,
        currency: "USD"
      })
      assert.strictEqual(capabilities.scenarios.length, 24)
    })
  )

  it.effect("a caller learns of every missing or wrong fact before any carrier is asked", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* host.newOrganization
      const missing = yield* start(keys, "missing", { line: "pet", application: { pets: [{ species: "dog" }] } })
      assert.strictEqual(missing.status, 422)
      assert.strictEqual(missing.body.error.code, "needs_information")
      assert.deepStrictEqual(missing.body.error.field_errors.map(({ path }: { path: string }) => path).toSorted(), [
        "application.pets.0.age_years",
        "application.pets.0.birth_month",
        "application.pets.0.breed",
        "application.residence.state",
        "application.residence.zip"
      ])
      const wrong = yield* start(keys, "wrong", {
        consent_receipt_id: "x",
        application: { dwelling: { address: { state: "PR", zip: "00901" }, type: "castle" }, ssn: "123-45-6789" }
      })
      assert.strictEqual(wrong.body.error.code, "invalid_input")
      assert.notInclude(JSON.stringify(wrong.body), "123-45-6789")
      assert.notInclude(JSON.stringify(wrong.body), "castle")
      const events = yield* host.call(keys, "list_events", {})
      assert.deepStrictEqual(events.body.events, [])
    })
  )

  it.effect("a caller starts a request, waits for its quotes, and reads its events in the feed", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* host.newOrganization
      const started = yield* start(keys, "whole")
      assert.strictEqual(started.status, 202)
      assert.strictEqual(started.body.status_details.reason, "queued")
      const waiting = yield* Effect.forkChild(
        host.call(keys, "get_quote_request", { id: started.body.id, since_version: 1, wait_seconds: 20 })
      )
      yield* host.call(keys, "advance_time", { seconds: 10 })
      const { body } = yield* Fiber.join(waiting)
      assert.isAbove(body.quote_request.version, 1)
      const done = yield* host.call(keys, "get_quote_request", { id: started.body.id })
      assert.strictEqual(done.body.quote_request.status, "completed")
      assert.strictEqual(done.body.quotes.length, 3)
      const first = yield* host.call(keys, "list_events", { limit: 4 })
      const rest = yield* host.call(keys, "list_events", { limit: 100, cursor: first.body.next_cursor })
      const types = [...first.body.events, ...rest.body.events].map(({ type }: { type: string }) => type)
      assert.deepStrictEqual(types, [
        "quote_request.queued",
        "quote_request.updated",
        "quote.created",
        "quote_request.updated",
        "quote.created",
        "quote_request.updated",
        "quote.created",
        "quote_request.completed"
      ])
    })
  )

  it.effect("a caller that repeats a request key gets the original request, or a conflict for different input", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* host.newOrganization
      const starts = yield* Effect.all(
        Array.from({ length: 20 }, () => start(keys, "same")),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(starts.map(({ body }) => body.id)).size, 1)
      const other = yield* start(keys, "same", { line: "pet", application: ExampleApplications.smallest.pet })
      assert.strictEqual(other.status, 409)
      assert.strictEqual(other.body.error.retry_action.type, "use_new_request_key")
      const listed = yield* host.call(keys, "list_quote_requests", {})
      assert.strictEqual(listed.body.quote_requests.length, 1)
    })
  )

  it.effect("a caller can cancel a queued request, but not a request that has begun", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* host.newOrganization
      const queued = yield* start(keys, "queued", { scenario: "waits_in_queue" })
      const cancelled = yield* host.call(keys, "cancel_quote_request", { id: queued.body.id })
      assert.deepStrictEqual(cancelled.body, { id: queued.body.id, version: 2, status: "cancelled" })
      const running = yield* start(keys, "running")
      yield* host.call(keys, "advance_time", { seconds: 2 })
      const late = yield* host.call(keys, "cancel_quote_request", { id: running.body.id })
      assert.strictEqual(late.body.status, "cannot_stop")
    })
  )

  it.effect("a caller needs the read handle to read a request that was started with a platform key", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* host.newOrganization
      const started = yield* start(keys, "mine", {}, { key: keys.platform })
      const { id, read_handle } = started.body
      assert.match(read_handle, /^rh_[A-Za-z0-9_-]{27}$/)
      const read = (handle?: string) =>
        host.call(
          keys,
          "get_quote_request",
          { id, wait_seconds: 0 },
          { key: keys.platform, ...(handle !== undefined && { read_handle: handle }) }
        )
      assert.strictEqual((yield* read(read_handle)).status, 200)
      assert.strictEqual((yield* read(`${read_handle.slice(0, -1)}~`)).status, 404)
      assert.strictEqual((yield* read()).status, 404)
      assert.strictEqual((yield* host.call(keys, "list_events", {}, { key: keys.platform })).status, 403)
    })
  )

  it.effect("a caller cannot see another organization's data", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const mine = yield* host.newOrganization
      const theirs = yield* host.newOrganization
      const started = yield* start(mine, "private")
      yield* host.call(mine, "advance_time", { seconds: 30 })
      const read = yield* host.call(mine, "get_quote_request", { id: started.body.id })
      const [quote] = read.body.quotes
      assert.strictEqual((yield* host.call(theirs, "get_quote_request", { id: started.body.id })).status, 404)
      assert.strictEqual((yield* host.call(theirs, "get_quote", { id: quote.id })).status, 404)
      const feed = yield* host.call(mine, "list_events", {})
      const foreign = yield* host.call(theirs, "list_events", { cursor: feed.body.next_cursor })
      assert.strictEqual(foreign.body.error.code, "invalid_cursor")
    })
  )

  it.effect("a caller can open an active quote's link, and gets 410 once the quote has expired", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* host.newOrganization
      const started = yield* start(keys, "link", { scenario: "quote_expires_soon" })
      yield* host.call(keys, "advance_time", { seconds: 30 })
      const read = yield* host.call(keys, "get_quote_request", { id: started.body.id })
      const [action] = read.body.quotes[0].next_actions
      assert.strictEqual(action.type, "continue_on_carrier_site")
      assert.strictEqual(action.url, host.base_url + action.redirect_path)
      const click = () => Effect.promise(() => fetch(host.base_url + action.redirect_path, { redirect: "manual" }))
      assert.strictEqual((yield* click()).status, 200)
      yield* host.call(keys, "advance_time", { seconds: 200 })
      const dead = yield* click()
      assert.strictEqual(dead.status, 410)
      assert.include(yield* Effect.promise(() => dead.text()), "expired")
    })
  )

  it.effect("a caller's sandbox reset deletes all data, and expires feed cursors", () =>
    Effect.gen(function* () {
      const host = yield* Host
      const keys = yield* host.newOrganization
      const started = yield* start(keys, "gone")
      yield* host.call(keys, "advance_time", { seconds: 3_600 })
      const feed = yield* host.call(keys, "list_events", {})
      const reset = yield* host.call(keys, "reset_sandbox", {}, { idempotency_key: "reset" })
      assert.strictEqual(reset.body.workspace.reset_count, 1)
      assert.strictEqual(reset.body.removed.quote_requests, 1)
      assert.strictEqual(reset.body.removed.quotes, 3)
      assert.deepStrictEqual(yield* host.call(keys, "reset_sandbox", {}, { idempotency_key: "reset" }), reset)
      assert.strictEqual((yield* host.call(keys, "get_quote_request", { id: started.body.id })).status, 404)
      const voided = yield* host.call(keys, "list_events", { cursor: feed.body.next_cursor })
      assert.strictEqual(voided.status, 410)
      assert.strictEqual(voided.body.error.code, "event_cursor_expired")
    })
  )
})

import { assert, describe, it } from "@effect/vitest"
import { embed, generateSealKey } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Redacted } from "effect"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"
import { runInProcess } from "./support/inProcess.ts"

/** A service on an empty database, and a way to run `quotewire consumers` there. */
const service = Effect.gen(function* () {
  const { url } = yield* scopedDatabase
  const quotewire = yield* Effect.acquireRelease(
    Effect.sync(() =>
      embed({ storage: PgStorage.layer({ url: Redacted.make(url) }), seal_keys: [generateSealKey()], work: false })
    ),
    ({ close }) => Effect.promise(close)
  )
  const env = { QUOTEWIRE_DATABASE_URL: url }
  const run = (...args: ReadonlyArray<string>) => runInProcess(["consumers", ...args], env)
  return { quotewire, run }
})

/** A service whose consumer `billing` has parked one event. */
const withParkedEvent = Effect.gen(function* () {
  const { quotewire, run } = yield* service
  const organization = yield* Effect.promise(() => quotewire.createOrganization("Acme"))
  const { key } = yield* Effect.promise(() =>
    quotewire.createKey({ organization_id: organization.id, environment: "sandbox", kind: "server" })
  )
  let park = (_: unknown): void => {}
  const parked = new Promise((resolve) => {
    park = resolve
  })
  const refuse = () => Promise.reject(new Error("no"))
  const stop = quotewire.consume("billing", refuse, { max_attempts: 1, on_parked: park })
  yield* Effect.promise(() => stop.ready)
  yield* Effect.promise(() =>
    quotewire.client(key).start_quote_request({
      line: "renters",
      consent_receipt_id: "receipt-1",
      request_key: "once",
      application: ExampleApplications.smallest.renters
    })
  )
  yield* Effect.promise(() => parked)
  yield* Effect.promise(stop)
  const { events } = JSON.parse((yield* run("parked", "billing", "--json")).out)
  const place = ["--organization", organization.id, "--environment", "sandbox"]
  return { organization, event: events[0], place, run }
})

describe("quotewire consumers", () => {
  it.live("lists nothing if there are no consumers", () =>
    Effect.gen(function* () {
      const { run } = yield* service
      assert.deepInclude(yield* run("list"), { how: "done", out: "" })
    })
  )

  it.live("lists consumers with their progress and their parked events", () =>
    Effect.gen(function* () {
      const { event, organization, run } = yield* withParkedEvent
      const { consumers } = JSON.parse((yield* run("list", "--json")).out)
      assert.deepInclude(consumers[0], { name: "billing", behind: 0, parked: 1 })
      assert.match((yield* run("list")).out, /^billing {2}0 events behind {2}1 parked/)
      assert.deepInclude(event, { error: "Error", attempts: 1, organization_id: organization.id })
    })
  )

  it.live("retries or drops a parked event", () =>
    Effect.gen(function* () {
      const { event, place, run } = yield* withParkedEvent
      assert.include((yield* run("retry", "billing", event.event_id, ...place)).out, "will be retried")
      assert.include((yield* run("parked", "billing")).out, "being retried")
      assert.include((yield* run("drop", "billing", event.event_id, ...place)).out, "dropped")
      assert.deepInclude(yield* run("parked", "billing"), { out: "", err: "No parked events." })
    })
  )

  it.live("fails for an event that is not parked, and for an invalid consumer name", () =>
    Effect.gen(function* () {
      const { event, place, run } = yield* withParkedEvent
      yield* run("drop", "billing", event.event_id, ...place)
      const again = yield* run("drop", "billing", event.event_id, ...place)
      assert.deepStrictEqual([again.how, again.err], ["failed", "quotewire: The consumer has not parked this event."])
      assert.strictEqual((yield* run("parked", "Billing!")).how, "failed")
    })
  )
})

import { assert, describe, it } from "@effect/vitest"
import { Change } from "@quotewire/core"
import { Effect, Redacted } from "effect"
import { eventually, inRealTime } from "../../../test/support/eventually.ts"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"
import { open, type Port, workspace } from "./support/hosts.ts"
import { Wire, wireTo } from "./support/Wire.ts"

const callSeconds = 1

/** A host whose connection to the database can be cut. */
const behindWire = Effect.gen(function* () {
  const { url, wire } = yield* wireTo((yield* scopedDatabase).url)
  const options = {
    url: Redacted.make(url),
    call_seconds: callSeconds,
    statement_seconds: 1,
    connect_seconds: 1
  }
  return { wire, storage: yield* open(options) }
})

const event = (place: number): Change.Change =>
  Change.make(workspace(1), { events: [{ id: `evt_${place}`, occurred_at: place, about: [], body: "{}" }] })

/** Every storage call, with the name of its outcome. */
const outcomes = (storage: Port) => {
  const calls: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
    storage.ready,
    storage.commit(event(2)),
    storage.get({ workspace_id: workspace(1), kind: "idempotency_record", id: "1" }),
    storage.feed({ workspace_id: workspace(1), after: 0, limit: 10 }),
    storage.claim({ now: 0, lease_ms: 1, limit: 1 }),
    storage.workspaces(null, 1)
  ]
  return Effect.forEach(
    calls,
    (call) => Effect.match(call, { onFailure: ({ _tag }) => _tag, onSuccess: () => "done" }),
    {
      concurrency: "unbounded"
    }
  )
}

describe("a host whose database stops responding", () => {
  it.effect(
    "responds to every call in time, and reconnects once the database responds",
    () =>
      Effect.gen(function* () {
        const { wire, storage } = yield* behindWire
        assert.deepStrictEqual(new Set(yield* outcomes(storage)), new Set(["done"]))
        wire.silence()
        for (let round = 0; round < 3; round++) {
          const during = yield* inRealTime(Effect.timeout(outcomes(storage), "10 seconds"))
          assert.deepStrictEqual(new Set(during), new Set(["StorageUnavailable"]))
        }
        wire.restore()
        yield* eventually(
          Effect.gen(function* () {
            assert.deepStrictEqual(new Set(yield* outcomes(storage)), new Set(["done"]))
          })
        )
      }),
    120_000
  )

  it.effect("does not wait for a database that was never reachable", () =>
    Effect.gen(function* () {
      const wire = yield* Effect.promise(() => Wire.to(1))
      wire.silence()
      const url = Redacted.make(`postgres://somebody:secret@127.0.0.1:${wire.port}/nowhere`)
      const error = yield* Effect.flip(Effect.scoped(open({ url, connect_seconds: 1 })))
      wire.close()
      assert.strictEqual(error.reason, "unreachable")
      assert.notInclude(error.message, "secret")
    })
  )
})

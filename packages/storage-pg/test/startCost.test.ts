import { assert, describe, it } from "@effect/vitest"
import { embed, generateSealKey } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Redacted } from "effect"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"
import { wireTo } from "./support/Wire.ts"

describe("a start call on PostgreSQL", () => {
  it.live("takes at most three statements: the change, the hint to other hosts, and the usage counts", () =>
    Effect.gen(function* () {
      const { url, wire } = yield* wireTo((yield* scopedDatabase).url)
      const storage = PgStorage.layer({ url: Redacted.make(url) })
      const quotewire = yield* Effect.acquireRelease(
        Effect.sync(() => embed({ storage, seal_keys: [generateSealKey()], work: false })),
        ({ close }) => Effect.promise(close)
      )
      const { id } = yield* Effect.promise(() => quotewire.createOrganization("Acme"))
      const { key } = yield* Effect.promise(() =>
        quotewire.createKey({ organization_id: id, environment: "sandbox", kind: "server" })
      )
      const client = quotewire.client(key)
      const start = (place: number) =>
        Effect.promise(() =>
          client.start_quote_request({
            line: "renters",
            consent_receipt_id: "receipt-0001",
            request_key: `key-${place}`,
            application: ExampleApplications.smallest.renters
          })
        )
      // The first one also reads the key and the workspace, which the host remembers.
      yield* start(0)
      const before = wire.requests
      const starts = 20
      for (let place = 1; place <= starts; place++) yield* start(place)
      assert.isAtMost(wire.requests - before, 3 * starts)
    })
  )
})

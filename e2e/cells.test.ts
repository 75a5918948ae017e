import { assert, layer } from "@effect/vitest"
import { Cell } from "@quotewire/core"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Effect, Layer, Redacted } from "effect"
import { FourCells } from "../packages/storage-pg/test/support/cells.ts"
import { statements } from "../test/support/TestDatabase.ts"
import { Host, http } from "./host.ts"
import { advance, feed, startRequest, subscribe } from "./support/subscriber.ts"

const storage = Layer.unwrap(Effect.map(FourCells, ({ cells }) => PgCells.layer(cells))).pipe(
  Layer.provide(FourCells.layer)
)

/** The workspaces of callers in each cell. */
const contents = Effect.flatMap(FourCells, ({ cells }) =>
  Effect.forEach(cells, ({ schema = "quotewire", url }) =>
    Effect.map(
      Effect.promise(() =>
        statements(
          Redacted.value(url),
          `select distinct workspace_id from ${schema}.record where workspace_id <> '${Cell.cellsWorkspace}'
            and workspace_id not like 'wks_000%'`
        )
      ),
      (rows) => rows.map(({ workspace_id }) => String(workspace_id))
    )
  )
)

layer(Layer.merge(http(storage), FourCells.layer), { excludeTestServices: true, timeout: "60 seconds" })(
  "a host with four cells on two servers",
  (it) => {
    it.effect("a host with four cells serves quotes, events and webhooks to callers in every cell", () =>
      Effect.gen(function* () {
        const host = yield* Host
        const journey = Effect.gen(function* () {
          const keys = yield* host.newOrganization
          const { receiver, allAre } = yield* subscribe(keys)
          yield* startRequest(keys)
          yield* advance(keys, 60)
          const events = yield* feed(keys)
          yield* allAre("succeeded", events.length)
          assert.lengthOf(events, 8)
          assert.sameMembers(
            receiver.arrivals().map(({ event }) => event?.id),
            events.map(({ id }: { readonly id: string }) => id)
          )
        })
        yield* Effect.forEach(Array.from({ length: 12 }), () => Effect.scoped(journey), { concurrency: 4 })
        const all = yield* contents
        assert.lengthOf(all.flat(), 24)
        assert.lengthOf([...new Set(all.flat())], 24, "none is in two cells")
        assert.isAbove(all.filter((ids) => ids.length > 0).length, 1)
      })
    )
  }
)

import { describe, layer } from "@effect/vitest"
import type { PGlite } from "@electric-sql/pglite"
import { StorageContract } from "@quotewire/core/testing"
import { Clock, Context, Effect, Layer } from "effect"
import * as Database from "./Database.ts"
import * as Server from "./Server.ts"

class PgliteServer extends Context.Service<PgliteServer, Server.Server>()("test/PgliteServer") {}

const server = Layer.effect(
  PgliteServer,
  Effect.gen(function* () {
    const close = (database: PGlite) => Effect.promise(() => database.close())
    const database = yield* Effect.acquireRelease(Effect.promise(Server.start), close)
    const made = Server.make(database)
    made.keep()
    return made
  })
)

// A storage on PostgreSQL follows the real clock, even under a test clock.
const storage = Layer.unwrap(Effect.map(PgliteServer, (server) => Database.direct(server, 0))).pipe(
  Layer.provide(Layer.succeed(Clock.Clock, Clock.Clock.defaultValue()))
)

// PGlite takes seconds to start, and the same cases run on PostgreSQL itself in `npm test`.
const isWanted = process.env.QUOTEWIRE_TEST_PGLITE !== undefined

describe.skipIf(!isWanted)("on PGlite (QUOTEWIRE_TEST_PGLITE=1)", () => {
  layer(Layer.provideMerge(storage, server), { timeout: 120_000 })("the rules of storage", (it) => {
    for (const { name, run } of StorageContract.cases) {
      const emptied = Effect.map(PgliteServer, ({ restore }) => restore())
      it.effect(name, () => Effect.andThen(emptied, run))
    }
  })
})

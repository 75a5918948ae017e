import { assert, describe, it } from "@effect/vitest"
import { NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { Services } from "../../src/Quotewire.ts"
import type { Change, StoredRecord } from "../../src/storage/Change.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { beginning } from "../support/world.ts"
import { everyLine, personalTexts } from "./persons.ts"

/** The part of a record that an external storage would keep: the fields of the port, and nothing else. */
const textOf = ({ kind, id, body, parent, status, line, labels }: StoredRecord): string =>
  JSON.stringify({ kind, id, body, parent, status, line, labels })

/** Everything that is ever committed: records, events and jobs. */
const textsOf = ({ writes, events, jobs }: Change): ReadonlyArray<string> => [
  ...writes.map(textOf),
  ...events.map(({ body }) => body),
  ...jobs.map((job) => JSON.stringify(job))
]

/** An in-memory storage that records what it is given. */
const recording = (texts: Array<string>) =>
  Layer.effect(
    Storage,
    Effect.map(Storage, (storage) =>
      Storage.of({
        ...storage,
        commit: (change) =>
          Effect.suspend(() => {
            texts.push(...textsOf(change))
            return storage.commit(change)
          })
      })
    )
  ).pipe(Layer.provide(MemoryStorage.layer))

const inWorld = <A, E>(texts: Array<string>, body: Effect.Effect<A, E, World | Services>) =>
  Effect.andThen(
    TestClock.setTime(beginning),
    Effect.provide(body, World.layer(recording(texts), { cryptography: NodeCrypto.layer }))
  )

describe("stored data", () => {
  it.effect("contains no plain-text key, handle, receipt or fact about a person", () => {
    const texts: Array<string> = []
    return inWorld(
      texts,
      Effect.gen(function* () {
        const { quotes, secrets } = yield* everyLine
        const stored = texts.join("\n")
        for (const kind of ["quote_request", "quote", "offer", "application", "consent"]) {
          assert.include(stored, `"kind":"${kind}"`)
        }
        assert.isTrue(quotes.some(({ version }) => version > 1))
        for (const secret of [...secrets, "receipt-secret", ...personalTexts]) assert.notInclude(stored, secret)
      })
    )
  })

  it.effect("is decrypted in responses, so that coverage labels are in plain text", () =>
    inWorld(
      [],
      Effect.gen(function* () {
        const { quotes } = yield* everyLine
        const labels = new Set(quotes.flatMap(({ coverage }) => coverage.subjects.map(({ label }) => label)))
        assert.includeMembers(
          [...labels],
          ["Wuschelbart", "2003 Zastrawa Korallus", "Rented apartment in Babbageburgh, NY"]
        )
      })
    )
  )
})

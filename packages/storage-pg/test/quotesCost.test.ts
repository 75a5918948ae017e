import { assert, describe, it } from "@effect/vitest"
import { defineCarrier, embed, generateSealKey, Money, Reply } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Redacted } from "effect"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"
import { wireTo } from "./support/Wire.ts"

/** Carriers that answer when they are told to. */
const carriersInTurn = (count: number) => {
  const waiting = new Map<number, () => void>()
  const told = new Set<number>()
  const tell = (place: number) => {
    told.add(place)
    waiting.get(place)?.()
  }
  const carriers = Array.from({ length: count }, (_, place) =>
    defineCarrier({
      id: `naic:1000${place}`,
      name: `Carrier ${place}`,
      lines: { renters: { states: ["NY"] } },
      ask: async () => {
        if (!told.has(place)) await new Promise<void>((resolve) => void waiting.set(place, resolve))
        return Reply.offers([{ offer_ref: "1", premium: Money.dollars(120 + place) }])
      }
    })
  )
  const forget = () => {
    told.clear()
    waiting.clear()
  }
  return { carriers, tell, forget }
}

describe("a quote request with three carriers on PostgreSQL", () => {
  it.live("takes at most 65 statements, including 16 commits, until the last quote", () =>
    Effect.gen(function* () {
      const { url, wire } = yield* wireTo((yield* scopedDatabase).url)
      const executed: Array<string> = []
      wire.onStatement = (sql) => void executed.push(sql)
      const { carriers, forget, tell } = carriersInTurn(3)
      const storage = PgStorage.layer({ url: Redacted.make(url) })
      const quotewire = yield* Effect.acquireRelease(
        Effect.sync(() => embed({ storage, seal_keys: [generateSealKey()], carriers })),
        ({ close }) => Effect.promise(close)
      )
      const { id: organization_id } = yield* Effect.promise(() => quotewire.createOrganization("Acme"))
      const { key } = yield* Effect.promise(() =>
        quotewire.createKey({ organization_id, environment: "live", kind: "server" })
      )
      const client = quotewire.client(key)
      const getQuotes = async (request_key: string) => {
        forget()
        const { id } = await client.start_quote_request({
          line: "renters",
          consent_receipt_id: "receipt-0001",
          request_key,
          application: ExampleApplications.smallest.renters
        })
        for (const place of carriers.keys()) {
          tell(place)
          const { quotes } = await client.wait_for_quotes(id, { until: ({ quotes: all }) => all.length > place })
          assert.lengthOf(quotes, place + 1)
        }
      }
      // The first one also reads the key and the workspace, which the host remembers.
      yield* Effect.promise(() => getQuotes("first"))
      const from = executed.length
      const requests = 10
      for (let place = 0; place < requests; place++) yield* Effect.promise(() => getQuotes(`key-${place}`))
      const all = executed.slice(from)
      assert.isAtMost(all.length, 65 * requests)
      assert.isAtMost(all.filter((sql) => sql.includes("commit_1")).length, 16 * requests)
    })
  )
})

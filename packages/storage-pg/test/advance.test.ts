import { assert, describe, it } from "@effect/vitest"
import { defineCarrier, type Embedded, embed, Money, Reply, Storage } from "@quotewire/core"
import { World } from "@quotewire/core/testing"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Layer } from "effect"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"

const anOffer = () => Reply.offers([{ offer_ref: "1", premium: Money.dollars(120) }])

/** Looks of a process at the carriers that its advance waits for. */
const makeLooks = () => {
  const looks = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let count = 0
  return {
    /** Resolves at the first or second look. */
    first: looks[0]?.promise,
    second: looks[1]?.promise,
    /** A storage that notes each look. */
    noted: (storage: Layer.Layer<Storage.Storage, PgStorage.DatabaseRefused>) =>
      Layer.effect(
        Storage.Storage,
        Effect.map(Storage.Storage, (own) => ({
          ...own,
          lane: (query) => Effect.tap(own.lane(query), () => Effect.sync(() => looks[count++]?.resolve()))
        }))
      ).pipe(Layer.provide(storage))
  }
}

type Looks = ReturnType<typeof makeLooks>

/** Carriers that have no answer before an advance waits for them, and how often each was asked. */
const carriersOf = ({ first, second }: Looks, callBack: (ref: string) => void) => {
  const asked = { slow: 0, limited: 0, calling_back: 0 }
  const lines = { renters: { states: ["NY"] } } as const
  const slow = defineCarrier({
    id: "naic:10001",
    name: "Slow",
    lines,
    ask: async () => {
      asked.slow += 1
      await second
      return anOffer()
    }
  })
  const limited = defineCarrier({
    id: "naic:10002",
    name: "Limited",
    lines,
    ask: async () => {
      asked.limited += 1
      await first
      return asked.limited > 1 ? anOffer() : Reply.unavailable("rate_limited", 100)
    }
  })
  const callingBack = defineCarrier({
    id: "naic:10003",
    name: "Calling back",
    lines: { renters: { states: ["NY"], mode: "callback" } },
    ask: ({ idempotency_key }) => {
      asked.calling_back += 1
      void first?.then(() => callBack(idempotency_key))
      return Reply.pending(idempotency_key)
    },
    callback: ({ text }) => ({ ref: text, reply: anOffer() })
  })
  return { asked, carriers: [slow, limited, callingBack] }
}

describe("two processes on one database", () => {
  it.live("advance a sandbox's clock together: one process waits for carriers that the other process asks", () =>
    Effect.gen(function* () {
      const { options } = yield* scopedDatabase
      let advancing: Embedded | undefined
      const looks = makeLooks()
      const { asked, carriers } = carriersOf(looks, (ref) => {
        void advancing?.carrierCallback("naic:10003", { headers: {}, body: new TextEncoder().encode(ref) })
      })
      const storage = PgStorage.layer(options)
      const process = (work: boolean) =>
        Effect.acquireRelease(
          Effect.sync(() =>
            embed({
              storage: work ? storage : looks.noted(storage),
              seal_keys: World.sealKeys(0),
              work,
              carriers,
              grace_ms: 0
            })
          ),
          (quotewire) => Effect.promise(() => quotewire.close())
        )
      // The first process only answers calls. The second asks the carriers.
      const first = yield* process(false)
      advancing = first
      yield* process(true)
      const { id: organization_id } = yield* Effect.promise(() => first.createOrganization("Acme"))
      const { key } = yield* Effect.promise(() =>
        first.createKey({ organization_id, environment: "sandbox", kind: "server" })
      )
      const client = first.client(key)
      const { id } = yield* Effect.promise(() =>
        client.start_quote_request({
          line: "renters",
          consent_receipt_id: "receipt-0001",
          request_key: "the-request",
          application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
        })
      )
      // The advance returns once all three carriers have answered, although none answers before it waits for them.
      const { workspace } = yield* Effect.promise(() =>
        client.advance_time({ seconds: 3_600 }, { idempotency_key: "an-hour" })
      )
      const { quote_request } = yield* Effect.promise(() => client.get_quote_request({ id }))
      const own = quote_request.carriers.filter(({ carrier }) => carrier.id.startsWith("naic:"))
      assert.deepStrictEqual(
        own.map(({ carrier, outcome }) => [carrier.name, outcome]),
        [
          ["Slow", "quoted"],
          ["Limited", "quoted"],
          ["Calling back", "quoted"]
        ]
      )
      assert.deepStrictEqual(asked, { slow: 1, limited: 2, calling_back: 1 })
      assert.strictEqual(workspace.clock_offset_seconds, 3_600)
    })
  )
})

import { assert, describe, it } from "@effect/vitest"
import { defineCarrier, type Embedded, embed, Money, Reply } from "@quotewire/core"
import { World } from "@quotewire/core/testing"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect } from "effect"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"

const anOffer = () => Reply.offers([{ offer_ref: "1", premium: Money.dollars(120) }])
const later = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))

/** Carriers that take real time, and how often each was asked. */
const carriersOf = (callBack: (ref: string) => void) => {
  const asked = { slow: 0, limited: 0, calling_back: 0 }
  const lines = { renters: { states: ["NY"] } } as const
  const slow = defineCarrier({
    id: "naic:10001",
    name: "Slow",
    lines,
    ask: async () => {
      asked.slow += 1
      await later(1_200)
      return anOffer()
    }
  })
  let refusedAt: number | null = null
  const limited = defineCarrier({
    id: "naic:10002",
    name: "Limited",
    lines,
    ask: () => {
      asked.limited += 1
      if (refusedAt !== null) {
        return performance.now() - refusedAt >= 1_400 ? anOffer() : Reply.unavailable("carrier_error")
      }
      refusedAt = performance.now()
      return Reply.unavailable("rate_limited", 1_500)
    }
  })
  const callingBack = defineCarrier({
    id: "naic:10003",
    name: "Calling back",
    lines: { renters: { states: ["NY"], mode: "callback" } },
    ask: ({ idempotency_key }) => {
      asked.calling_back += 1
      setTimeout(() => callBack(idempotency_key), 700)
      return Reply.pending(idempotency_key)
    },
    callback: ({ text }) => ({ ref: text, reply: anOffer() })
  })
  return { asked, carriers: [slow, limited, callingBack] }
}

describe("two processes on one database", () => {
  it.live(
    "agree on how far a sandbox's clock can move: one advances it and waits for the carriers that the other asks",
    () =>
      Effect.gen(function* () {
        const { options } = yield* scopedDatabase
        let advancing: Embedded | undefined
        const { asked, carriers } = carriersOf((ref) => {
          void advancing?.carrierCallback("naic:10003", { headers: {}, body: new TextEncoder().encode(ref) })
        })
        const process = (work: boolean) =>
          Effect.acquireRelease(
            Effect.sync(() =>
              embed({ storage: PgStorage.layer(options), seal_keys: World.sealKeys(0), work, carriers, grace_ms: 0 })
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
        // The advance returns once all three carriers have answered, although each needs real time.
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
